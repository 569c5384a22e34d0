"""``nmt translate --fuse``: shallow fusion of a translator with a language model."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.base.errors import ConfigError

if TYPE_CHECKING:  # torch takes seconds to import, and help should not
    from nmt_core.translation.translator import Translator

DEFAULT_WEIGHT = 0.1
"""Weight of the language model's log-probabilities beside the translator's, which weigh 1."""

Fuse = Annotated[
    Path | None,
    typer.Option("--fuse", metavar="DIR", help="Language model for shallow fusion, of nmt learn."),
]
FuseWeight = Annotated[
    float | None,
    typer.Option(
        "--fuse-weight", metavar="W", min=0, help=f"Its weight. \\[default: {DEFAULT_WEIGHT}]"
    ),
]


def fuse_language_model(
    translator: "Translator", folder: Path | None, weight: float | None
) -> "Translator":
    """Return a translator in shallow fusion with the language model in a folder, if there is one.

    Raises:
        ConfigError: if its tokens are not the translator's, or there is a weight of nothing.
    """
    if folder is None:
        if weight is not None:
            raise ConfigError("--fuse-weight weighs a language model; name it with --fuse DIR")
        return translator
    from nmt_core.engines.pytorch import PyTorchEngine  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.language_models.bundle import load_language_model  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.language_models.fusion import (  # noqa: PLC0415 - takes seconds
        Fused,
        check_vocabularies,
    )

    model = translator.full.model
    device = next(model.parameters()).device
    language = load_language_model(folder, device=str(device))
    check_vocabularies(translator.target.vocabulary, language.units.vocabulary)
    chosen = DEFAULT_WEIGHT if weight is None else weight
    engine = PyTorchEngine(Fused(model, language.model, chosen), len(translator.target.vocabulary))
    return replace(translator, engine=engine, load_full=None)

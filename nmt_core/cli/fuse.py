"""``nmt translate --fuse``: a translator that a language model advises."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.errors import ConfigError

if TYPE_CHECKING:  # torch takes seconds to import, and help should not
    from nmt_core.decoding.translator import Translator

DEFAULT_WEIGHT = 0.1
"""Of the language model's log-probabilities: little, for most is the translator's business."""

Fuse = Annotated[
    Path | None,
    typer.Option("--fuse", metavar="DIR", help="Let a language model of nmt learn have a say."),
]
FuseWeight = Annotated[
    float | None,
    typer.Option("--fuse-weight", metavar="W", min=0, help="How much of a say. \\[default: 0.1]"),
]


def fused(translator: "Translator", folder: Path | None, weight: float | None) -> "Translator":
    """Return a translator that is advised by the language model in a folder, if there is one.

    Raises:
        ConfigError: if its tokens are not the translator's, or there is a weight of nothing.
    """
    if folder is None:
        if weight is not None:
            raise ConfigError("--fuse-weight weighs a language model; name it with --fuse DIR")
        return translator
    from nmt_core.language_models.bundle import load_language_model  # noqa: PLC0415 - takes seconds
    from nmt_core.language_models.fusion import (  # noqa: PLC0415 - takes seconds
        Fused,
        check_vocabularies,
    )

    device = next(translator.model.parameters()).device
    language = load_language_model(folder, device=str(device))
    check_vocabularies(translator.target.vocabulary, language.units.vocabulary)
    advised = DEFAULT_WEIGHT if weight is None else weight
    return replace(translator, model=Fused(translator.model, language.model, advised))

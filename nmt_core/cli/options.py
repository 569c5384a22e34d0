"""Options that commands share, and the translator that they name."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base import config
from nmt_core.base.errors import ConfigError
from nmt_core.literals.glossary import Glossary
from nmt_core.translation.texts import recall
from nmt_core.translation.translator import Translator
from nmt_core.translation.trial import try_once

EXPORTED = Path("models/export")
"""The folder of the model that ``make repro`` exports."""


def find_exported() -> Path:
    """Return the model that lies here, where none is named.

    Raises:
        ConfigError: if there is none.
    """
    if not EXPORTED.is_dir():
        raise ConfigError(f"--model is missing, and {EXPORTED} does not exist here; name a model")
    return EXPORTED


Model = Annotated[
    Path,
    typer.Option(
        "--model",
        metavar="DIR",
        help=f"Exported model. \\[default: {EXPORTED}]",
        default_factory=find_exported,
        show_default=False,
    ),
]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda or cuda:1.")]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="ctranslate2 or torch; auto takes the fastest on a processor, torch on a GPU.",
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; repeatable."),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="CPU threads. \\[default: every core]"),
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary",
        metavar="FILE",
        help="Terms and their translations, with a tab between them; a term alone stays as it is.",
    ),
]
ReviewBelow = Annotated[
    float,
    typer.Option(
        "--review-below",
        metavar="P",
        min=0,
        max=1,
        help="Mark units of XLIFF and PO of a confidence below P for a person to look at.",
    ),
]
TagName = Annotated[
    str | None,
    typer.Option(
        "--tag", metavar="NAME", help="Where the lines are from: a tag of the model, see its card."
    ),
]


def open_translator(
    model: Path,
    device: str,
    threads: int | None,
    *,
    engine: str = "torch",
    batch_tokens: int | None = None,
    glossary: Path | None = None,
    tag: str | None = None,
) -> Translator:
    """Load an exported model with the options of the command line.

    Raises:
        ConfigError: if an option is wrong, or there is a glossary and no languages are known, or
            the model knows no such tag.
    """
    try_once(model, engine=engine, device=device, threads=threads)
    loaded = Translator.load(model, engine=engine, device=device, threads=threads)
    translator = loaded.choose_tag(tag)
    if glossary:
        if translator.languages is None:
            raise ConfigError(
                f"{model} does not say which languages it translates, so --glossary has none; "
                f"export it again with download.languages in params.yaml"
            )
        translator = translator.add_glossary(Glossary.load(glossary, translator.languages.codes))
    if batch_tokens is None:
        return translator
    changed = translator.config.model_dump() | {"batch_tokens": batch_tokens}
    return replace(
        translator, config=config.build(type(translator.config), changed, at="translate")
    )


def use_memory(translator: Translator, path: Path | None) -> Translator:
    """Return a translator that takes approved translations from a memory, if one is named.

    Raises:
        ConfigError: if the memory is missing, or the languages are unknown.
    """
    if path is None:
        return translator
    if not path.exists():
        raise ConfigError(f"--memory {path} does not exist; nmt memory import makes it")
    from nmt_core.translation.memory.store import TranslationMemory  # optional

    translator = translator.add_memory(TranslationMemory(path))
    recall(translator, "")  # refuses a translator without languages
    return translator

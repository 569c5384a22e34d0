"""Options that commands share, and the translator that they select."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.literals.glossary import Glossary
from nmt_core.translation.translator import Translator
from nmt_core.translation.trial import try_once

if TYPE_CHECKING:
    from nmt_core.translation.memory.store import TranslationMemory

EXPORTED = Path("models/export")
"""The folder of the model that ``make repro`` exports."""


def find_exported() -> Path:
    """Return the exported model in the current folder."""
    if not EXPORTED.is_dir():
        raise ConfigError(
            f"--model is missing, and {EXPORTED} does not exist here; add --model DIR"
        )
    return EXPORTED


LineArguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="LINE", help="Lines to translate. \\[default: from stdin]"),
]
Model = Annotated[
    Path,
    typer.Option(
        metavar="DIR",
        help=f"Exported model. \\[default: {EXPORTED}]",
        default_factory=find_exported,
        show_default=False,
    ),
]
BeamSize = Annotated[
    int | None, typer.Option(metavar="K", min=1, help="Beam size. \\[default: the model's]")
]
Prefix = Annotated[
    str, typer.Option(metavar="TEXT", help="Prefix of every translation, in whole words.")
]
Temperature = Annotated[
    float, typer.Option(metavar="T", min=0, help="Temperature; 0 takes the most likely token.")
]
TopK = Annotated[
    int | None, typer.Option(metavar="K", min=1, help="Sample only from the K most likely tokens.")
]
TopP = Annotated[
    float, typer.Option(metavar="P", help="Nucleus sampling from the probability mass P.")
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Random seed.")]
Device = Annotated[str, typer.Option(metavar="NAME", help="auto, cpu, cuda or cuda:1.")]
EngineName = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="ctranslate2 or torch; auto is the fastest on a CPU, torch on a GPU."
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; repeatable."),
]
Threads = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="CPU threads. \\[default: every core]")
]
GlossaryFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Terms and their translations, with tabs.")
]
MemoryFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Use approved translations of nmt memory import."),
]
ReviewBelow = Annotated[
    float,
    typer.Option(
        metavar="P", min=0, max=1, help="Mark segments with a confidence below P for review."
    ),
]
TagName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Domain of the text: a tag of the model; see its card."),
]

FromLanguage = Annotated[
    str | None,
    typer.Option("--from", metavar="CODE", help="Source language. \\[default: detected]"),
]
SourceLanguage = Annotated[
    str | None,
    typer.Option("--from", metavar="CODE", help="Source language. \\[default: the only]"),
]
TargetLanguage = Annotated[
    str | None, typer.Option("--to", metavar="CODE", help="Target language. \\[default: the only]")
]


def open_translator(
    model: Path,
    device: str,
    threads: int | None,
    *,
    engine: str = "torch",
    glossary: Path | None = None,
    memory: Path | None = None,
    tag: str | None = None,
    direction: tuple[str | None, str | None] | None = None,
) -> Translator:
    """Load an exported model with the options of the command line.

    ``direction`` has the source and target to choose; None does not choose.
    """
    try_once(model, engine=engine, device=device, threads=threads)
    translator = Translator.load(model, engine=engine, device=device, threads=threads)
    if direction:
        translator = translator.choose(*direction)
    if tag is not None:
        translator = translator.choose_tag(tag)
    if glossary:
        if translator.languages is None:
            raise ConfigError(
                f"--glossary requires a model that names its languages; set download.languages in "
                f"params.yaml, and export {model} again"
            )
        translator = translator.add_glossary(Glossary.load(glossary, translator.languages.codes))
    return translator.add_memory(open_memory(memory)) if memory else translator


def open_memory(path: Path, *, must_exist: bool = True) -> "TranslationMemory":
    """Return a translation memory.

    Raises:
        ConfigError: if the memory must exist, but does not.
    """
    if must_exist and not path.exists():
        raise ConfigError(f"--memory {path} does not exist; create it with nmt memory import")
    from nmt_core.translation.memory.store import TranslationMemory  # optional

    return TranslationMemory(path)

"""Options that commands share, and the translator that they name."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base import config
from nmt_core.translation.translator import Translator

Model = Annotated[
    Path, typer.Option("--model", metavar="DIR", help="Exported model, such as models/export.")
]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda or cuda:1.")]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="ctranslate2, onnx or torch; auto takes the fastest on a processor, torch on a GPU.",
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


def open_translator(
    model: Path,
    device: str,
    threads: int | None,
    *,
    engine: str = "torch",
    batch_tokens: int | None = None,
) -> Translator:
    """Load an exported model with the options of the command line."""
    translator = Translator.load(model, engine=engine, device=device, threads=threads)
    if batch_tokens is None:
        return translator
    changed = translator.config.model_dump() | {"batch_tokens": batch_tokens}
    return replace(
        translator, config=config.build(type(translator.config), changed, at="translate")
    )

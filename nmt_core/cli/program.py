"""What every command shares: how it fails, common options, the model it names."""

import io
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typing_extensions import override

from nmt_core.base.errors import NmtError

if TYPE_CHECKING:  # torch takes seconds to import, and help should not
    from nmt_core.extensions.language_models.text_model import TextModel
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
Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="CPU threads. \\[default: every core]"),
]


class Program(TyperGroup):
    """Tells a user's error in one sentence, without a traceback."""

    @override
    def invoke(self, ctx: Any) -> Any:
        if sys.stdout is None:
            fail("standard output is closed; leave it open, or write > FILE")
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except NmtError as error:
            fail(str(error))
        except ModuleNotFoundError as error:
            fail(tell_missing(ctx.invoked_subcommand, error))
        except BrokenPipeError:  # as in nmt translate | head -1
            raise
        except OSError as error:
            with suppress(
                OSError, io.UnsupportedOperation
            ):  # what is left cannot be written either
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            what = error.filename or "standard input or output"
            fail(f"{what} failed ({error.strerror}); make room, or give another file")
        return answer


def tell_missing(command: str | None, error: ModuleNotFoundError) -> str:
    """Return what to install for a command that lacks a module of another project.

    Raises:
        ModuleNotFoundError: the same, if the module is none of another project.
    """
    from nmt_core.base.packages import advise_installing, is_installed  # noqa: PLC0415 - seldom needed

    module = (error.name or "nmt_core").partition(".")[0]
    if is_installed(module):  # it lacks a part, or is ours
        raise error
    return f"{command} needs {module}, which is not installed; run: {advise_installing(module)}"


def fail(message: str) -> NoReturn:
    """Write one red line and end with status 1."""
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.text import Text  # noqa: PLC0415 - slow to import

    Console(stderr=True, highlight=False).print(
        Text(f"nmt: {message}", style="red"), soft_wrap=True
    )
    raise typer.Exit(1)


def open_translator(
    model: Path,
    device: str,
    threads: int | None,
    *,
    engine: str = "torch",
    batch_tokens: int | None = None,
) -> "Translator":
    """Load an exported model with what the command line changes about it."""
    from nmt_core.base import config  # noqa: PLC0415 - takes a moment
    from nmt_core.translation.translator import Translator  # noqa: PLC0415 - takes a moment

    translator = Translator.load(model, engine=engine, device=device, threads=threads)
    if batch_tokens is None:
        return translator
    changed = translator.config.model_dump() | {"batch_tokens": batch_tokens}
    return replace(
        translator, config=config.build(type(translator.config), changed, at="translate")
    )


def open_language_model(folder: Path, device: str, threads: int | None) -> "TextModel":
    """Load what ``nmt learn`` wrote."""
    from nmt_core.base import compute  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.language_models import bundle  # noqa: PLC0415 - takes seconds

    compute.set_threads(threads)
    return bundle.load_language_model(folder, device=device)

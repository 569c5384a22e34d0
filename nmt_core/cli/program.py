"""The commands by name, each imported at its first use, and the messages of errors."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

from nmt_core.base.errors import NmtError
from nmt_core.base.interrupt import Interrupted
from nmt_core.base.packages import DISTRIBUTION, advise_installing, is_installed
from nmt_core.base.registry import Registry

EXTENSIONS = "nmt_core.extensions"
"""The room of commands that may be left out of an installation."""

LANGUAGE_MODEL_COMMANDS = f"{EXTENSIONS}.language_models.commands"
CLASSIFIER_COMMANDS = f"{EXTENSIONS}.classifiers.commands"

BUILT_IN = {
    "translate": (
        "nmt_core.cli.translate:translate",
        "Translate lines, given as arguments or by standard input, to standard output.",
    ),
    "evaluate": (
        "nmt_core.cli.evaluate:evaluate",
        "Score exported models on a test set of your own.",
    ),
    "serve": (
        "nmt_core.cli.serve:serve",
        "Translate over HTTP by LibreTranslate's API, and on a web page at `/`.",
    ),
    "corrections": (
        "nmt_core.cli.corrections:corrections",
        "Decide on corrections that users suggested, and export or delete them.",
    ),
    "memory": (
        "nmt_core.cli.memory:memory",
        "Keep approved translations, and find those like a text.",
    ),
    "check": (
        "nmt_core.cli.check:check",
        "Check what of a sentence comes through, and what changes when the sentence does.",
    ),
    "verify": (
        "nmt_core.cli.verify:verify",
        "Check a model: every file by its digest and, of a translator, its golden sentences.",
    ),
    "score": (
        "nmt_core.cli.score:score",
        "Score every line of standard input by its log-likelihood.",
    ),
    "next": (
        "nmt_core.cli.next_tokens:next_tokens",
        "Show the K likeliest next tokens of a translation that begins with a prefix.",
    ),
    "align": ("nmt_core.cli.align:align", "Align the words of parallel text."),
    "learn": (
        f"{LANGUAGE_MODEL_COMMANDS}:learn",
        "Learn a language model, causal or masked, from text.",
    ),
    "generate": (
        f"{LANGUAGE_MODEL_COMMANDS}:generate",
        "Generate text, each token drawn from the model's distribution.",
    ),
    "fill": (
        f"{LANGUAGE_MODEL_COMMANDS}:fill",
        "Show the K likeliest tokens for every gap of a line, written `___`.",
    ),
    "learn-classifier": (
        f"{CLASSIFIER_COMMANDS}:learn_classifier",
        "Learn which of some labels a text has, such as the sentiment of a review.",
    ),
    "classify": (
        f"{CLASSIFIER_COMMANDS}:classify",
        "Tell the label of every line of standard input, and how probable it is.",
    ),
    "neighbours": (
        f"{CLASSIFIER_COMMANDS}:neighbours",
        "Tell which words are nearest to some, before a classifier learnt and after.",
    ),
}
"""By name: the function of a command, and its line in ``nmt --help``."""

COMMANDS = Registry[Callable[..., None] | typer.Typer](
    "a command",
    "nmt.commands",
    {
        name: target
        for name, (target, _) in BUILT_IN.items()
        if not target.startswith(EXTENSIONS) or find_spec(EXTENSIONS)
    },
)
"""A function for each, whose signature and docstring are its options and help, as Typer reads them,
or several under one name; the commands of extensions where these are installed."""


class CommandGroup(TyperGroup):
    """Loads commands by name, and reports users' errors in one sentence."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name) for name in COMMANDS.ours}  # to suggest

    @override
    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS]

    @override
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command as the program's help lists it, not imported."""
        _, line = BUILT_IN.get(cmd_name, ("", "Of another package."))
        return TyperCommand(cmd_name, help=line) if cmd_name in COMMANDS else None

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        assert name is not None
        ctx.invoked_subcommand = name
        app = COMMANDS.load(name)
        if not isinstance(app, typer.Typer):
            function, app = app, typer.Typer(add_completion=False, rich_markup_mode="markdown")
            app.command(name)(function)
        return name, typer.main.get_command(app), rest

    @override
    def invoke(self, ctx: Any) -> Any:
        if sys.stdout is None:
            fail("standard output is closed; leave it open, or write > FILE")
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except NmtError as error:
            fail(str(error))
        except Interrupted as interrupted:
            raise typer.Exit(128 + interrupted.signal) from None
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
    """Return the error that says what to install for a command that lacks a module.

    Raises:
        ModuleNotFoundError: the same, if the module is none of another project.
    """
    if (error.name or "").startswith(EXTENSIONS) and not find_spec(EXTENSIONS):
        return f"{command} needs {EXTENSIONS}, which is left out here; install {DISTRIBUTION} whole"
    module = (error.name or "nmt_core").partition(".")[0]
    if is_installed(module):  # it lacks a part, or is ours
        raise error
    return f"{command} needs {module}, which is not installed; run: {advise_installing(module)}"


def fail(message: str) -> NoReturn:
    """Write one red line and end with status 1."""
    console = resolve_name("rich.console:Console")(stderr=True)  # slow to import
    console.print(
        f"nmt: {message}", style="red", markup=False, emoji=False, highlight=False, soft_wrap=True
    )
    raise typer.Exit(1)

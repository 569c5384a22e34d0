"""The program: its commands by name, each imported at its first use, and messages of errors."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pkgutil import resolve_name
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

from nmt_core.base.errors import NmtError
from nmt_core.base.packages import format_install_command, is_installed, read_version
from nmt_core.base.registry import Registry


class Command(NamedTuple):
    """A command that is imported when it runs."""

    target: str
    """The function or Typer application, as ``module:name``."""
    help: str
    """The command's line in ``nmt --help``."""


BUILT_IN = {
    "translate": Command("nmt_core.cli.translate:translate", "Translate lines."),
    "translate-file": Command(
        "nmt_core.cli.translate_file:translate_documents", "Translate documents."
    ),
    "explain": Command("nmt_core.cli.explain:explain", "Show alternatives, attention and scores."),
    "sample": Command("nmt_core.cli.sample:sample_lines", "Sample translations of lines."),
    "evaluate": Command("nmt_core.cli.evaluate:evaluate", "Score models on a test set."),
    "serve": Command("nmt_core.cli.serve:serve", "Translate over HTTP and on a web page."),
    "corrections": Command("nmt_core.cli.corrections:corrections", "Review corrections of users."),
    "memory": Command("nmt_core.cli.corrections:memory", "Manage a translation memory."),
    "verify": Command("nmt_core.cli.verify:verify", "Check an exported model."),
    "next": Command("nmt_core.cli.sample:next_tokens", "Show the most likely next tokens."),
    "tokenize": Command("nmt_core.cli.sample:tokenize_lines", "Show the tokens of lines."),
    "align": Command("nmt_core.cli.align:align", "Align the words of parallel text."),
}

COMMANDS = Registry[Command | Callable[..., None] | typer.Typer](
    "a command", "nmt.commands", BUILT_IN
)
"""The commands by name. Typer reads the options and the help of a function from its signature and
its docstring. Offer a ``Command`` by an entry point to keep ``nmt --help`` fast."""


class CommandGroup(TyperGroup):
    """Loads commands by name, and prints errors in one sentence."""

    @override
    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS]

    @override
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command for the list in the program's help, or None if it does not exist."""
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=describe_command(cmd_name))

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, *rest = args
        if name not in COMMANDS:
            self.commands = {known: TyperCommand(known) for known in COMMANDS}  # to suggest
            return super().resolve_command(ctx, args)
        ctx.invoked_subcommand = name
        app = COMMANDS.load(name)
        if isinstance(app, Command):
            app = resolve_name(app.target)
        if not isinstance(app, typer.Typer):
            function, app = app, typer.Typer(add_completion=False, rich_markup_mode="markdown")
            app.command(name)(function)
        return name, typer.main.get_command(app), rest

    @override
    def invoke(self, ctx: Any) -> Any:
        if sys.stdout is None:
            fail("standard output is closed; open it, or use > FILE")
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except NmtError as error:
            fail(str(error))
        except ModuleNotFoundError as error:
            fail(name_missing_module(ctx.invoked_subcommand, error))
        except BrokenPipeError:  # as in nmt translate | head -1
            raise
        except OSError as error:
            with suppress(
                OSError, io.UnsupportedOperation
            ):  # what is left cannot be written either
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            what = error.filename or "standard input or output"
            fail(f"{what} failed ({error.strerror}); free disk space, or give another file")
        return answer


def describe_command(name: str) -> str:
    """Return the line of a command in ``nmt --help``."""
    try:
        command = COMMANDS.load(name)
    except (ImportError, AttributeError) as error:
        return f"Not available: {error}."
    if isinstance(command, Command):
        return command.help
    text = command.info.help if isinstance(command, typer.Typer) else command.__doc__
    return str(text or "").partition("\n")[0]


def name_missing_module(command: str | None, error: ModuleNotFoundError) -> str:
    """Return the message that names the missing package of a command."""
    module = (error.name or "nmt_core").partition(".")[0]
    if is_installed(module):  # it lacks a part, or is ours
        raise error
    install = format_install_command(module)
    return f"{command} requires {module}, which is not installed; run: {install}"


def fail(message: str) -> NoReturn:
    """Print one red line to standard error and exit with status 1."""
    from rich.console import Console  # slow to import

    Console(stderr=True).print(
        f"nmt: {message}", style="red", markup=False, emoji=False, highlight=False, soft_wrap=True
    )
    raise typer.Exit(1)


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


@app.callback(invoke_without_command=True)
def nmt(
    *, version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False
) -> None:
    """Translate with an exported model; learn language models and classifiers of text."""
    if version:
        number = read_version()
        typer.echo(f"nmt {number}" if number else "nmt, not installed")
        raise typer.Exit

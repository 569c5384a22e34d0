"""``nmt``, the program for people: a command a file, found by name when it is asked for."""

import gc
import os
from typing import Annotated

import typer

from nmt_core.base.packages import read_version
from nmt_core.cli.program import CommandGroup

# A line is translated in a quarter of a second, most of which is imports, by these a third less.
gc.set_threshold(100_000, 50, 50)  # imports make objects that stay; looking for rubbish is in vain
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy multiplies nothing here that is large
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would read every package's list


def show_version(*, wanted: bool) -> None:
    """Write the version and end."""
    if wanted:
        version = read_version()
        typer.echo(f"nmt {version}" if version else "nmt, not installed")
        raise typer.Exit


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


@app.callback()
def nmt(
    *,
    _: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Translate with an exported model; learn language models and classifiers of text."""

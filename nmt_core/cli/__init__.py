"""The program for people: a command a file, registered here."""

import nmt_core.cli.start  # noqa: F401 - before all others, see there

# isort: split

from typing import Annotated

import typer

from nmt_core.cli.align import align
from nmt_core.cli.classify import classify
from nmt_core.cli.evaluate import evaluate
from nmt_core.cli.fill import fill
from nmt_core.cli.generate import generate
from nmt_core.cli.learn import learn
from nmt_core.cli.learn_classifier import learn_classifier
from nmt_core.cli.neighbours import neighbours
from nmt_core.cli.next_tokens import next_tokens
from nmt_core.cli.program import Program
from nmt_core.cli.score import score
from nmt_core.cli.serve import serve
from nmt_core.cli.translate import translate
from nmt_core.cli.verify import verify


def show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    """Write the version and end."""
    if wanted:
        from nmt_core.base.packages import read_version  # noqa: PLC0415 - slow

        found = read_version()
        typer.echo(f"nmt {found}" if found else "nmt, not installed")
        raise typer.Exit


def nmt(
    *,
    _: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Translate with an exported model; learn language models and classifiers of text."""


app = typer.Typer(
    cls=Program,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Translate with an exported model; learn language models and classifiers of text.",
)
app.callback()(nmt)
for command in (
    translate,
    evaluate,
    serve,
    verify,
    learn,
    score,
    generate,
    fill,
    align,
    classify,
    neighbours,
):
    app.command()(command)
app.command("learn-classifier")(learn_classifier)
app.command("next")(next_tokens)

"""Run commands of ``nmt``, flows and servers in the process of the tests."""

import typer
from typer.testing import CliRunner

from nmt_core import cli


def run(*arguments, lines=""):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments], input=lines)


def invoke(main, *words, **environment):
    """Run the function of a program with arguments."""
    app = typer.Typer()
    app.command()(main)
    return CliRunner().invoke(app, [*words], env=environment)


def refuse(*arguments, lines=""):
    """Return the error message of a command that fails."""
    result = run(*arguments, lines=lines)
    assert (result.exit_code, result.stdout) == (1, "")
    return result.stderr

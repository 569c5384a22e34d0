"""Run commands of ``nmt`` in the process of the tests."""

from typer.testing import CliRunner

from nmt_core import cli


def run(*arguments, lines=""):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments], input=lines)


def refuse(*arguments, lines=""):
    """Return what a command that fails says of it."""
    result = run(*arguments, lines=lines)
    assert (result.exit_code, result.stdout) == (1, "")
    return result.stderr

"""Commands are found by name, and imported only if they are used."""

import re
import tomllib
from pkgutil import resolve_name

import pytest
import typer

from nmt_core.base.errors import ConfigError
from nmt_core.base.registry import Registry
from nmt_core.cli import program
from nmt_core.cli.program import BUILT_IN, COMMANDS, Command, describe_command
from tests.support.commands import run
from tests.support.projects import PROJECT

OFFERED = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["entry-points"][
    "nmt.commands"
]


@pytest.mark.parametrize("name", [*BUILT_IN, *OFFERED])
def test_help_of_program_and_command_agree(name):
    command = resolve_name(COMMANDS.load(name).target)
    text = command.info.help if isinstance(command, typer.Typer) else command.__doc__

    assert text.splitlines()[0] == describe_command(name)


def test_help_of_the_program_imports_no_command(monkeypatch):
    commands = {"fly": Command("no.such.module:fly", "Fly away.")}
    monkeypatch.setattr(program, "COMMANDS", Registry("a command", "nmt.no_commands", commands))
    result = run("--help")

    assert result.exit_code == 0
    assert re.search(r"fly +Fly away\.", result.stdout)
    assert run("fly").stderr.startswith("nmt: fly requires no, which is not installed; run: ")


@pytest.mark.parametrize(
    ("raised", "line"),
    [
        (ConfigError("too high"), "too high"),
        (ModuleNotFoundError(name="no_wind.west"), "fly requires no_wind, .*; run: .*install '.+'"),
        (OSError(28, "No space left", "a.txt"), r"a\.txt failed \(No space left\); free disk .+"),
        (OSError(5, "Broken"), r"standard input or output failed \(Broken\); .+"),
        (ModuleNotFoundError(name="nmt_core.wind"), None),
        (ValueError("a bug"), None),
        (BrokenPipeError(), None),
    ],
)
def test_expected_errors_end_in_one_line(raised, line, monkeypatch):
    """What only a bug can raise keeps its traceback."""

    def fly():
        raise raised

    monkeypatch.setattr(program, "COMMANDS", Registry("a command", "nmt.none", {"fly": fly}))
    result = run("fly")

    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(f"nmt: {line}\n" if line else "", result.stderr)
    assert line or result.exception is raised


def test_extensions_offer_their_commands():
    """They are found by entry points, because packages below do not import them."""
    assert {*OFFERED} <= {*COMMANDS} - {*BUILT_IN}
    assert re.search(r"learn +Train a language model", run("--help").stdout)


def test_closest_command_is_suggested():
    refused = run("transalte")

    assert refused.exit_code == 2
    assert "transalte" in refused.stderr
    assert "'translate'" in refused.stderr


def test_another_package_brings_a_command(tmp_path, monkeypatch):
    """An entry point adds the command; the program's own names keep their meaning."""
    (tmp_path / "wings.py").write_text(
        'def fly(height: int) -> None:\n    """Fly away."""\n    print("up", height)\n'
    )
    folder = tmp_path / "wings-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: wings\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(
        "[nmt.commands]\nfly = wings:fly\nsink = wings.none:sink\n"
        "sail = wings:sail\ntranslate = wings:fly\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    listed = run("--help").stdout
    assert re.search(r"fly +Fly away", listed)
    assert len(re.findall(r"(?:sink|sail) +Not available: ", listed)) == 2
    assert run("fly", 7).stdout == "up 7\n"
    assert "--beam-size" in run("translate", "--help").stdout


def test_version_is_shown():
    assert re.fullmatch(r"nmt(,| \d).*\n", run("--version").stdout)


@pytest.mark.parametrize("command", BUILT_IN)
def test_help_fits_on_sixty_lines(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    assert len(run(command, "--help").stdout.splitlines()) <= 60

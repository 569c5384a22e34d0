"""Commands are found by name, and imported when they are asked for."""

import re
import shutil
import subprocess
import sys
from pkgutil import resolve_name

import pytest
import typer

from nmt_core.base.registry import Registry
from nmt_core.cli import program
from nmt_core.cli.program import BUILT_IN
from tests.support.commands import run
from tests.support.projects import PROJECT
from tests.support.tiny import export


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_command_says_what_the_registry_says_of_it(name):
    target, line = BUILT_IN[name]

    command = resolve_name(target)
    told = command.info.help if isinstance(command, typer.Typer) else command.__doc__

    assert told.splitlines()[0] == line


def test_help_of_the_program_imports_no_command(monkeypatch):
    monkeypatch.setattr(program, "BUILT_IN", {"fly": ("no.such.module:fly", "Fly away.")})
    registry = Registry("a command", "nmt.commands", {"fly": "no.such.module:fly"})
    monkeypatch.setattr(program, "COMMANDS", registry)
    found = run("--help")

    assert found.exit_code == 0
    assert re.search(r"fly +Fly away\.", found.stdout)


def test_a_name_that_is_none_is_told_with_one_that_is():
    refused = run("transalte")

    assert refused.exit_code == 2
    assert "transalte" in refused.stderr
    assert "'translate'" in refused.stderr


def test_another_package_brings_a_command(tmp_path, monkeypatch):
    """By an entry point; the program's own names stay what they are."""
    (tmp_path / "wings.py").write_text('def fly(height: int) -> None:\n    print("up", height)\n')
    folder = tmp_path / "wings-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: wings\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(
        "[nmt.commands]\nfly = wings:fly\ntranslate = wings:fly\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert re.search(r"fly +.*another package", run("--help").stdout)
    assert "wings" not in sys.modules
    assert run("fly", 7).stdout == "up 7\n"
    assert "--beam-size" in run("translate", "--help").stdout


def test_the_version_is_told():
    assert re.fullmatch(r"nmt(,| \d).*\n", run("--version").stdout)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["translate", "serve", "verify"])
def test_help_waits_for_no_torch(command):
    code = f"""
import sys
from nmt_core.cli import app
app(["{command}", "--help"], standalone_mode=False)
sys.exit('torch' in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_translating_does_without_what_is_no_translation(tmp_path):
    shutil.copytree(
        PROJECT / "nmt_core",
        tmp_path / "nmt_core",
        ignore=lambda folder, names: {"extensions", "__pycache__"} & {*names},
    )
    bundle = export(tmp_path / "export")

    def run_copy(*arguments):
        command = [sys.executable, "-m", "nmt_core.cli", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    shown = run_copy("--help").stdout
    assert "translate" in shown
    assert not re.search(r"learn|neighbours|classif(y|ier) ", shown.partition("Commands")[2])
    assert run_copy("translate", "--model", bundle, "Hund").returncode == 0
    for needing in (
        ["score", "--language-model", "a"],
        ["translate", "--model", bundle, "--fuse", "a"],
    ):
        refused = run_copy(*needing)
        assert refused.returncode == 1
        assert "needs nmt_core.extensions" in refused.stderr
        assert refused.stderr.count("\n") == 1

"""What the Makefile deletes, what it keeps, and what it passes on."""

import os
import re
import shutil
import subprocess

import pytest

from tests.support.projects import PROJECT

MADE = ("data/train.de", "runs/a/journal.jsonl", "checkpoints/a/step", ".venv/ready", "letter.txt")
OWN = ("my/text.de", "notes.md")


@pytest.fixture
def clone(project):
    for name in ("Makefile", ".gitignore"):
        shutil.copy(PROJECT / name, project)
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    for name in (*MADE, *OWN):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return project


def make(clone, *arguments, answer=""):
    """Run make like a person: under another make, which may run the tests, it prints more."""
    options = {"cwd": clone, "input": answer, "capture_output": True, "text": True}
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(["make", *arguments], env=alone, check=False, **options)


def list_files(clone):
    return {name for name in (*MADE, *OWN) if (clone / name).exists()}


@pytest.mark.parametrize("answer", ["", "n\n", "yes\n"])
def test_nothing_is_deleted_without_confirmation(clone, answer):
    done = make(clone, "uninstall", answer=answer)

    assert done.returncode
    assert "Would remove runs/" in done.stdout
    assert list_files(clone) == {*MADE, *OWN}


@pytest.mark.parametrize(("arguments", "answer"), [((), "y\n"), (("YES=1",), "")])
def test_generated_files_are_deleted_and_own_files_kept(clone, arguments, answer):
    assert make(clone, "uninstall", *arguments, answer=answer).returncode == 0
    assert list_files(clone) == set(OWN)


def test_cleaning_keeps_unsent_journals(clone):
    assert make(clone, "clean").returncode == 0
    assert list_files(clone) == {*MADE, *OWN} - {"checkpoints/a/step"}


@pytest.mark.parametrize(
    ("words", "flow", "params"),
    [
        ((), "train/train", "{}"),
        (("FLOW=retrain-on-pools",), "retrain/retrain-on-pools", "{}"),
        (('SET=a=1 "b={c: 2}"',), "train/train", '{"settings": ["a=1", "b={c: 2}"]}'),
    ],
)
def test_settings_become_parameters_of_the_deployment(clone, words, flow, params):
    program = clone / ".venv/bin/prefect"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)

    typed = make(clone, "--assume-old=.venv/ready", "run", *words).stdout.splitlines()
    assert typed == ["deployment", "run", flow, "--params", params]


def test_the_menu_lists_all_commands_in_80_columns(clone):
    menu = make(clone).stdout + make(clone, "help-dev").stdout
    titles = [text.splitlines()[0] for text in menu.split("\n\n")[1:]]
    lines = (PROJECT / "Makefile").read_text().splitlines()
    named = [line for line in lines if re.match("[a-z-]+:.* ## ", line)]
    listed = [line.split()[1] for line in menu.splitlines() if line.startswith("  make ")]

    assert max(map(len, menu.splitlines())) <= 80
    assert titles
    assert not any(title.startswith(" ") for title in titles)
    assert {line.split(":")[0] for line in named} == {*listed} - {"help-dev"}
    assert "[TEACHER=models/export TEXT= LANGUAGES= SET=]" in menu  # in the Makefile's order


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (["repro", "data=demo"], "DATA="),
        (["repro", "MODLE=convs2s"], "MODEL="),
        (["repro", "MODELS=convs2s"], "MODEL="),
        (["serve", "PROT=80 81"], "PORT="),
        (["champion", "x=1"], "PYTHON=, TORCH="),
    ],
)
def test_unknown_variables_are_refused(clone, arguments, suggestion):
    refused = make(clone, *arguments)

    assert refused.returncode
    assert refused.stdout == ""
    name = arguments[1].partition("=")[0]
    assert f"has no variable {name}=; did you mean {suggestion}" in refused.stderr


@pytest.mark.parametrize("known", [("repro", "SET=a.b=1 c=2"), ("test-all", "SHARE=2", "SEED=3")])
def test_documented_variables_are_taken(known):
    assert make(PROJECT, "--dry-run", *known, "TORCH=cpu").returncode == 0


def test_promotions_need_a_version():
    assert "VERSION= is missing" in make(PROJECT, "--dry-run", "promote").stderr


PIP = """#!/bin/sh
echo "$@" >> calls
case "$*" in {failing}) echo "Could not find a version" >&2; exit 1;; esac
"""


@pytest.fixture
def bare(clone):
    """A checkout whose pip records its arguments."""
    (clone / "pyproject.toml").touch()
    shutil.copytree(PROJECT / "requirements", clone / "requirements")
    pip = PIP.format(failing="nothing")
    for name, text in (("python", "#!/bin/sh\n"), ("pip", pip), ("../servers/bin/python", "")):
        path = clone / ".venv/bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (clone / ".venv/ready").unlink()
    return clone


@pytest.mark.parametrize(
    ("target", "files"),
    [
        ("setup", ["build", "torch-cpu", "train"]),
        (".venv/dev", ["build", "torch-cpu", "train", "dev"]),
        (".venv/servers/ready", ["build", "torch-cpu", "train", "servers"]),
    ],
)
def test_each_purpose_installs_its_own_packages(bare, target, files):
    assert make(bare, target, "TORCH=cpu").returncode == 0
    assert files == re.findall(r"requirements/(.*)\.txt", (bare / "calls").read_text())


def test_unreachable_cpu_builds_are_explained(bare):
    (bare / ".venv/bin/pip").write_text(PIP.format(failing="*torch-cpu*"))
    done = make(bare, "setup", "TORCH=cpu")

    assert (0, "") == (done.returncode, done.stderr)
    assert "The CPU build of PyTorch cannot be downloaded" in done.stdout
    assert "requirements/torch-cuda.txt" in (bare / "calls").read_text()

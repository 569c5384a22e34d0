"""The program of `make repro`: what it says and returns when dvc ends, or is stopped."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from nmt_core.base import files
from stages.runtime.turns import LOCK
from tests.support.processes import wait_for
from tests.support.projects import PROJECT, a_users_environment

DVC = """
import os, signal, subprocess, sys
print(*sys.argv[1:], flush=True)
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as the real one while a stage runs
stage = subprocess.run([sys.executable, "stage.py"])
sys.exit(f"ERROR: failed to reproduce 'train': exited with {stage.returncode}")
"""

STAGE = """
import os, signal, sys, time
from pathlib import Path

def save(number, _):
    Path("checkpoints/new").mkdir()
    for name in ("step-00000104", "best-00000100"):
        Path("checkpoints/new", name).with_suffix(".json").touch()
    time.sleep(0.5)
    Path("left").touch()
    sys.exit(128 + number)

signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGINT, save)
print("ready", flush=True)
time.sleep(60)
"""

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("heard")]


@pytest.fixture
def start(fake_dvc, tmp_path):
    """Start the program where a training has been before, with a fake dvc that runs a stage."""
    (tmp_path / "checkpoints/old").mkdir(parents=True)
    (tmp_path / "checkpoints/old/step-00000200.json").touch()

    def begin():
        fake_dvc(DVC)
        (tmp_path / "stage.py").write_text(STAGE)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "flows.repro"],  # the real dvc's parts for itself
            cwd=tmp_path,
            env=a_users_environment() | {"PYTHONPATH": str(PROJECT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert [process.stdout.readline() for _ in range(2)] == ["repro\n", "ready\n"]
        return process

    return begin


def end(process):
    lines = process.communicate()[0].splitlines()
    return process.returncode, lines


def test_dvc_itself_tells_of_stages_but_gives_no_advice_to_commit_or_push(tmp_path):
    (tmp_path / "dvc.yaml").write_text(
        "stages: {train: {cmd: echo trained > model, outs: [model]}}"
    )
    environment = a_users_environment() | {
        "PYTHONPATH": str(PROJECT),
        "DVC_SITE_CACHE_DIR": str(tmp_path / "site"),
    }
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    for command in ("dvc init --quiet", "flows.repro train"):
        done = subprocess.run(
            [sys.executable, "-m", *command.split()],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )

    assert "Running stage 'train'" in done.stdout
    assert "git add" not in done.stdout
    assert "autostage" not in done.stdout
    assert "dvc push" not in done.stdout  # there may be no remote


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_training_says_what_it_saved(start, number):
    """A terminal tells all programs in it, a service manager or make the first alone."""
    process = start()
    tell = os.killpg if number == signal.SIGINT else os.kill
    tell(process.pid, number)
    code, lines = end(process)

    assert 128 + number == code
    assert lines[0].endswith(f"exited with {128 + number}")
    assert "training is saved at step 104; the same command goes on from there" == lines[-1]
    assert len(lines) == 2


def test_a_stage_that_outlives_dvc_is_waited_for(start, tmp_path):
    """As where the terminal is closed, of which dvc dies at once, while the stage saves."""
    process = start()
    [program] = psutil.Process(process.pid).children()
    [stage] = program.children()
    program.kill()
    stage.terminate()
    code, lines = end(process)

    assert code not in {0, 143}
    assert (tmp_path / "left").exists()
    assert "training is saved at step 104; the same command goes on from there" == lines[-1]


def test_another_run_is_waited_for(fake_dvc, tmp_path):
    fake_dvc("import sys; print(*sys.argv[1:], flush=True)")
    (tmp_path / ".dvc").mkdir()
    log = tmp_path / "log"
    with files.locked(tmp_path / LOCK), log.open("wb") as file:
        command = [sys.executable, "-P", "-m", "flows.repro"]
        env = a_users_environment() | {"PYTHONPATH": str(PROJECT)}
        process = subprocess.Popen(command, cwd=tmp_path, env=env, stderr=file, stdout=file)
        assert wait_for(log.read_text, seconds=60)
        said = f"another run works in {tmp_path}; this one begins when it has ended\n"
        assert (said, None) == (log.read_text(), process.poll())

    assert (0, f"{said}repro\n") == (process.wait(), log.read_text())

"""The program of `make repro`: what it says and returns when dvc ends, or is stopped."""

import os
import signal
import subprocess
import sys

import pytest

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

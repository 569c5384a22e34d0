"""The program of `make repro`: its exit code and message if dvc ends, or is stopped."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flows import repro
from tests.support.projects import PROJECT, a_users_environment

DVC = """
import os, signal, subprocess, sys
print(*sys.argv[1:], flush=True)
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as the real one while a stage runs
stage = subprocess.run([sys.executable, "stage.py"])
sys.exit(f"ERROR: failed to reproduce 'train': exited with {stage.returncode}")
"""

STAGE = """
import signal, sys, time
from pathlib import Path

def save(number, _):
    time.sleep(0.5)
    Path("saved").touch()
    sys.exit(128 + number)

signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGINT, save)
print("ready", flush=True)
time.sleep(60)
"""

PYTHON = str(Path(sys.executable).with_name("python"))


@pytest.mark.slow
@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_stage_saves_before_the_program_ends(fake_dvc, tmp_path, number):
    """A terminal signals all its programs; a service manager or make signals the first alone."""
    fake_dvc(DVC)
    (tmp_path / "stage.py").write_text(STAGE)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "flows.repro"],  # the real dvc does this itself
        cwd=tmp_path,
        env=a_users_environment() | {"PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert [process.stdout.readline() for _ in range(2)] == ["repro\n", "ready\n"]
    send = os.killpg if number == signal.SIGINT else os.kill
    send(process.pid, number)
    lines = process.communicate()[0].splitlines()

    assert process.returncode == 128 + number
    assert (tmp_path / "saved").exists()
    assert lines[0].endswith(f"exited with {128 + number}")
    assert lines[1:] == [repro.processes.STOPPED]


STOPPED = (1, signal.SIGTERM)


@pytest.mark.parametrize(
    ("endings", "cleared", "code", "messages"),
    [
        ([(0, 0)], False, 0, 0),
        ([(3, 0)], False, 3, 0),
        ([(0, signal.SIGTERM)], False, 0, 0),  # it had nothing left to do
        ([(1, signal.SIGINT)], True, 130, 1),  # leftovers are no reason to run again
        ([STOPPED], True, 143, 1),
        ([(1, 0), (0, 0)], True, 0, 0),
        ([(1, 0), (4, 0)], True, 4, 0),
        ([(1, 0), STOPPED], True, 143, 1),
    ],
)
def test_dvc_runs_again_once_if_leftovers_were_removed(patch, endings, cleared, code, messages):
    steps, left, said = [], list(endings), []

    def run(stages):
        steps.append(stages)
        return left.pop(0)

    patch(
        repro,
        run_dvc=run,
        clear_leftovers=lambda _: cleared,
        clear_temporary_files=lambda: steps.append("clear"),
        say=said.append,
    )
    assert repro.reproduce(["train"]) == code
    assert steps == ["clear", *[["train"]] * len(endings)]
    assert (left, len(said)) == ([], messages)


@pytest.mark.parametrize(
    ("number", "code", "stopped_by"),
    [
        (0, 3, 0),
        (signal.SIGINT, 0, signal.SIGINT),
        (signal.SIGTERM, 143, signal.SIGTERM),
        (signal.SIGHUP, 0, 0),  # behind nohup
    ],
)
def test_dvc_in_a_terminal_gets_one_sigterm(fake_dvc, monkeypatch, number, code, stopped_by):
    """A terminal signals dvc, too; the handlers are restored afterwards."""
    monkeypatch.setattr(repro.processes, "adopt_orphans", lambda: None)
    monkeypatch.setattr(repro.processes, "outlast_children", lambda _: None)
    first = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    before = [signal.getsignal(one) for one in repro.processes.STOP_SIGNALS]
    fake_dvc(f"""
        import os, shutil, sys, time
        assert (shutil.which("python"), os.environ["DVC_NO_ANALYTICS"]) == ({PYTHON!r}, "1")
        assert sys.argv[1:] == ["repro", "train"]
        {number} and os.kill(os.getppid(), {number})
        {code} == 143 and time.sleep(60)
        sys.exit({code})
    """)

    assert repro.run_dvc(["train"]) == (code, stopped_by)
    assert before == [signal.getsignal(one) for one in repro.processes.STOP_SIGNALS]
    signal.signal(signal.SIGHUP, first)


@pytest.mark.parametrize("children", [0, 2])
def test_stage_gets_sigterm_and_dvc_only_without_one(children):
    stage = "import time; print(1, flush=True); time.sleep(60)"
    program = f"""
import subprocess, sys, time
stages = [subprocess.Popen([sys.executable, "-c", {stage!r}]) for _ in range({children})]
print(1, flush=True)
stages or time.sleep(60)
sys.exit(sum(stage.wait() for stage in stages))
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        for _ in range(1 + children):
            process.stdout.readline()
        repro.stop_work(process, signal.SIGTERM)
        code = process.wait(60)
    assert code == (256 - children * signal.SIGTERM if children else -signal.SIGTERM)
    repro.stop_work(process, signal.SIGTERM)  # gone

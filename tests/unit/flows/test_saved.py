"""What the program of `make repro` says and returns, by how dvc ended: one answer for each way."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flows import repro

PYTHON = str(Path(sys.executable).with_name("python"))
STEPS = ("checkpoints/new/step-00000096.json", "checkpoints/new/step-00000104.json")


@pytest.fixture
def ended(monkeypatch, tmp_path):
    """Has dvc end in given ways, one after another, after a training that saved or did not."""
    monkeypatch.chdir(tmp_path)
    for name in ("old", "new"):
        Path("checkpoints", name).mkdir(parents=True)
    Path("checkpoints/old/step-00000200.json").touch()

    def reproduce(*endings, saved=(), cleared=False):
        said, asked, left = [], [], list(endings)

        def run(command):
            assert Path("cleared").exists()
            asked.append(command)
            for path in saved:
                Path(path).touch()
            return left.pop(0)

        monkeypatch.setattr(repro, "run_in_terminal", run)
        monkeypatch.setattr(repro, "clear_leftovers", lambda _: cleared)
        monkeypatch.setattr(repro, "clear_temporary_files", lambda: Path("cleared").touch())
        monkeypatch.setattr(repro, "say", said.append)
        code = repro.reproduce(["train"])
        assert [] == left
        assert all(command[-3:] == ["dvc", "repro", "train"] for command in asked)
        return code, said

    return reproduce


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(("saved", "words"), [((), "stages that had ended"), (STEPS, "step 104;")])
def test_who_is_stopped_ends_as_shells_say_and_tells_what_is_kept(ended, number, saved, words):
    """Another run's leftovers are then no reason to begin again."""
    code, [sentence] = ended((1, number), saved=saved, cleared=True)

    assert 128 + number == code
    assert words in sentence


def test_a_failure_has_the_code_of_dvc_and_tells_what_was_saved(ended):
    assert (3, []) == ended((3, 0))
    code, [sentence] = ended((3, 0), saved=STEPS)
    assert 3 == code
    assert "step 104;" in sentence


def test_all_is_well_where_dvc_says_so(ended):
    """Also if somebody asked it to stop when it had nothing left to do."""
    for stopped_by in (0, signal.SIGTERM):
        assert (0, []) == ended((0, stopped_by), saved=STEPS)


@pytest.mark.parametrize(("second", "code"), [((0, 0), 0), ((4, 0), 4), ((1, 15), 143)])
def test_dvc_is_asked_again_once_where_leftovers_were_cleared(ended, second, code):
    assert code == ended((1, 0), second, cleared=True)[0]


@pytest.mark.parametrize(
    ("number", "code"), [(0, 3), (signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_a_command_is_waited_for_with_all_it_leaves_and_signals_are_as_before(
    monkeypatch, number, code
):
    """The signals of a terminal reach the command by themselves: only SIGTERM is passed on."""
    noted = []
    monkeypatch.setattr(repro.processes, "adopt_orphans", lambda: noted.append("adopt"))
    monkeypatch.setattr(repro.processes, "outlast_children", noted.append)
    before = [signal.getsignal(one) for one in repro.processes.STOPPING]
    program = f"""
import os, shutil, sys, time
assert (shutil.which("python"), os.environ["DVC_NO_ANALYTICS"]) == ({PYTHON!r}, "1")
{number} and os.kill(os.getppid(), {number})
{code} < 0 and time.sleep(60)
sys.exit({code})
"""

    assert (code, number) == repro.run_in_terminal([sys.executable, "-c", program])
    assert ["adopt", repro.say] == noted
    assert before == [signal.getsignal(one) for one in repro.processes.STOPPING]


@pytest.mark.parametrize("children", [0, 2])
def test_the_stage_is_told_to_end_and_dvc_only_without_one(children):
    """Which then sees how its stage has ended."""
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
        repro.terminate_work(process.pid)
        code = process.wait(60)
    assert code == (256 - children * signal.SIGTERM if children else -signal.SIGTERM)
    repro.terminate_work(process.pid)  # gone

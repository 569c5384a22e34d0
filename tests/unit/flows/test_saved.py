"""What the program of `make repro` says and returns, by how dvc ended: one answer for each way."""

import signal
import sys
from pathlib import Path

import pytest

from flows import repro

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
            asked.append(command)
            for path in saved:
                Path(path).touch()
            return left.pop(0)

        monkeypatch.setattr(repro, "run_in_terminal", run)
        monkeypatch.setattr(repro, "clear_leftovers", lambda _: cleared)
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


@pytest.mark.parametrize(("number", "code"), [(0, 3), (signal.SIGINT, 0)])
def test_a_command_is_waited_for_with_all_it_leaves_and_signals_are_as_before(
    monkeypatch, number, code
):
    """The signals of a terminal reach the command by themselves: here it alone sends one."""
    noted = []
    monkeypatch.setattr(repro.processes, "adopt_orphans", lambda: noted.append("adopt"))
    monkeypatch.setattr(repro.processes, "outlast_children", noted.append)
    before = [signal.getsignal(one) for one in repro.processes.STOPPING]
    program = f"import os, sys; {number} and os.kill(os.getppid(), {number}); sys.exit({code})"

    assert (code, number) == repro.run_in_terminal([sys.executable, "-c", program])
    assert ["adopt", repro.say] == noted
    assert before == [signal.getsignal(one) for one in repro.processes.STOPPING]

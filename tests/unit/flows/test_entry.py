"""A program that leaves no child behind: how it ends, whichever of its processes ends first."""

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from flows import entry
from nmt_core.base.errors import NmtError
from tests.support.processes import marked, wait_for

FOREVER = [sys.executable, "-c", "import time; time.sleep(60)"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are told on Linux")


class Engine:
    """An object of a reference cycle, as a translator that was checked and is not used again."""

    def __init__(self):
        self.itself, self.process = self, os.getpid()

    def __del__(self):
        if os.getpid() != self.process:
            Path("destroyed").touch()


def begin(work):
    """Work as a program that leaves no child behind; return the number of the process."""
    if number := os.fork():
        return number
    code = 99
    Engine()
    try:
        with entry.run_in_child():
            code = work()
    except SystemExit as stop:
        Path("stopped").touch()
        code = stop.code
    except KeyboardInterrupt:
        code = 130
    finally:
        os._exit(code)


def kill_oneself():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(("work", "code"), [(lambda: 7, 7), (kill_oneself, 137)])
def test_it_ends_as_its_work_does(project, work, code):
    assert code == os.waitstatus_to_exitcode(os.waitpid(begin(work), 0)[1])


def collect_garbage():
    gc.collect()
    return 1 if Path("destroyed").exists() else 0


def test_what_the_program_no_longer_uses_is_destroyed_before(project):
    assert os.waitstatus_to_exitcode(os.waitpid(begin(collect_garbage), 0)[1]) == 0


def sleep():
    subprocess.Popen(FOREVER)
    Path("ready").touch()
    time.sleep(60)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_a_signal_ends_the_work_and_its_children(project, monkeypatch, number, code):
    """A killed program can only signal its child, which then ends its own children."""
    monkeypatch.setenv("NMT_TEST", str(project))
    program = begin(sleep)
    assert wait_for(Path("ready").exists, seconds=60)
    [work] = psutil.Process(program).children()
    os.kill(program, number)

    assert code == os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    assert wait_for(lambda: not is_alive(work), seconds=60)
    assert Path("stopped").exists() is (number != signal.SIGINT)
    if number == signal.SIGKILL:
        [left] = marked("NMT_TEST", str(project))
        left.kill()
    assert wait_for(lambda: not marked("NMT_TEST", str(project)), seconds=60)


def is_alive(process):
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_one_process_has_the_lock(tmp_path):
    with (
        entry.hold_lock(tmp_path / "lock", "busy"),
        pytest.raises(NmtError, match="busy"),
        entry.hold_lock(tmp_path / "lock", "busy"),
    ):
        pass
    with entry.hold_lock(tmp_path / "lock", "busy"):
        pass


@pytest.mark.parametrize(
    ("error", "stopped"),
    [(KeyboardInterrupt(), True), (SystemExit(143), True), (ValueError("ours"), False)],
)
def test_stopped_flow_says_how_it_continues(monkeypatch, capsys, error, stopped):
    monkeypatch.setattr(entry, "move_to_child", lambda: None)
    with pytest.raises(type(error)), entry.run_in_child():
        raise error

    assert ("the same command continues" in capsys.readouterr().err) == stopped

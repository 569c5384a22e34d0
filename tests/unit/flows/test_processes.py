"""Running a command to its end, and the processes that it leaves behind."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from tests.support.processes import STAGE
from tests.support.projects import PROJECT

SECONDS = 60
"""The steps waited for take less than one second on an idle machine."""

WORKER = """\
import os, signal, subprocess, sys, time
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "SIGINT is ignored"
told = []
def end(*_):
    told.append(1)
    print("told", flush=True)
    stage.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    os._exit(len(told))
signal.signal(signal.SIGTERM, end)
stage = subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True)
time.sleep(60)
"""
PROGRAM = """\
import os, sys
from flows import processes
processes.LEAVE_SECONDS = float(sys.argv[1])
command, environment = [sys.executable, "-c", *sys.argv[2:]], os.environ | {"CODE": "7"}
code, _ = processes.run_to_the_end(command, environment, say=print)
sys.exit(code)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans come to us on Linux")


@pytest.fixture
def program(tmp_path):
    """Run a command in another process to its end; SIGINT is ignored, as in a background job."""
    started = []

    def start(*command, patience=60.0):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(patience), *command],
                cwd=tmp_path,
                env=os.environ | {"PYTHONPATH": str(PROJECT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        started.append(process)
        assert command[0] != WORKER or process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_program_ends_with_its_commands_code(program):
    """The command gets the given variables and no terminal."""
    code = "import os, sys; sys.exit(int(os.environ['CODE']) + len(sys.stdin.read()))"
    assert 7 == program(code).wait(SECONDS)
    assert 128 + signal.SIGKILL == program("import os; os.kill(os.getpid(), 9)").wait(SECONDS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_program_stays_until_stages_have_saved(program, tmp_path, number):
    process = program(WORKER, STAGE)
    (worker,) = psutil.Process(process.pid).children()
    assert os.getsid(worker.pid) == worker.pid  # if no terminal sends it a signal

    process.send_signal(number)
    worker.wait(SECONDS)

    assert process.poll() is None
    (tmp_path / "leave").touch()
    assert 1 == process.wait(SECONDS)
    assert (tmp_path / "saved").exists()
    assert "told\nwaiting for processes that still save their work\n" == process.stdout.read()


def test_a_command_is_signalled_once(program, tmp_path):
    """Prefect's worker takes a second SIGTERM for a SIGKILL; its exit code counts the signals."""
    (tmp_path / "leave").touch()
    process = program(WORKER, STAGE)

    process.send_signal(signal.SIGTERM)
    assert "told\n" == process.stdout.readline()
    process.send_signal(signal.SIGINT)

    assert 1 == process.wait(SECONDS)


@pytest.mark.slow
def test_a_command_that_never_ends_is_killed(program):
    process = program(WORKER, STAGE, patience=0.5)
    everything = psutil.Process(process.pid).children(recursive=True)

    process.terminate()

    assert 1 == process.wait(SECONDS)
    assert [] == [one for one in everything if one.is_running()]


@pytest.mark.slow
def test_a_command_is_stopped_with_its_program(program, tmp_path):
    (tmp_path / "leave").touch()
    process = program(WORKER, STAGE)
    everything = psutil.Process(process.pid).children(recursive=True)

    process.kill()

    _, alive = psutil.wait_procs(everything, timeout=SECONDS)
    assert [] == alive
    assert (tmp_path / "saved").exists()


SAVE = "import sys, time; time.sleep(1); open(sys.argv[1], 'w')"
LEAVE = """\
import subprocess, sys
from flows import processes
processes.LEAVE_SECONDS = float(sys.argv[1])
subprocess.Popen([sys.executable, "-c", *sys.argv[2:]])
processes.outlast_children(print)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "saved"), [(SECONDS, True), (0, False)])
def test_children_are_waited_for_and_then_killed(tmp_path, seconds, saved):
    command = [sys.executable, "-c", LEAVE, str(seconds), SAVE, tmp_path / "saved"]
    subprocess.run(command, cwd=PROJECT, capture_output=True, check=True)
    assert (tmp_path / "saved").exists() is saved

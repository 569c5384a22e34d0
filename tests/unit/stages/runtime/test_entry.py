import os
import signal
import subprocess
import sys

import pytest

from tests.support.processes import wait_for
from tests.support.projects import PROJECT

PROGRAM = """
import os, sys, time
from nmt_core.base.errors import CorpusError, ServerError
from stages.runtime.entry import run_stage

def main():
    {body}

run_stage(main)
"""

LONG = f"[b]a.de[/b] is empty {'x' * 100}"


def start(body):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(body=body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("body", "code", "error"),
    [
        ("import gc; assert gc.get_freeze_count() > 1000", 0, ""),
        (f"raise CorpusError({LONG!r})", 1, f"{LONG}\n"),
    ],
)
def test_a_stage_ends_in_words(body, code, error):
    process = start(body)

    assert (error, code) == (process.communicate()[1], process.returncode)


@pytest.mark.slow
def test_a_thread_that_nobody_waits_for_does_not_change_the_end():
    """Such as one that waits for MLflow; ended by Python amid C++, it would abort the process."""
    busy = "while True: torch.ones(500, 500) @ torch.ones(500, 500)"
    begin = f"global torch; import threading, torch; work = lambda: exec({busy!r}, globals()); "
    begin += "threading.Thread(target=work, daemon=True).start(); time.sleep(0.2); print('said'); "
    process = start(f"{begin}raise CorpusError('none')")

    assert process.communicate() == ("said\n", "none\n")
    assert process.returncode == 1


@pytest.mark.parametrize("left", [True, False])
def test_a_stage_is_ended_at_once_where_a_thread_is_left_and_has_said_all(left):
    """What Python would do at its end might wait for that thread."""
    body = "import atexit, threading; atexit.register(print, 'later'); "
    body += "threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); " * left
    process = start(body + "print('said'); print('told', end='', file=sys.stderr)")

    assert process.communicate() == ("said\n" if left else "said\nlater\n", "told")
    assert process.returncode == 0


def test_a_signal_amid_the_end_leaves_no_traceback():
    """What was to be done is done; a library puts its own things in order."""
    told = "import atexit, signal; "
    told += "atexit.register(lambda: (print('end', flush=True), os.kill(os.getpid(), 15)))"
    process = start(told)

    assert ("end\n", "") == process.communicate()
    assert process.returncode == -signal.SIGTERM


def test_a_stage_that_is_asked_for_help_does_nothing_else():
    command = [sys.executable, "-m", "stages.configure", "-h"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: python -m stages.configure" in done.stdout
    assert "Writes: " in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_a_stage_ends_with_its_parent(tmp_path):
    flag = tmp_path / "ended"
    body = "\n    try: print(os.getpid(), flush=True); time.sleep(60)\n"
    body += f"    finally: open({str(flag)!r}, 'w').close()"
    program = [sys.executable, "-c", PROGRAM.format(body=body)]
    child = f"import subprocess; subprocess.run({program!r})"
    with subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) > 0
        os.kill(parent.pid, signal.SIGKILL)
    assert wait_for(flag.exists, seconds=60)

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
        ("print('done')", 0, ""),
        ("import gc; assert gc.get_freeze_count() > 1000", 0, ""),
        (f"raise CorpusError({LONG!r})", 1, f"{LONG}\n"),
        ("raise ServerError('away')", 75, "away\n"),
        ("raise KeyboardInterrupt", 130, ""),
        ("os.kill(os.getpid(), 15)", 143, ""),
    ],
)
def test_a_stage_ends_in_words(body, code, error):
    process = start(body)

    assert (error, code) == (process.communicate()[1], process.returncode)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "code", "error"),
    [
        ("print('done')", 0, ""),
        ("raise CorpusError('none')", 1, "none\n"),
        ("sys.exit(143)", 143, ""),
    ],
    ids=["well", "by an error", "by a signal"],
)
def test_a_thread_that_nobody_waits_for_does_not_change_the_end(end, code, error):
    """Such as one that waits for MLflow; ended by Python amid C++, it would abort the process."""
    busy = "while True: torch.ones(500, 500) @ torch.ones(500, 500)"
    begin = f"global torch; import threading, torch; work = lambda: exec({busy!r}, globals()); "
    begin += "threading.Thread(target=work, daemon=True).start(); time.sleep(0.2); print('said'); "
    process = start(begin + end)
    said, told = process.communicate()

    assert (code, error) == (process.returncode, told)
    assert said.startswith("said\n")


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


def run_module(*command):
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=PROJECT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("stage", "asked"), [("shard", "--help"), ("configure", "-h")])
def test_a_stage_that_is_asked_for_help_does_nothing_else(stage, asked):
    done = run_module(f"stages.{stage}", asked)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: python -m stages.{stage}" in done.stdout
    assert "Writes: " in done.stdout


def test_a_stage_refuses_what_it_would_not_look_at():
    done = run_module("stages.shard", "shard.max_length=5")

    assert (done.returncode, done.stdout) == (1, "")
    assert "takes no arguments, got 'shard.max_length=5'" in done.stderr
    assert "python -m stages.configure SECTION.KEY=VALUE" in done.stderr


def test_a_mistake_of_ours_keeps_its_traceback():
    process = start("raise ValueError('ours')")
    assert "Traceback" in process.communicate()[1]
    assert process.returncode == 1


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

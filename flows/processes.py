"""Start processes that end with this one, together with their children."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from nmt_core.base.interrupt import STOP_SIGNALS

STOPPED = "stopped; finished and saved work is kept, and the same command continues from there"
"""Message of a program that was stopped."""

LEAVE_SECONDS = 110.0
"""Seconds for the children of a command to end; service managers allow 90 to 120."""

PR_SET_CHILD_SUBREAPER = 36

LEASHED = """\
import ctypes, os, signal, sys
parent, number, *command = sys.argv[1:]
signal.signal(signal.SIGINT, signal.SIG_DFL)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, int(number))  # PR_SET_PDEATHSIG
    if os.getppid() != int(parent):
        sys.exit("the parent process has ended")
os.execv(command[0], command)
"""
"""Program that executes a command which receives a signal when this process ends.

It is a separate program, because forking Python code in a process with threads may deadlock. It
resets SIGINT: shells start background jobs with SIGINT ignored, and Prefect, which turns SIGTERM
into SIGINT, would never end.
"""


def leash(command: Sequence[str], *, last_word: signal.Signals = signal.SIGTERM) -> list[str]:
    """Return a command that runs ``command`` and receives a signal when the calling thread ends."""
    program = [sys.executable, "-c", LEASHED, str(os.getpid()), str(int(last_word))]
    return [*program, *command]


def start_session(
    command: Sequence[str], environment: Mapping[str, str], *, folder: Path | None = None
) -> subprocess.Popen[str]:
    """Start a command in a new session that ends with this thread; all output is one pipe.

    The command begins with an absolute path; ``environment`` is added to that of this process.
    """
    return subprocess.Popen(
        leash(command),
        cwd=folder,
        env=os.environ | dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def signal_all(session: int, number: signal.Signals) -> None:
    """Send a signal to all processes of a session, if it still has any."""
    with suppress(ProcessLookupError):
        os.killpg(session, number)


def run_to_the_end(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    say: Callable[[str], None],
    stop: Callable[[subprocess.Popen[bytes], int], None] = lambda process, _: process.terminate(),
    session: bool = True,
    last_word: signal.Signals = signal.SIGTERM,
) -> tuple[int, int]:
    """Run a command, and wait for it and its orphans, even after a signal to stop.

    Args:
        command: an absolute path and arguments.
        environment: all its variables.
        say: receives a message while orphans still run.
        stop: called with the process and the number of the first signal to stop; later signals are
            ignored, because a Prefect worker would end at once after a second one.
        session: start a new session, which signals of the terminal do not reach.
        last_word: the signal that it receives if this process is killed.

    Returns:
        The exit code of the command, and the number of the signal to stop, or 0.
    """
    adopt_orphans()
    process = subprocess.Popen(
        leash(command, last_word=last_word),
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=session,
    )
    stopped_by = 0

    def remember(number: int, _: object) -> None:
        nonlocal stopped_by
        if not stopped_by and process.returncode is None:
            stopped_by = number
            stop(process, number)

    ignored = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else set()
    before = {number: signal.signal(number, remember) for number in {*STOP_SIGNALS} - ignored}
    try:
        code = process.wait()
        outlast_children(say)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code, stopped_by


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants (on Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def outlast_children(say: Callable[[str], None]) -> None:
    """Wait for all child processes, and kill them after ``LEAVE_SECONDS``."""
    this_process = psutil.Process()
    end = time.monotonic() + LEAVE_SECONDS
    if this_process.children():
        say("waiting for processes that still save their work")
    while children := this_process.children(recursive=True):
        if time.monotonic() > end:
            for process in children:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        with suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        time.sleep(0.05)

"""Processes that do not outlive us, and leave nothing behind when they end."""

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

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a service manager, and a terminal that is closed."""

STOPPED = "stopped; what has ended or was saved is kept, and the same command goes on from there"
"""Message of a program that was stopped."""

LEAVE_SECONDS = 110.0
"""How long what a command leaves behind may take to end; service managers allow 90 to 120."""

PR_SET_CHILD_SUBREAPER = 36

LEASHED = """\
import ctypes, os, signal, sys
parent, number, *command = sys.argv[1:]
signal.signal(signal.SIGINT, signal.SIG_DFL)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, int(number))  # PR_SET_PDEATHSIG
    if os.getppid() != int(parent):
        sys.exit("who started this is gone")
os.execv(command[0], command)
"""
"""Start a command that gets a signal when this process ends for any reason; exec keeps the order.

A program of its own, since forking Python code in a process with threads may lock up. SIGINT is
ordinary again: a shell starts what it puts into the background with SIGINT ignored, and Prefect,
which turns SIGTERM into SIGINT, would never end.
"""


def leash(command: Sequence[str], *, last_word: signal.Signals = signal.SIGTERM) -> list[str]:
    """Return the command that runs ``command`` until we die.

    "We" is the thread that starts it: start what is to last in one that lasts.

    Args:
        command: an absolute path and arguments.
        last_word: the signal that it gets when we die.
    """
    us = [sys.executable, "-c", LEASHED, str(os.getpid()), str(int(last_word))]
    return [*us, *command]


def start_session(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    folder: Path | None = None,
    last_word: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[str]:
    """Start a command in a session of its own that ends with us; all that it says is one pipe.

    Args:
        command: an absolute path and arguments.
        environment: variables beside our own.
        folder: where it runs; ours if there is none.
        last_word: the signal that it gets when we die.
    """
    return subprocess.Popen(
        leash(command, last_word=last_word),
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
    """Send a signal to all of a session, if any of it is left."""
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
    """Run a command, and wait for it and its orphans; signals to stop are no end of ours.

    Args:
        command: an absolute path and arguments.
        environment: all its variables.
        say: takes messages on what is waited for.
        stop: is called with the process at the first signal to stop; a Prefect worker would take
            the second for an order to die at once.
        session: start a session of its own, which signals of a terminal do not reach.
        last_word: the signal that it gets if we are killed.

    Returns:
        Its exit code, and the number of the signal, or 0.
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
    """Wait for all child processes, and kill those that take too long."""
    us = psutil.Process()
    end = time.monotonic() + LEAVE_SECONDS
    if us.children():
        say("waiting for what still saves its work")
    while left := us.children(recursive=True):
        if time.monotonic() > end:
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        with suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        time.sleep(0.05)

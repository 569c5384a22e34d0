"""Processes that do not outlive us, and leave nothing behind when they end."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

LEASHED = """\
import ctypes, os, pwd, signal, sys
parent, number, user, *command = sys.argv[1:]
signal.signal(signal.SIGINT, signal.SIG_DFL)
if user:
    account = pwd.getpwnam(user)
    os.initgroups(user, account.pw_gid)
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, int(number))  # PR_SET_PDEATHSIG
    if os.getppid() != int(parent):
        sys.exit("who started this is gone")
os.execv(command[0], command)
"""
"""Start a command that is told to end when we die, by whatever signal; exec keeps the order.

A program of its own, since forking Python code in a process with threads may lock up. SIGINT is
ordinary again: a shell starts what it puts into the background with SIGINT ignored, and Prefect,
which turns SIGTERM into SIGINT, would never end. The user changes here, before the kernel is asked,
which forgets it then; and that user may not even reach our Python.
"""


def leashed(
    command: Sequence[str], *, last_word: signal.Signals = signal.SIGTERM, user: str = ""
) -> list[str]:
    """Return the command that runs ``command`` until we die.

    "We" is the thread that starts it: start what is to last in one that lasts.

    Args:
        command: an absolute path and arguments.
        last_word: the signal that it gets when we die.
        user: whose rights it has; ours if empty, and only root may choose.
    """
    us = [sys.executable, "-c", LEASHED, str(os.getpid()), str(int(last_word)), user]
    return [*us, *command]


def signal_all(session: int, number: signal.Signals) -> None:
    """Send a signal to all of a session, if any of it is left."""
    with suppress(ProcessLookupError):
        os.killpg(session, number)

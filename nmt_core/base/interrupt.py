"""Stop by a signal, or with the parent process."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals after which training saves and ends; the last comes when its terminal is closed."""

SAME_CTRL_C_SECONDS = 1.0
"""Time in which a second Ctrl-C counts as the first: programs pass on what a terminal sends."""


@contextmanager
def catch_stop_signals() -> Iterator[Callable[[], int]]:
    """Remember the first signal to stop; what is yielded returns its number, or 0 without one.

    What this process was told to ignore, as by nohup, it still ignores.
    """
    stopped_by, since = 0, 0.0

    def remember(number: int, _: object) -> None:
        nonlocal stopped_by, since
        if not stopped_by:
            stopped_by, since = number, time.monotonic()
        elif number == signal.SIGINT and time.monotonic() > since + SAME_CTRL_C_SECONDS:
            raise KeyboardInterrupt

    heard = [number for number in STOPPING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, remember) for number in heard}
    try:
        yield lambda: stopped_by
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int | None = None, *, by: signal.Signals = signal.SIGTERM) -> None:
    """Send this process a signal when its parent ends (on Linux); at once, if it has ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, by)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), by)


@contextmanager
def bare_beginnings() -> Iterator[None]:
    """Start processes without importing the running program, and deaf to Ctrl-C.

    They would import the running program, and with it torch, which takes seconds; and each would
    report an interrupt that this process reports.
    """
    main = sys.modules["__main__"]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

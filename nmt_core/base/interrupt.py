"""Stop at a signal, or when the parent process ends."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals after which training saves and ends; a closed terminal sends SIGHUP."""

SAME_CTRL_C_SECONDS = 1.0
"""Seconds within which a second SIGINT is a duplicate, forwarded by a parent program."""


@contextmanager
def catch_stop_signals() -> Iterator[Callable[[], int]]:
    """Record the first stop signal; yield a function that returns its number, or 0 before it.

    Signals that this process ignores, such as by nohup, stay ignored.
    """
    stopped_by, since = 0, 0.0

    def remember(number: int, _: object) -> None:
        nonlocal stopped_by, since
        if not stopped_by:
            stopped_by, since = number, time.monotonic()
        elif number == signal.SIGINT and time.monotonic() > since + SAME_CTRL_C_SECONDS:
            raise KeyboardInterrupt

    caught = [number for number in STOP_SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    previous = {number: signal.signal(number, remember) for number in caught}
    try:
        yield lambda: stopped_by
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int | None = None, *, by: signal.Signals = signal.SIGTERM) -> None:
    """Send this process a signal when its parent ends (on Linux), or now if it has ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, by)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), by)


@contextmanager
def isolated_process_start() -> Iterator[None]:
    """Start child processes that do not import ``__main__`` and ignore Ctrl-C.

    Importing ``__main__`` would import torch, which takes seconds. Without the blocked signal, each
    child would report the interrupt that this process reports.
    """
    main = sys.modules["__main__"]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

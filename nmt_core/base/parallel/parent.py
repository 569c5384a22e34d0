"""Processes that end with the one that started them."""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int | None = None, *, by: signal.Signals = signal.SIGTERM) -> None:
    """Send this process a signal when its parent ends (on Linux).

    Args:
        parent: its process id; if it has ended already, the signal comes at once.
        by: the signal.
    """
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

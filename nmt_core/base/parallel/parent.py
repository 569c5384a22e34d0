"""The process that started this one."""

import ctypes
import os
import signal
import sys

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

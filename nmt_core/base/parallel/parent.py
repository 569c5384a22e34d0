"""The process that started this one."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int | None = None) -> None:
    """Send this process SIGTERM when its parent ends (on Linux).

    Args:
        parent: its process id; if it has ended already, the signal comes at once.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)

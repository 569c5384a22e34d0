"""What tests send to other processes, which import this file and so no server, in each of them."""

import os
import signal
import time

from nmt_core.base.errors import DocumentError


class Words:
    """Cuts lines into words."""

    def tokens(self, line):
        return [f"▁{word}" for word in line.split()]


def tell_process(seconds=0.0):
    time.sleep(seconds)
    return os.getpid()


def note_and_sleep(path):
    path.write_text(str(os.getpid()))
    time.sleep(600)


def take_memory(size):
    return len(b"x" * size)


def refuse():
    raise DocumentError("this document is wrong")


def fail():
    raise ValueError("a secret text")


def die():
    os._exit(1)


def burn(seconds):
    """Compute for some processor seconds; return the process."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return os.getpid()


def be_killed():
    os.kill(os.getpid(), signal.SIGKILL)

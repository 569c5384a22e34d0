"""Tasks that tests send to other processes; importing this file starts no server."""

import os
import signal
import time

from nmt_core.base.errors import DocumentError


class Words:
    """Splits lines into words."""

    tags = ()

    def tokens(self, line):
        return [f"▁{word}" for word in line.split()]


def tell_process(_, seconds=0.0):
    time.sleep(seconds)
    return os.getpid()


def note_and_sleep(_, path):
    path.write_text(str(os.getpid()))
    time.sleep(600)


def take_memory(_, size):
    return len(b"x" * size)


def refuse(_):
    raise DocumentError("this document is wrong")


def fail(_):
    raise ValueError("a secret text")


def die(_):
    os._exit(1)


def burn(_, seconds):
    """Compute for some seconds of processor time; return the number of the process."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return os.getpid()


def be_killed(_):
    os.kill(os.getpid(), signal.SIGKILL)

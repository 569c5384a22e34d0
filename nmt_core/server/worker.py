"""A worker process that reads and writes documents for the server.

A document may take minutes and much memory however small its file is. Here it delays nobody, and
the system limits its memory and its processor time. The process runs our own code, so its results
are trusted.
"""

import math
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from enum import Enum, auto
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.server.logs import describe_failure

NICE = 5
"""Niceness: a document takes long, and requests for sentences go first."""

KEPT_SHARE = 0.5
"""Share of its memory limit beyond which a process ends after its task, since it returns none."""


class Ending(Enum):
    """The end of a task."""

    DONE = auto()
    REFUSED = auto()
    """The document is wrong; the result is a sentence for its sender."""
    FAILED = auto()
    """Our code is wrong; the result says where, and nothing of the document."""
    TOO_LARGE = auto()
    """Memory did not suffice."""
    TOO_LONG = auto()
    """Processor time did not suffice."""
    KILLED = auto()
    """Another program ended the process."""


class Bounds(NamedTuple):
    """Limits of a worker process."""

    memory: int
    """Bytes."""
    seconds: int
    """Processor time of a task."""


class Outcome(NamedTuple):
    """The result of a task."""

    ending: Ending
    result: Any
    lasts: bool
    """Whether the process takes another task."""


def work(connection: Connection, bounds: Bounds) -> None:
    """Do the tasks that come, each a function with arguments, until the connection closes."""
    lasts = True
    while lasts:
        try:
            do, arguments = connection.recv()
            bound_time(bounds.seconds)
            ending, result = attempt(do, arguments)
            lasts = ending is not Ending.TOO_LARGE and find_peak() < KEPT_SHARE * bounds.memory
            connection.send(Outcome(ending, result, lasts))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return


def attempt(do: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Ending, Any]:
    """Do a task and return how it ended."""
    try:
        return Ending.DONE, do(*arguments)
    except DocumentError as error:
        return Ending.REFUSED, str(error)
    except MemoryError:
        return Ending.TOO_LARGE, None
    except Exception as error:  # noqa: BLE001 - whatever it is, its message may hold text
        return Ending.FAILED, describe_failure(error)


def find_peak() -> int:
    """Return this process's peak memory in bytes; on Linux since it began.

    There ``getrusage`` never says less than the peak of the parent process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        [kilobytes] = re.findall(r"VmHWM:\s*(\d+)", status.read_text())
        return 1024 * int(kilobytes)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def bound_memory(most_bytes: int) -> None:
    """Limit the memory of this process (on Linux; other systems ignore it)."""
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))


def bound_time(seconds: int) -> None:
    """Limit the processor time from now on; beyond it, the system ends this process (SIGXCPU)."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + seconds, hard))


def main() -> None:
    """Do tasks for the parent process.

    Arguments of the command: the number of an open connection, and the bounds.
    """
    for ignored in (signal.SIGINT, signal.SIGTERM):  # meant for the server, which ends this one
        signal.signal(ignored, signal.SIG_IGN)
    os.nice(NICE)
    number, *limits = map(int, sys.argv[1:])
    bounds = Bounds(*limits)
    bound_memory(bounds.memory)
    work(Connection(number), bounds)

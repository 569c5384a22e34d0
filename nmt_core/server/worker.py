"""A worker process that reads and writes documents for the server.

A document may take minutes and much memory however small its file is. Here it delays nobody,
and the system limits its memory. The process runs our own code, so its results are trusted.
"""

import os
import re
import resource
import signal
import sys
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


class Outcome(NamedTuple):
    """The result of a task."""

    ending: Ending
    result: Any
    lasts: bool
    """Whether the process takes another task."""


def work(connection: Connection, most_bytes: int) -> None:
    """Do the tasks that come, each a function with arguments, until the connection closes."""
    lasts = True
    while lasts:
        try:
            do, arguments = connection.recv()
            ending, result = attempt(do, arguments)
            lasts = ending is not Ending.TOO_LARGE and find_peak() < KEPT_SHARE * most_bytes
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


def main() -> None:
    """Do tasks for the parent process.

    Arguments of the command: the number of an open connection, and bytes of memory.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the server, which ends this one
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICE)
    bound_memory(int(sys.argv[2]))
    work(Connection(int(sys.argv[1])), int(sys.argv[2]))

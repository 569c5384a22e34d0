"""A process that reads and writes documents, apart from the one that answers requests.

A document may take minutes and much memory however small its file is. Here it can delay nobody,
and the system bounds what it takes. The process is one of ours with our own code: what it sends is
trusted as what is computed here is.
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
"""How far others go before: a document takes long, a request for a sentence does not."""

KEPT_SHARE = 0.5
"""Of the memory it may take, beyond which a process ends after its task, as it gives none back."""


class Ending(Enum):
    """How a task ended."""

    DONE = auto()
    REFUSED = auto()
    """The document is wrong; what is told is a sentence for whoever sent it."""
    FAILED = auto()
    """We are wrong; what is told says where, and nothing of the document."""
    TOO_LARGE = auto()
    """Memory did not suffice."""


class Outcome(NamedTuple):
    """What came of a task."""

    ending: Ending
    told: Any
    lasts: bool
    """Whether the process takes another task."""


def work(connection: Connection, most_bytes: int) -> None:
    """Do the tasks that come, each a function and its arguments, until nobody is there any more."""
    lasts = True
    while lasts:
        try:
            do, arguments = connection.recv()
            ending, told = attempt(do, arguments)
            lasts = ending is not Ending.TOO_LARGE and find_peak() < KEPT_SHARE * most_bytes
            connection.send(Outcome(ending, told, lasts))
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
    """Return the most bytes of memory that this process has had; on Linux since it began.

    What ``getrusage`` says there is never less than what the process had that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        [kilobytes] = re.findall(r"VmHWM:\s*(\d+)", status.read_text())
        return 1024 * int(kilobytes)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def bound_memory(most_bytes: int) -> None:
    """Let the system refuse this process more memory (on Linux; others do not keep to it)."""
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))


def main() -> None:
    """Work for the process that has started this one.

    Arguments of the command: the number of an open connection, and bytes of memory.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the server, which ends this one
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICE)
    bound_memory(int(sys.argv[2]))
    work(Connection(int(sys.argv[1])), int(sys.argv[2]))

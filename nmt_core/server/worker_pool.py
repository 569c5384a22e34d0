"""Worker processes that read and write documents.

A document may take minutes and much memory however small its file is. In a worker it delays nobody,
and the system limits its memory and its processor time. Workers run our own code, so their results
are trusted.
"""

import asyncio
import logging
import math
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from nmt_core.base.errors import DocumentError
from nmt_core.server.errors import RequestError
from nmt_core.server.logs import describe_failure

_log = logging.getLogger(__name__)

PROGRAM = "from nmt_core.server.worker_pool import run_worker; run_worker()"

NICE = 5
"""Niceness of workers: requests for sentences go first."""

ResultT = TypeVar("ResultT")


class FairSlots:
    """Slots, at most one per user; create them in the running event loop.

    Args:
        count: number of slots.
    """

    def __init__(self, count: int) -> None:
        self._slots = asyncio.Semaphore(count)
        self._users: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def take(self, user: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it: first behind the user's other tasks, then in turn."""
        lock = self._users.setdefault(user, asyncio.Lock())
        async with lock, self._slots:
            yield


class WorkerLimits(NamedTuple):
    """Limits of a worker process."""

    memory: int
    """Bytes."""
    seconds: int
    """Processor time of a task."""


class _Worker:
    """A process that does tasks one by one."""

    def __init__(self, limits: WorkerLimits) -> None:
        ours, theirs = socket.socketpair()
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, *map(str, (theirs.fileno(), *limits))],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            )
        self._connection = Connection(ours.detach())

    def do(self, task: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Return the result of a task, or the exception that ended it.

        Raises:
            OSError: if the process has ended, or EOFError.
        """
        self._connection.send((task, arguments))
        return self._connection.recv()


class WorkerPool:
    """Runs tasks in workers, which are started when they are needed.

    Args:
        count: tasks that run at once.
        limits: of each worker.
    """

    def __init__(self, count: int, limits: WorkerLimits) -> None:
        self._count, self._limits = count, limits
        self._idle: list[_Worker] = []
        self._slots: FairSlots

    def start(self) -> None:
        """Accept tasks, in the running event loop."""
        self._slots = FairSlots(self._count)

    def stop(self) -> None:
        """End the idle workers."""
        while self._idle:
            process = self._idle.pop().process
            process.kill()
            process.wait()

    async def run(self, user: str, task: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Run a task, and end its worker if the caller is cancelled.

        Args:
            user: the user; tasks of one user run one after the other.
            task: a function of a module.
            arguments: of it.

        Raises:
            DocumentError: if the task does, or takes more memory or processor time than it may.
            RequestError: if it fails otherwise.
        """
        async with self._slots.take(user):
            result = await self._run(task, arguments)
        if isinstance(result, DocumentError):
            raise result
        if isinstance(result, Exception):
            _log.error("a document failed", extra={"failure": str(result)})
            raise RequestError(500, "the text could not be translated; the server's log says why")
        return result

    async def _run(self, task: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Return the result of a task or an exception; a worker that failed ends."""
        worker = self._idle.pop() if self._idle else None
        if worker is None or worker.process.poll() is not None:  # the system may have ended it
            worker = await asyncio.to_thread(_Worker, self._limits)
        result: Any = None
        is_done = False
        try:
            result = await asyncio.to_thread(worker.do, task, arguments)
            is_done = not isinstance(result, Exception)
        except (EOFError, OSError):
            result = DocumentError(
                f"this document takes more than the {self._limits.memory // 2**20} MiB of memory "
                f"or the {self._limits.seconds} seconds of processor time that one may; cut it in "
                f"parts"
            )
        finally:
            if is_done:
                self._idle.append(worker)
            else:  # a failure may leave much memory in pieces; it takes a while until it is free
                worker.process.kill()
                asyncio.get_running_loop().run_in_executor(None, worker.process.wait)
        return result


def run_worker() -> None:
    """Do tasks for the server, each a function with arguments, until it closes the connection.

    Arguments of the command: the number of an open connection, and the limits.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the server, which ends this process
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICE)
    descriptor, memory, seconds = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))  # Linux alone obeys
    server = Connection(descriptor)
    with suppress(EOFError, OSError):
        while True:
            task, arguments = server.recv()
            limit_processor_time(seconds)
            server.send(attempt(task, arguments))


def attempt(task: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Return the result of a task, or an exception without text of the document but a refusal.

    Raises:
        MemoryError: if the task does; it ends the worker.
    """
    try:
        return task(*arguments)
    except MemoryError:
        raise
    except DocumentError as error:
        return error
    except Exception as error:  # noqa: BLE001 - whatever it is, its message may hold text
        return RuntimeError(describe_failure(error))


def limit_processor_time(seconds: int) -> None:
    """Limit the processor time from now on; beyond it, the system ends this process (SIGXCPU)."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + seconds, hard))

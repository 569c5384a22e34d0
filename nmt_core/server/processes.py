"""Document tasks in worker processes, several at a time but one per user."""

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from nmt_core.base.errors import DocumentError
from nmt_core.server.errors import RequestError
from nmt_core.server.turns import Turns
from nmt_core.server.worker import Bounds, Ending, Outcome

_log = logging.getLogger(__name__)

PROGRAM = "from nmt_core.server.worker import main; main()"

ENDINGS: dict[int, Ending] = {
    signal.SIGXCPU: Ending.TOO_LONG,
    signal.SIGKILL: Ending.KILLED,  # by the system if the machine runs out of memory
}
"""Endings of a task by the signal that ended its process."""

ResultT = TypeVar("ResultT")


class _Process:
    """A process that does tasks one by one."""

    def __init__(self, bounds: Bounds) -> None:
        ours, theirs = socket.socketpair()
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, *map(str, (theirs.fileno(), *bounds))],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            )
        self._connection = Connection(ours.detach())

    def do(self, task: tuple[Callable[..., Any], tuple[Any, ...]]) -> Outcome:
        """Do a task; a process that dies of it by itself counts as out of memory."""
        try:
            self._connection.send(task)
            return self._connection.recv()
        except (EOFError, OSError):
            ending = ENDINGS.get(-self._process.wait(), Ending.TOO_LARGE)
            return Outcome(ending, None, lasts=False)

    @property
    def is_alive(self) -> bool:
        """Tell whether the process still takes tasks; the system may have ended it meanwhile."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()

    def wait(self) -> None:
        """Wait until the process has ended, which takes longer if it had much memory."""
        self._process.wait()


class Processes:
    """Does tasks in processes that are started when they are needed.

    Args:
        count: tasks that are done at once.
        bounds: limits of each process.
    """

    def __init__(self, count: int, bounds: Bounds) -> None:
        self._count = count
        self._bounds = bounds
        self._idle: list[_Process] = []
        self._turns: Turns
        self._threads: ThreadPoolExecutor

    def start(self) -> None:
        """Be ready for tasks, in the running event loop."""
        self._turns = Turns(self._count)
        self._threads = ThreadPoolExecutor(2 * self._count, thread_name_prefix="documents")

    def stop(self) -> None:
        """End the processes."""
        while self._idle:
            process = self._idle.pop()
            process.kill()
            process.wait()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, user: str, do: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Do a task, and end it where the caller is cancelled.

        Args:
            user: the user; tasks of one user run one after the other.
            do: the task, a function of a module.
            arguments: of it.

        Raises:
            DocumentError: if it does, or takes more memory or processor time than it may.
            RequestError: if it fails otherwise, or another program ended the process.
        """
        async with self._turns.take(user):
            outcome = await self._do((do, arguments))
        if outcome.ending is Ending.DONE:
            return outcome.result
        if outcome.ending is Ending.REFUSED:
            raise DocumentError(outcome.result)
        if outcome.ending is Ending.TOO_LARGE:
            raise DocumentError(
                f"this document takes more than the {self._bounds.memory // 2**20} MiB of memory "
                f"that one may; cut it in parts"
            )
        if outcome.ending is Ending.TOO_LONG:
            raise DocumentError(
                f"this document takes more than the {self._bounds.seconds} seconds of processor "
                f"time that one may; cut it in parts"
            )
        if outcome.ending is Ending.KILLED:
            _log.error("another program ended a document process, such as for lack of memory")
            raise RequestError(
                503, "the system ended this work; try again in 5 seconds", {"Retry-After": "5"}
            )
        _log.error("a document failed", extra={"failure": outcome.result})
        raise RequestError(500, "the text could not be translated; the log of the server says why")

    async def _do(self, task: tuple[Callable[..., Any], tuple[Any, ...]]) -> Outcome:
        loop = asyncio.get_running_loop()
        process = self._idle.pop() if self._idle else None
        if process is None or not process.is_alive:
            process = await loop.run_in_executor(self._threads, _Process, self._bounds)
        lasts = False
        try:
            outcome = await loop.run_in_executor(self._threads, process.do, task)
            lasts = outcome.lasts
            return outcome
        finally:
            if lasts:
                self._idle.append(process)
            else:
                process.kill()
                loop.run_in_executor(None, process.wait)

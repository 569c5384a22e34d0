"""Document tasks in worker processes, several at a time but one per user."""

import asyncio
import logging
import os
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
from nmt_core.server.worker import Ending, Outcome

_log = logging.getLogger(__name__)

PROGRAM = "from nmt_core.server.worker import main; main()"

ResultT = TypeVar("ResultT")


class _Process:
    """A process that does tasks one by one."""

    def __init__(self, most_bytes: int) -> None:
        ours, theirs = socket.socketpair()
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, str(theirs.fileno()), str(most_bytes)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            )
        self._connection = Connection(ours.detach())

    def do(self, task: tuple[Callable[..., Any], tuple[Any, ...]]) -> Outcome:
        """Do a task; a process that dies of it counts as out of memory."""
        try:
            self._connection.send(task)
            return self._connection.recv()
        except (EOFError, OSError):
            return Outcome(Ending.TOO_LARGE, None, lasts=False)

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
        most_bytes: of memory that each process may take.
    """

    def __init__(self, count: int, most_bytes: int) -> None:
        self._count = count
        self._most_bytes = most_bytes
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
            DocumentError: if it does, or takes more memory than it may.
            RequestError: if it fails otherwise.
        """
        async with self._turns.take(user):
            outcome = await self._do((do, arguments))
        if outcome.ending is Ending.DONE:
            return outcome.result
        if outcome.ending is Ending.REFUSED:
            raise DocumentError(outcome.result)
        if outcome.ending is Ending.TOO_LARGE:
            raise DocumentError(
                f"this document takes more than the {self._most_bytes // 2**20} MiB of memory "
                f"that one may; cut it in parts"
            )
        _log.error("a document failed", extra={"failure": outcome.result})
        raise RequestError(500, "the text could not be translated; the log of the server says why")

    async def _do(self, task: tuple[Callable[..., Any], tuple[Any, ...]]) -> Outcome:
        loop = asyncio.get_running_loop()
        process = self._idle.pop() if self._idle else None
        if process is None:
            process = await loop.run_in_executor(self._threads, _Process, self._most_bytes)
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

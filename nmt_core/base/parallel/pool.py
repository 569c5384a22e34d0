"""Jobs done by processes of this machine."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from types import ModuleType
from typing import TypeVar

from nmt_core.base.errors import WorkersError
from nmt_core.base.parallel.ahead import submit_ahead
from nmt_core.base.parallel.parent import end_with_parent

JOBS_PER_PROCESS = 4
"""Jobs per process that are submitted: no process waits for work, and few jobs lie about."""

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


def run_in_pool(
    work: Callable[[JobT], ResultT], jobs: Sequence[JobT], processes: int
) -> Iterator[ResultT]:
    """Yield the results of all jobs in order; leaving early waits for the jobs under way.

    Raises:
        WorkersError: if a process is killed.
    """
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin, (os.getpid(),))

    def submit(job: JobT) -> Callable[[], ResultT]:
        with bare_beginnings():
            return pool.submit(work, job).result

    try:
        yield from submit_ahead(submit, jobs, JOBS_PER_PROCESS * processes)
    except BrokenProcessPool:
        raise WorkersError(
            f"one of {processes} processes was killed, most often because memory ran out; lower "
            f"workers.processes or workers.chunk_lines and run again"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def bare_beginnings() -> Iterator[None]:
    """Start processes without importing the running program, and deaf to Ctrl-C.

    They would import the running program, and with it torch, which takes seconds; and each would
    report an interrupt that this process reports.
    """
    main = sys.modules["__main__"]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _begin(parent: int) -> None:
    end_with_parent(parent)
    sys.modules["torch"] = None  # type: ignore[assignment]  # or spaCy imports it, for nothing

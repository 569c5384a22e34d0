r"""Process long texts in parallel.

A function processes jobs, each of which consists of some lines of a file. Results are returned in
the order of the jobs, so they do not depend on the processes. Files are split only after ``\n``.
"""

import os
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import Field
from rich.console import Console

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from nmt_core.base.interrupt import end_with_parent, isolated_process_start
from nmt_core.base.progress import bytes_bar
from nmt_core.base.raw_lines import BLOCK_BYTES, read_bounded_lines

MIN_BYTES_PER_PROCESS = 4_000_000
"""Text that takes a process about twice as long as its start, in bytes."""

JOBS_PER_PROCESS = 4
"""Submitted jobs per process: enough that no process is idle, and few results are stored."""


class WorkersConfig(Config):
    """Workers of the data stages; changes neither alter results nor rerun stages."""

    processes: int = Field(0, ge=0, le=4096)
    """Processes on this machine; 0 chooses by the size of the text, at most one per core."""

    chunk_lines: int = Field(20_000, ge=1, le=100_000_000)
    """Lines of a job; an interrupt waits for its end."""


@dataclass(frozen=True)
class LineSpan:
    """Consecutive lines of a file."""

    path: Path
    """Absolute path, because another process may have another working directory."""
    begin: int
    """Offset of the first line, in bytes."""
    end: int
    """Offset of the end of the last line with its newline, in bytes."""
    first: int
    """Number of the first line in the file, from 1."""
    lines: int
    """Number of lines."""

    def __str__(self) -> str:
        return f"{self.path} lines {self.first} to {self.first + self.lines - 1}"

    @property
    def size(self) -> int:
        """Bytes to read."""
        return self.end - self.begin

    def read(self) -> Iterator[str]:
        r"""Yield the lines, decoded as UTF-8, without their ``\n``."""
        with self.open_bytes() as read:
            for line in read_bounded_lines(read, self.size):
                yield (line or b"").decode()

    @contextmanager
    def open_bytes(self) -> Iterator[Callable[[int], bytes]]:
        """Yield a function like ``read`` of a file: takes a maximum size, empty at the end."""
        remaining = self.size

        def read(max_bytes: int) -> bytes:
            nonlocal remaining
            block = file.read(min(max_bytes, remaining))
            if remaining and not block:
                raise EOFError(f"{self} are missing: the file was shortened; run again")
            remaining -= len(block)
            return block

        with self.path.open("rb") as file:
            file.seek(self.begin)
            yield read


def split_file(path: Path, lines: int) -> list[LineSpan]:
    r"""Return spans of ``lines`` lines; the last may have fewer, and no ``\n`` at its end."""
    path = path.absolute()
    spans: list[LineSpan] = []
    begin = counted = offset = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")) + 1
            for end in ends[lines - 1 - counted % lines :: lines].tolist():
                spans.append(LineSpan(path, begin, offset + end, len(spans) * lines + 1, lines))
                begin = offset + end
            counted += len(ends)
            offset += len(block)
            is_open = not block.endswith(b"\n")
    if begin < offset:
        remaining = counted - len(spans) * lines + is_open
        spans.append(LineSpan(path, begin, offset, len(spans) * lines + 1, remaining))
    return spans


def append_file(part: Path, to: Path) -> None:
    """Append the content of the file ``part`` to the file ``to``."""
    with part.open("rb") as source, to.open("ab") as target:
        shutil.copyfileobj(source, target, BLOCK_BYTES)


@dataclass(frozen=True)
class Job:
    """The unit of work of a process: the same lines of one or several files."""

    spans: tuple[LineSpan, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.spans))

    @property
    def size(self) -> int:
        """Bytes to read."""
        return sum(span.size for span in self.spans)


Loaded = TypeVar("Loaded")
SomeJob = TypeVar("SomeJob", bound=Job)
JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


@contextmanager
def run_in_order(
    function: Callable[[SomeJob, Path], ResultT],
    jobs: Sequence[SomeJob],
    workers: WorkersConfig,
    *,
    output: Path,
    title: str,
) -> Iterator[Iterator[tuple[Path, ResultT]]]:
    """Yield an iterator over the folder and the result of each job, in the order of ``jobs``.

    A folder is removed when the next one is requested. All work has ended at the end of the block.
    The function is at module level, or a partial one with objects that all jobs share. It depends
    only on its job, and writes large results into the empty folder it receives. These temporary
    folders are next to ``output``, the final result.

    Raises:
        NmtError: if a process is killed.
    """
    output = output.absolute()
    output.parent.mkdir(parents=True, exist_ok=True)
    scratch = tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}.", suffix=".scratch")
    try:
        work = partial(_attempt, function, Path(scratch))
        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
        useful = min(cores, sum(job.size for job in jobs) // MIN_BYTES_PER_PROCESS)
        processes = min(len(jobs), workers.processes or useful)
        if processes > 1:
            results = _run_in_processes(work, jobs, processes)
        else:
            results = (work(job) for job in jobs)
        with closing(results), closing(_report_progress(results, jobs, title)) as reported:
            yield reported
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def load_cached(load: Callable[[Path], Loaded], path: Path) -> Loaded:
    """Load a file or folder; return the cached result if its bytes have not changed."""
    contents = sorted(path.iterdir()) if path.is_dir() else [path]
    loaded: Loaded = _load_version(load, path, *map(files.sha256, contents))
    return loaded


@lru_cache(maxsize=2)  # one per language
def _load_version(load: Callable[[Path], Any], path: Path, *_digests: str) -> Any:
    return load(path)


def _attempt(
    function: Callable[[SomeJob, Path], ResultT], scratch: Path, job: SomeJob
) -> tuple[Path, ResultT]:
    folder = Path(tempfile.mkdtemp(dir=scratch))
    return folder, function(job, folder)


def _report_progress(
    results: Iterator[tuple[Path, ResultT]], jobs: Sequence[SomeJob], title: str
) -> Generator[tuple[Path, ResultT], None, None]:
    """Yield results with a progress bar; add the failing job to an error as a note."""
    with bytes_bar(Console(stderr=True)) as progress:
        task = progress.add_task(title, total=sum(job.size for job in jobs))
        for job in jobs:
            try:
                folder, result = next(results)
            except Exception as error:
                error.add_note(f"while {title} {job}")
                raise
            yield folder, result
            shutil.rmtree(folder)
            progress.advance(task, job.size)


def submit_ahead(
    submit: Callable[[JobT], Callable[[], ResultT]], jobs: Iterable[JobT], limit: int
) -> Iterator[ResultT]:
    """Yield the results of all jobs in order, with at most ``limit`` jobs submitted ahead.

    ``submit`` starts a job and returns a function that waits for its result.
    """
    pending: deque[Callable[[], ResultT]] = deque()
    for job in jobs:
        if len(pending) == limit:
            yield pending.popleft()()
        pending.append(submit(job))
    while pending:
        yield pending.popleft()()


def _run_in_processes(
    work: Callable[[SomeJob], tuple[Path, ResultT]], jobs: Sequence[SomeJob], processes: int
) -> Generator[tuple[Path, ResultT], None, None]:
    """Yield the results of all jobs in order; closing early waits for the running jobs."""
    shared = os.getpid(), work
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _init_process, shared)

    def submit(job: SomeJob) -> Callable[[], tuple[Path, ResultT]]:
        with isolated_process_start():
            return pool.submit(_run, job).result

    try:
        yield from submit_ahead(submit, jobs, JOBS_PER_PROCESS * processes)
    except BrokenProcessPool:
        raise NmtError(
            f"one of {processes} processes was killed, most often because memory ran out; lower "
            f"workers.processes or workers.chunk_lines and run again"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _init_process(parent: int, work: Callable[[Any], Any] = print) -> None:
    """Prepare a process; prevent the import of torch, which spaCy would import in vain."""
    end_with_parent(parent)
    sys.modules["torch"] = None  # type: ignore[assignment]
    _WORK.append(work)


_WORK: list[Callable[[Any], Any]] = []
"""The work of this process, which arrives only once, because it may hold large objects."""


def _run(job: Any) -> Any:
    return _WORK[0](job)

r"""Share work on long texts among processes of this machine, or of a Dask cluster.

Work is a function and many jobs, each some lines of a file. Results come back in the order of the
jobs, so they do not depend on the workers. A job may be done twice if a worker is lost: each
attempt has a folder of its own to write to. Files are cut after ``\n`` alone.
"""

import hashlib
import logging
import os
import platform
import re
import shutil
import socket
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import AfterValidator, Field
from rich.console import Console

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from nmt_core.base.interrupt import bare_beginnings, end_with_parent
from nmt_core.base.packages import require
from nmt_core.base.progress import bytes_bar

BLOCK_BYTES = 1 << 20

BYTES_WORTH_A_PROCESS = 4_000_000
"""Text on which a process spends about twice the time that it takes to start."""

JOBS_PER_PROCESS = 4
"""Jobs per process that are submitted: no process waits for work, and few results wait."""

CONNECT_SECONDS = 15
"""Seconds to wait for a scheduler to answer."""

WORKER_SECONDS = 60
"""Seconds to wait for the first worker."""

DECIDING = ("numpy", "sentencepiece", "spacy")
"""Packages whose version may decide the bytes of a result."""

_ALONE = Lock()

logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # a lost scheduler is an error


def _check_scheduler(address: str) -> str:
    if not re.fullmatch(r"(tcp|tls)://[^\s/@]+:\d+", address):  # may hold a password: not repeated
        raise ValueError("must be like tcp://10.0.0.5:8786 or tls://..., without a user name")
    return address


class WorkersConfig(Config):
    """Workers of the data stages; no result depends on them, and no stage runs again for them."""

    processes: int = Field(0, ge=0, le=4096)
    """Processes on this machine; 0 takes as many as the text is worth, up to one per core."""
    dask: Annotated[str, AfterValidator(_check_scheduler)] | None = None
    """Address of a Dask scheduler, such as tcp://10.0.0.5:8786, whose workers do the work instead;
    null stays on this machine. They run the same code and versions, and see the project's folder at
    the same path. Who reaches a scheduler can run anything there: keep it in a private network."""

    chunk_lines: int = Field(20_000, ge=1, le=100_000_000)
    """Lines that a process takes at a time: what is done again where a worker is lost, and what an
    interrupt waits for."""


@dataclass(frozen=True)
class LineSpan:
    """Successive lines of a file."""

    path: Path
    """Absolute, since another process may stand elsewhere."""
    begin: int
    """Bytes before its first line."""
    end: int
    """Bytes up to the end of its last line, the line end included."""
    first: int
    """Number of its first line in the file, counted from 1."""
    lines: int

    def __str__(self) -> str:
        return f"{self.path} lines {self.first} to {self.first + self.lines - 1}"

    @property
    def size(self) -> int:
        """Bytes to read."""
        return self.end - self.begin

    def read(self) -> Iterator[str]:
        r"""Yield the lines, which are UTF-8, without their ``\n``."""
        with self.opened() as readline:
            while line := readline(self.size):
                yield line.decode().removesuffix("\n")

    @contextmanager
    def opened(self) -> Iterator[Callable[[int], bytes]]:
        """Yield a function that reads the next line, or a number of its bytes; empty at the end."""
        left = self.size

        def readline(at_most: int) -> bytes:
            nonlocal left
            line = file.readline(min(at_most, left))
            if left and not line:
                raise EOFError(f"{self} are no longer there; was the file written to?")
            left -= len(line)
            return line

        with self.path.open("rb") as file:
            file.seek(self.begin)
            yield readline


def cut(path: Path, lines: int) -> list[LineSpan]:
    r"""Cut a file into spans of a number of lines; the last may have fewer, and lack its ``\n``."""
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
        rest = counted - len(spans) * lines + is_open
        spans.append(LineSpan(path, begin, offset, len(spans) * lines + 1, rest))
    return spans


def append(part: Path, to: Path) -> None:
    """Append the content of ``part`` to a file."""
    with part.open("rb") as source, to.open("ab") as target:
        shutil.copyfileobj(source, target, BLOCK_BYTES)


@dataclass(frozen=True)
class Job:
    """Work of a process at a time: the same lines of one file or of several."""

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
    beside: Path,
    title: str,
) -> Iterator[Iterator[tuple[Path, ResultT]]]:
    """Yield the folder and the result of each job, in the order of ``jobs``.

    A folder is removed when the next one is requested. All work has ended at the end of the block.
    The function does one job and writes large results into its own empty folder, which lies
    ``beside`` the final file or folder. It is part of a module of the library, and depends on
    nothing but the job.

    Raises:
        NmtError: if a process is killed, or the cluster cannot be used.
    """
    beside = beside.absolute()
    beside.parent.mkdir(parents=True, exist_ok=True)
    scratch = tempfile.mkdtemp(dir=beside.parent, prefix=f".{beside.name}.", suffix=".scratch")
    try:
        work = partial(_attempt, function, Path(scratch))
        processes = count_processes(jobs, workers)
        if workers.dask is not None and len(jobs) > 1:
            results = run_on_cluster(work, jobs, workers.dask)
        elif processes > 1:
            results = _run_in_processes(work, jobs, processes)
        else:
            results = (work(job) for job in jobs)
        with closing(results), closing(_shown(results, jobs, title)) as shown:
            yield shown
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def load_cached(load: Callable[[Path], Loaded], path: Path) -> Loaded:
    """Load a file or folder, and keep the result for the next job while its bytes are the same.

    A process of a cluster outlives many runs, which write to the same paths.
    """
    parts = sorted(path.iterdir()) if path.is_dir() else [path]
    loaded: Loaded = _loaded(load, path, *map(files.sha256, parts))
    return loaded


@lru_cache(maxsize=2)  # one per language
def _loaded(load: Callable[[Path], Any], path: Path, *_: str) -> Any:
    return load(path)


def _attempt(
    function: Callable[[SomeJob, Path], ResultT], scratch: Path, job: SomeJob
) -> tuple[Path, ResultT]:
    folder = Path(tempfile.mkdtemp(dir=scratch))
    return folder, function(job, folder)


def _shown(
    results: Iterator[tuple[Path, ResultT]], jobs: Sequence[SomeJob], title: str
) -> Generator[tuple[Path, ResultT], None, None]:
    """Pass results on with a progress bar, and name the place where one fails."""
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


def count_processes(jobs: Sequence[Job], workers: WorkersConfig) -> int:
    """Return the number of processes on this machine that share jobs; 0 or 1 for this one."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    worth = min(cores, sum(job.size for job in jobs) // BYTES_WORTH_A_PROCESS)
    return min(len(jobs), workers.processes or worth)


def submit_ahead(
    submit: Callable[[JobT], Callable[[], ResultT]], jobs: Iterable[JobT], at_most: int
) -> Iterator[ResultT]:
    """Yield the results of all jobs in order, with ``at_most`` submitted and not yet yielded.

    ``submit`` begins a job, and returns a function that waits for its result.
    """
    waiting: deque[Callable[[], ResultT]] = deque()
    for job in jobs:
        if len(waiting) == at_most:
            yield waiting.popleft()()
        waiting.append(submit(job))
    while waiting:
        yield waiting.popleft()()


def _run_in_processes(
    work: Callable[[SomeJob], tuple[Path, ResultT]], jobs: Sequence[SomeJob], processes: int
) -> Generator[tuple[Path, ResultT], None, None]:
    """Yield the results of all jobs in order; leaving early waits for the jobs under way."""
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin, (os.getpid(),))

    def submit(job: SomeJob) -> Callable[[], tuple[Path, ResultT]]:
        with bare_beginnings():
            return pool.submit(work, job).result

    try:
        yield from submit_ahead(submit, jobs, JOBS_PER_PROCESS * processes)
    except BrokenProcessPool:
        raise NmtError(
            f"one of {processes} processes was killed, most often because memory ran out; lower "
            f"workers.processes or workers.chunk_lines and run again"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(parent: int) -> None:
    """Prepare a process, which does not import torch: spaCy would, for nothing."""
    end_with_parent(parent)
    sys.modules["torch"] = None  # type: ignore[assignment]


def run_on_cluster(
    work: Callable[[JobT], ResultT], jobs: Sequence[JobT], address: str
) -> Generator[ResultT, None, None]:
    """Yield the results of all jobs in order; the job of a lost worker goes to another.

    Raises:
        NmtError: if the cluster does not work, or its workers run other code.
    """
    dask = require("distributed", "no job can run on workers.dask", NmtError)
    there = partial(_at_worker, identify_code(), work)
    try:
        with dask.Client(address, timeout=CONNECT_SECONDS, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
            for future in client.map(there, jobs, pure=False):  # the same job may come twice
                yield future.result()
    except (dask.KilledWorker, OSError, TimeoutError, CancelledError) as error:
        raise NmtError(
            f"the Dask cluster at {address} does not work ({error or type(error).__name__}); see "
            f"the logs of its scheduler and workers, which must see {Path.cwd()} at this "
            f"path, or set workers.dask to null"
        ) from None


@cache
def identify_code() -> str:
    """Identify the code and the versions that decide the bytes of results.

    It is computed once: a process keeps its code when files change.
    """
    library, code = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(library.rglob("*.py")):
        code.update(f"{path.relative_to(library)}\0".encode() + path.read_bytes() + b"\0")
    packages = [f"{name} {version(name)}" for name in DECIDING]
    own = f"code {code.hexdigest()[:8]}, Python {platform.python_version()}"
    return ", ".join([own, *packages])


def _at_worker(expected: str, work: Callable[[JobT], ResultT], job: JobT) -> ResultT:
    """Do one job at a time, even if the worker has threads: a tokenizer serves one at a time."""
    if identify_code() != expected:
        raise NmtError(
            f"the Dask worker on {socket.gethostname()} runs other code than this program "
            f"({identify_code()}; here {expected}); make them the same and start the worker again"
        )
    with _ALONE:
        return work(job)

"""Share work on long texts among processes of this machine, or of a Dask cluster.

Work is a function and many jobs, each some lines of a file. Results come back in the order of the
jobs, so they do not depend on the workers. A job may be done twice if a worker is lost: each
attempt has a folder of its own to write to.
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field
from rich.console import Console

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import WorkersError
from nmt_core.base.parallel.ahead import submit_ahead
from nmt_core.base.parallel.parent import bare_beginnings, end_with_parent
from nmt_core.base.parallel.spans import LineSpan
from nmt_core.base.progress import bytes_bar

BYTES_WORTH_A_PROCESS = 4_000_000
"""Text on which a process spends about twice the time that it takes to start."""

JOBS_PER_PROCESS = 4
"""Jobs per process that are submitted: no process waits for work, and few results wait."""


def _scheduler(address: str) -> str:
    bare = re.sub("(?<![^/])[^/]*@", "", address)
    if bare != address:
        raise ValueError(
            f"must hold no user name or password, since settings are committed and pushed, and a "
            f"scheduler asks for none; write {bare}"
        )
    if not re.fullmatch(r"(tcp|tls)://[^\s/]+:\d+", address):
        raise ValueError(f"must be like tcp://10.0.0.5:8786 or tls://..., got {address!r}")
    return address


SchedulerAddress = Annotated[str, AfterValidator(_scheduler)]
"""Where a Dask scheduler listens."""


class WorkersConfig(Config):
    """Workers of the data stages; no result depends on them, and no stage runs again for them."""

    processes: int = Field(0, ge=0, le=4096)
    """Processes on this machine; 0 takes as many as the text is worth, up to one per core."""

    dask: SchedulerAddress | None = None
    """Address of a Dask scheduler, such as tcp://10.0.0.5:8786, whose workers do the work instead;
    null stays on this machine. They run the same code and versions, and see the project's folder at
    the same path. Who reaches a scheduler can run anything there: keep it in a private network."""

    chunk_lines: int = Field(20_000, ge=1, le=100_000_000)
    """Lines that a process takes at a time: what is done again where a worker is lost, and what an
    interrupt waits for."""


Loaded = TypeVar("Loaded")


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


SomeJob = TypeVar("SomeJob", bound=Job)
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

    Args:
        function: does one job and writes large results into its own empty folder. It is part of a
            module of the library, and depends on nothing but the job.
        jobs: the jobs.
        workers: processes or a cluster.
        beside: the final file or folder; the jobs' folders lie beside it for a while.
        title: the title of the progress bar.

    Raises:
        WorkersError: if a process is killed, or the cluster cannot be used.
    """
    beside = beside.absolute()
    beside.parent.mkdir(parents=True, exist_ok=True)
    scratch = tempfile.mkdtemp(dir=beside.parent, prefix=f".{beside.name}.", suffix=".scratch")
    try:
        work = partial(_attempt, function, Path(scratch))
        with (
            closing(_results(work, jobs, workers)) as results,
            closing(_shown(results, jobs, title)) as shown,
        ):
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


def _results(
    work: Callable[[SomeJob], tuple[Path, ResultT]], jobs: Sequence[SomeJob], workers: WorkersConfig
) -> Generator[tuple[Path, ResultT], None, None]:
    processes = count_processes(jobs, workers)
    if workers.dask is not None and len(jobs) > 1:
        from nmt_core.base.parallel.cluster import run_on_cluster  # seldom needed

        yield from run_on_cluster(work, jobs, workers.dask)
    elif processes > 1:
        yield from _run_in_processes(work, jobs, processes)
    else:
        yield from map(work, jobs)


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
        raise WorkersError(
            f"one of {processes} processes was killed, most often because memory ran out; lower "
            f"workers.processes or workers.chunk_lines and run again"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(parent: int) -> None:
    """Prepare a process, which does not import torch: spaCy would, for nothing."""
    end_with_parent(parent)
    sys.modules["torch"] = None  # type: ignore[assignment]


def count_processes(jobs: Sequence[Job], workers: WorkersConfig) -> int:
    """Return the number of processes on this machine that share jobs; 0 or 1 for this one."""
    return min(len(jobs), workers.processes or _worth(sum(job.size for job in jobs)))


def _worth(size: int) -> int:
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(cores, size // BYTES_WORTH_A_PROCESS)


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

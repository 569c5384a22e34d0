"""Jobs done by the workers of a Dask cluster."""

import hashlib
import logging
import platform
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import TypeVar

from nmt_core.base.errors import WorkersError
from nmt_core.base.packages import require

CONNECT_SECONDS = 15
"""Seconds to wait for a scheduler to answer."""

WORKER_SECONDS = 60
"""Seconds to wait for the first worker."""

DECIDING = ("numpy", "sentencepiece", "spacy")
"""Packages whose version may decide the bytes of a result."""

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")

_ALONE = Lock()

logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # a lost scheduler is an error


def run_on_cluster(
    work: Callable[[JobT], ResultT], jobs: Sequence[JobT], address: str
) -> Iterator[ResultT]:
    """Yield the results of all jobs in order; the job of a lost worker goes to another.

    Raises:
        WorkersError: if the scheduler or all workers are lost, workers die of a job again and
            again, run other code, or do not see the project's folder.
    """
    dask = require("distributed", "no job can run on workers.dask", WorkersError)
    there = partial(_at_worker, identify_code(), work)
    try:
        with dask.Client(address, timeout=CONNECT_SECONDS, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
            for future in client.map(there, jobs, pure=False):  # the same job may come twice
                yield future.result()
    except dask.KilledWorker as error:
        raise WorkersError(
            f"{error.allowed_failures + 1} Dask workers died while working on a job, the last at "
            f"{error.last_worker.address}; see its log, and give workers more memory or lower "
            f"workers.chunk_lines"
        ) from None
    except (OSError, TimeoutError, CancelledError) as error:
        raise WorkersError(
            f"the Dask cluster at {address} does not work ({error or type(error).__name__}); start "
            f"its scheduler and workers, or set workers.dask to null"
        ) from None
    except RuntimeError as error:
        if not isinstance(error.__cause__, ImportError):
            raise
        raise WorkersError(
            f"{address} cannot run this program ({error.__cause__}); install the project where "
            f"the scheduler and the workers run"
        ) from None


@cache
def identify_code() -> str:
    """Identify the code, the versions and the processor that decide the bytes of results.

    It is computed once: a process keeps its code when files change.
    """
    library = Path(__file__).parents[2]
    code = hashlib.sha256()
    for path in sorted(library.rglob("*.py")):
        code.update(f"{path.relative_to(library)}\0".encode() + path.read_bytes() + b"\0")
    packages = [f"{name} {version(name)}" for name in DECIDING]
    return ", ".join(
        [f"code {code.hexdigest()[:8]}", f"Python {platform.python_version()}", *packages]
    )


def _at_worker(expected: str, work: Callable[[JobT], ResultT], job: JobT) -> ResultT:
    """Do one job at a time, even if the worker has threads: a tokenizer serves one at a time."""
    host = socket.gethostname()
    if identify_code() != expected:
        raise WorkersError(
            f"the Dask worker on {host} runs other code than this program ({identify_code()}; here "
            f"{expected}); make them the same and start the worker again"
        )
    try:
        with _ALONE:
            return work(job)
    except OSError as error:
        raise WorkersError(
            f"the Dask worker on {host} cannot work on {job} ({error}); the project's folder must "
            f"be at the same path there, on a file system that all hosts share"
        ) from None

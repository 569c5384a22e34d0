"""A stage as several processes of this machine, which share one training."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.distributed import is_torchelastic_launched

from nmt_core.base.errors import NmtError
from nmt_core.training.distributed import RENDEZVOUS
from nmt_core.training.settings import WorldConfig

LOOPBACK = "lo" if sys.platform == "linux" else "lo0"

PARENT = "NMT_PARENT"
"""In the environment of processes started here: the process that started them."""

STOPPED = {128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGHUP, -signal.SIGTERM}
"""Exit codes of processes that were asked to stop, by a user or since another one failed."""

Processes = list[subprocess.Popen[bytes]]


def is_rank() -> bool:
    """Tell whether this process was started by ``launch``, or by torchrun."""
    return is_torchelastic_launched()


def launch(module: str, config: WorldConfig) -> None:
    """Run ``python -m module`` as several processes, and return when all of them have ended well.

    They find each other by a file, so that no port is open to the network. When one fails, or this
    process is asked to stop, all of them are asked to end. Each prints its own errors.

    Raises:
        NmtError: naming a process that was killed.
    """
    count, ranks = config.processes, Processes()
    with tempfile.TemporaryDirectory(prefix="nmt-") as folder:
        environment = {
            "OMP_NUM_THREADS": str(max(1, torch.get_num_threads() // count)),
            "GLOO_SOCKET_IFNAME": LOOPBACK,
            "NCCL_SOCKET_IFNAME": LOOPBACK,
            **os.environ,
            "TORCHELASTIC_RUN_ID": "nmt",
            "WORLD_SIZE": str(count),
            "LOCAL_WORLD_SIZE": str(count),
            RENDEZVOUS: f"file://{folder}/processes",
            PARENT: str(os.getpid()),
        }
        try:
            for rank in range(count):
                own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
                command = [sys.executable, "-u", "-m", module]
                ranks.append(subprocess.Popen(command, env=environment | own))
            while None in (codes := [process.poll() for process in ranks]) and not any(codes):
                time.sleep(0.1)
        finally:
            end_processes(ranks, config.timeout_seconds)
    if any(ends := [process.wait() for process in ranks]):
        fail(ends)


def end_processes(ranks: Processes, seconds: float) -> None:
    """Ask all processes to end, and kill those that have not ended after a number of seconds."""
    for process in ranks:
        process.terminate()
    deadline = time.monotonic() + seconds
    for process in ranks:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def fail(codes: list[int]) -> None:
    """End as a training does whose processes have ended with these exit codes, by rank.

    Raises:
        NmtError: naming the first that has ended without an error of its own.
        SystemExit: if all of them were stopped, or have printed an error.
    """
    for rank, code in enumerate(codes):
        if code not in {0, 1, *STOPPED}:
            end = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
            raise NmtError(
                f"rank {rank} {end}; the same command continues from the last checkpoint"
            )
    sys.exit(1 if 1 in codes else 128 + signal.SIGTERM)


@contextmanager
def end_as_asked() -> Iterator[None]:
    """End once, as one of several processes, and not at all if the parent is gone already."""
    if is_rank() and os.environ.get(PARENT, str(os.getppid())) != str(os.getppid()):
        sys.exit(128 + signal.SIGTERM)
    try:
        yield
    finally:  # all are asked to end when one has failed, also those that are about to
        if is_rank():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

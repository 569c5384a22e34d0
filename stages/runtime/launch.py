"""Run a stage as several processes of this machine that train together."""

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
"""Environment variable of the processes started here: the id of their parent."""

STOPPED = {128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGHUP, -signal.SIGTERM}
"""Exit codes of processes that were stopped by a user, or because another one failed."""

Processes = list[subprocess.Popen[bytes]]


def is_rank() -> bool:
    """Return whether ``launch`` or torchrun started this process."""
    return is_torchelastic_launched()


def launch(module: str, config: WorldConfig) -> None:
    """Run ``python -m module`` as several processes, and return when all have succeeded.

    They find each other by a file, so that no port is open to the network. If a process fails, or
    this process is stopped, all processes are stopped. Each prints its own errors.

    Raises:
        NmtError: naming a process that was killed.
        SystemExit: if a process failed with an error of its own, or all were stopped.
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
    """Send SIGTERM to all processes, and kill processes that still run after some seconds."""
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
    """Raise the error of a training, by the exit codes of its processes in order of rank.

    Raises:
        NmtError: naming the first process that was killed or ended with an unknown code.
        SystemExit: if all other processes were stopped or have printed an error.
    """
    for rank, code in enumerate(codes):
        if code not in {0, 1, *STOPPED}:
            end = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            raise NmtError(
                f"rank {rank}: {end}; the same command continues from the last checkpoint"
            )
    sys.exit(1 if 1 in codes else 128 + signal.SIGTERM)


@contextmanager
def ignore_late_stop() -> Iterator[None]:
    """Ignore SIGTERM after the block, in one of several processes; exit if its parent has ended."""
    if is_rank() and os.environ.get(PARENT, str(os.getppid())) != str(os.getppid()):
        sys.exit(128 + signal.SIGTERM)
    try:
        yield
    finally:  # if a process fails, all others are stopped, even those that are about to end
        if is_rank():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

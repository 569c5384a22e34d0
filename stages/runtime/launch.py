"""A stage as several processes of this machine, started by torchrun's own agent.

The agent runs in this process, not as a program, so its errors are kept, and no other process is
between a stage and its parent.
"""

import logging
import math
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch.distributed import is_torchelastic_launched
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ProcessFailure,
    get_error_handler,
)
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from nmt_core.base.errors import NmtError
from nmt_core.training.distributed import RENDEZVOUS, PeerError
from nmt_core.training.settings import WorldConfig

LOOPBACK = "lo" if sys.platform == "linux" else "lo0"

PARENT = "NMT_PARENT"
"""In the environment of processes started here: the process that started them."""

STOPPED = {128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGHUP, -signal.SIGTERM}
"""Exit codes of processes that were asked to stop, by a user or since another one failed."""

AGAIN = "the same command continues from the last checkpoint"


def is_rank() -> bool:
    """Tell whether torchrun has started this process, here or by hand."""
    return is_torchelastic_launched()


def launch(module: str, config: WorldConfig) -> None:
    """Run ``python -m module`` as several processes, and return when all of them have ended well.

    Signals go to all of them, and they end with this process.

    Raises:
        NmtError: if one has failed, naming it and the reason.
    """
    threads = torch.get_num_threads() // config.processes
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, threads)))
    for library in ("GLOO", "NCCL"):
        os.environ.setdefault(f"{library}_SOCKET_IFNAME", LOOPBACK)
    # or the agent opens a port to the whole network, and unpickles what it hears
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    os.environ[PARENT] = str(os.getpid())
    logging.disable()  # what the agent would say is said below, once
    with tempfile.TemporaryDirectory(prefix="nmt-") as folder:
        os.environ[RENDEZVOUS] = f"file://{folder}/processes"
        launch = elastic_launch(
            LaunchConfig(
                min_nodes=1,
                max_nodes=1,
                nproc_per_node=config.processes,
                run_id="nmt",
                rdzv_backend="c10d",
                rdzv_endpoint=f"{folder}/agents",
                rdzv_configs={"store_type": "file"},
                local_addr="127.0.0.1",
                max_restarts=0,
                shutdown_timeout=math.ceil(config.timeout_seconds),
                logs_specs=DefaultLogsSpecs(folder),
            ),
            sys.executable,
        )
        try:
            launch("-u", "-m", module)
        except SignalException as stopped:
            sys.exit(128 + stopped.sigval)
        except ChildFailedError as error:
            codes = {failure.exitcode for failure in error.failures.values()}
            if codes <= STOPPED:
                sys.exit(128 + signal.SIGTERM)
            raise NmtError(find_cause(error.failures)) from None


def find_cause(failures: Mapping[int, ProcessFailure]) -> str:
    """Return the first failure of all processes, by rank."""
    left = {rank: _left_behind(failure) for rank, failure in failures.items()}
    lost = [words for kind, words in left.values() if kind == PeerError.__name__]
    errors = [words for _, words in left.values() if words and words not in lost]
    if errors:
        return errors[0]
    silent = [
        _end(rank, failures[rank])
        for rank in sorted(failures, key=lambda rank: failures[rank].timestamp)
        if failures[rank].exitcode not in STOPPED and not left[rank][1]
    ]
    return "; ".join([*silent[:1], *lost[:1], AGAIN])


def _end(rank: int, failure: ProcessFailure) -> str:
    if failure.exitcode < 0:
        return f"rank {rank} was ended by {failure.signal_name()}"
    return f"rank {rank} ended with exit code {failure.exitcode}"


def _left_behind(failure: ProcessFailure) -> tuple[str, str]:
    """Return the kind and the message of the error that ended a process; empty without one."""
    message = failure.error_file_data["message"]
    if isinstance(message, str):
        return "", ""
    kind, _, words = message["message"].partition(": ")
    return kind, words


@contextmanager
def record_errors() -> Iterator[None]:
    """Write an error of ours to a file for the parent process, which reports it once."""
    if not is_rank():
        yield
        return
    if os.environ.get(PARENT, str(os.getppid())) != str(os.getppid()):
        sys.exit(128 + signal.SIGTERM)
    try:
        yield
    except NmtError as error:
        get_error_handler().record_exception(error)
        sys.exit(1)
    finally:  # torchrun asks all to end when one has failed, also those that are about to
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

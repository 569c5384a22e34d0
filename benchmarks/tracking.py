"""What tracking costs a training, with a server that answers, none, and one that hangs.

Usage: python -m benchmarks.tracking [--rounds N] [--steps N]

A small Transformer takes small batches on one thread and tells the tracker of every update, which
is fifty times as often as trainings do by default. Each round trains with every server and without
a tracker, in turns, so that a noisy machine is noisy to all.

What it costs is the time to tell the tracker, and at most all the time of the thread that follows,
if the two never run at once; both in processor time, of which other programs take nothing.
"""

import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator

import httpx
import psutil
import torch
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.training.loops import make_batches
from benchmarks.training.loops import train as make_updates
from benchmarks.training.work import VOCABULARY
from nmt_core.base.compute import prepare_compute
from nmt_core.base.tracking import NullTracker, Tracker
from nmt_core.data.batch import Batch
from nmt_core.models.architectures import build_model
from nmt_core.models.settings import TransformerConfig
from nmt_core.training.loss import batch_loss
from stages.tracking.tracker import open_tracker

MODEL = TransformerConfig(width=128, heads=4, feed_forward_width=512)
DEAD = "http://127.0.0.1:9"
HEAR_SECONDS = 3.0
"""For the thread that follows to load MLflow and to find its server, before steps are counted."""


@contextlib.contextmanager
def answering() -> Iterator[str]:
    """Run MLflow's server and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--workers", "1"]
    command += ["--port", str(port), "--backend-store-uri", "sqlite:///served.db"]
    quiet = subprocess.DEVNULL
    environment = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    server = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)
    address = f"http://127.0.0.1:{port}"
    try:
        while not healthy(address):
            time.sleep(0.5)
        yield address
    finally:
        for process in [*psutil.Process(server.pid).children(recursive=True), server]:
            process.kill()


def healthy(address: str) -> bool:
    """Whether the server answers."""
    try:
        return httpx.get(f"{address}/health").is_success
    except httpx.TransportError:
        return False


@contextlib.contextmanager
def hanging() -> Iterator[str]:
    """Yield an address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def updates() -> Iterator[int]:
    """Make updates, one whenever the next is asked for."""
    compute = prepare_compute("cpu", threads=1)
    model = build_model(MODEL, source_size=VOCABULARY, target_size=VOCABULARY)

    def loss_of(batch: Batch) -> torch.Tensor:
        loss, *_ = batch_loss(model, batch, label_smoothing=0.1, per="token")
        return loss

    return make_updates(model, loss_of, make_batches(512), compute)


def train(tracker: Tracker, update: Iterator[int], steps: int) -> tuple[float, ...]:
    """Return milliseconds: a step by the clock, its processor time, telling, and the thread's."""
    time.sleep(HEAR_SECONDS)
    took, telling, busy = [], 0.0, others_seconds()
    processor = time.thread_time()
    for step in range(steps):
        began = time.perf_counter()
        next(update)
        updated = time.thread_time()
        tracker.metrics({"train/loss": 1 / (step + 1), "train/learning_rate": 0.1}, step=step)
        telling += time.thread_time() - updated
        took.append(time.perf_counter() - began)
    used = time.thread_time() - processor
    shares = (used, telling, others_seconds() - busy)
    return tuple(1e3 * s for s in (statistics.median(took), *(share / steps for share in shares)))


def others_seconds() -> float:
    """Return how long the thread that follows has kept a processor busy."""
    names = {thread.native_id for thread in threading.enumerate() if thread.name == "mlflow"}
    used = (thread for thread in psutil.Process().threads() if thread.id in names)
    return sum(thread.user_time + thread.system_time for thread in used)


def main(rounds: int = 5, steps: int = 100) -> None:
    """Measure all in turns and print medians over the rounds."""
    update = updates()
    found: dict[str, list[tuple[float, ...]]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        answering() as up,
        hanging() as silent,
    ):
        servers = {"no tracker": "", "answering": up, "dead": DEAD, "hanging": silent}
        for number in range(rounds + 1):
            for name, address in servers.items():
                os.environ["MLFLOW_TRACKING_URI"] = address
                opened = open_tracker(f"{name}-{number}", experiment="benchmark")
                with opened if address else contextlib.nullcontext(NullTracker()) as tracker:
                    measured = train(tracker, update, steps)
                if number:  # the first warms up
                    found.setdefault(name, []).append(measured)
    table = Table(title=f"milliseconds a step, {rounds} rounds of {steps} steps")
    for column in ("server", "by the clock", "processor", "telling", "the thread", "together"):
        table.add_column(column, justify="left" if column == "server" else "right")
    for name, values in found.items():
        clock, processor, telling, thread = map(statistics.median, zip(*values, strict=True))
        share = (telling + thread) / (processor - telling)
        cells = (f"{value:.3f}" for value in (clock, processor, telling, thread))
        table.add_row(name, *cells, f"{share:.2%}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)

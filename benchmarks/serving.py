"""Throughput and latency of `nmt serve`, and its share of the engine's own speed.

Usage: python -m benchmarks.serving MODEL TEXT [--seconds 120] [--clients 1 --clients 8 ...]
                                    [--threads 2]

TEXT has one sentence per line. Each client sends one sentence per request over one connection, and
waits for the answer before the next. All clients are in one process, which only reads and writes
bytes, but shares the cores. The engine's own speed is measured first, on the same sentences: in
batches sorted by length, and one by one. CPU time is shown, too, for busy machines.
"""

import asyncio
import itertools
import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, NamedTuple
from urllib.request import urlopen

import psutil
import typer

from benchmarks import show
from nmt_core.base import files
from nmt_core.translation.translator import Translator

WARM_UP_SECONDS = 3.0
"""Seconds at the start of a measurement that do not count."""

CLIENTS = [1, 8, 64, 200]
"""Numbers of concurrent clients, measured one after another."""

COLUMNS = (
    *("clients", "per s", "share", "CPU ms", "share"),
    *("p50 ms", "p95", "p99", "batch", "MB"),
)


@dataclass
class Load:
    """Answers and failures of all clients."""

    seconds: list[float] = field(default_factory=list)
    """Latency of each request after the warm-up."""
    failed: list[str] = field(default_factory=list)
    requests: int = 0
    """Number of answered requests, including the warm-up."""

    def find_percentile(self, percent: int) -> float:
        """Return a percentile of the latency in milliseconds."""
        return 1000 * statistics.quantiles(self.seconds, n=100)[percent - 1]


async def send_all(port: int, sentences: Iterator[str], end: float, load: Load, pair: str) -> None:
    """Send requests over one connection until ``end``; add the results to ``load``."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    source, target = pair.split("-")
    client_start = time.monotonic()
    while time.monotonic() < end:
        body = json.dumps({"q": next(sentences), "source": source, "target": target}).encode()
        head = (
            f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        start = time.monotonic()
        writer.write(head.encode() + body)
        response_head = await reader.readuntil(b"\r\n\r\n")
        length = int(response_head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        content = await reader.readexactly(length)
        if not response_head.startswith(b"HTTP/1.1 200"):
            load.failed.append(content.decode()[:200])
            continue
        load.requests += 1
        if start - client_start > WARM_UP_SECONDS:
            load.seconds.append(time.monotonic() - start)
    writer.close()


def run_clients(port: int, clients: int, seconds: float, lines: list[str], pair: str) -> Load:
    """Return the results of concurrent clients after a number of seconds."""

    async def run() -> Load:
        load, sentences = Load(), itertools.cycle(lines)
        end = time.monotonic() + seconds + WARM_UP_SECONDS
        tasks = [send_all(port, sentences, end, load, pair) for _ in range(clients)]
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, BaseException):
                load.failed.append(repr(result))
        return load

    return asyncio.run(run())


class Engine(NamedTuple):
    """The speed of the engine without a server."""

    speed: float
    """Sentences per second, in batches."""
    cpu_milliseconds: float
    """CPU time per sentence, in batches."""
    latencies: list[float]
    """Seconds of single sentences, sorted."""


def measure_engine(model: Path, lines: list[str], threads: int) -> Engine:
    """Return the speed of an engine on lines, without a server."""
    translator = Translator.load(model, threads=threads)
    translator.translate_sentences(lines[:50])
    start, cpu_start = time.monotonic(), time.process_time()
    translator.translate_sentences(lines)
    speed = len(lines) / (time.monotonic() - start)
    cpu_milliseconds = 1000 * (time.process_time() - cpu_start) / len(lines)
    latencies = []
    for line in lines[:200]:
        start = time.monotonic()
        translator.translate_sentences([line])
        latencies.append(time.monotonic() - start)
    return Engine(speed, cpu_milliseconds, sorted(latencies))


@contextmanager
def serving(model: Path, threads: int) -> Iterator[tuple[int, psutil.Process, str]]:
    """Run the server; yield its port, its process and its language pair, such as de-en."""
    command = [sys.executable, "-m", "nmt_core.cli", "serve", "--model", str(model)]
    with subprocess.Popen(
        [*command, "--port", "0", "--threads", str(threads)], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        started = json.loads(next(line for line in process.stderr if '"address"' in line))
        drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
        try:
            port = int(started["address"].rpartition(":")[2])
            yield port, psutil.Process(process.pid), started["models"].split(",")[0]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            drain.wait(60)


def read_batch_size(port: int) -> float:
    """Return the mean number of sentences per batch, from the server's metrics."""
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    value = dict(line.rsplit(" ", 1) for line in lines if line.startswith("nmt_batch_sentences"))
    batches = float(value["nmt_batch_sentences_count"])
    return float(value["nmt_batch_sentences_sum"]) / max(batches, 1)


def main(
    model: Annotated[Path, typer.Argument(help="An exported model.")],
    text: Annotated[Path, typer.Argument(help="File with one sentence per line.")],
    *,
    seconds: float = 120,
    clients: Annotated[list[int], typer.Option()] = CLIENTS,
    threads: int = 2,
    lines: int = 1000,
) -> None:
    """Measure the server with each number of clients, and print a table."""
    sentences = list(itertools.islice(files.read_lines(text), lines))
    rows = []
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
        engine = fresh.submit(measure_engine, model, sentences, threads).result()
        for number in clients:
            with serving(model, threads) as (port, process, pair):
                before = sum(process.cpu_times()[:2])
                load = fresh.submit(run_clients, port, number, seconds, sentences, pair).result()
                assert load.seconds, load.failed[:3]
                cpu = 1000 * (sum(process.cpu_times()[:2]) - before) / load.requests
                rate = len(load.seconds) / seconds
                rows.append(
                    [
                        f"{number}{f' ({len(load.failed)} failed)' if load.failed else ''}",
                        f"{rate:.0f}",
                        f"{rate / engine.speed:.2f}",
                        f"{cpu:.2f}",
                        f"{engine.cpu_milliseconds / cpu:.2f}",
                        *(f"{load.find_percentile(percent):.0f}" for percent in (50, 95, 99)),
                        f"{read_batch_size(port):.1f}",
                        f"{process.memory_info().rss / 1e6:.0f}",
                    ]
                )
    count = len(engine.latencies)
    p50, p95 = (1000 * engine.latencies[int(share * count)] for share in (0.5, 0.95))
    print(
        f"engine without a server: {engine.speed:.0f} sentences/s in batches, "
        f"{engine.cpu_milliseconds:.2f} CPU ms each; one by one p50 {p50:.1f} ms, p95 {p95:.1f} ms"
    )
    show(f"one sentence per request, {threads} threads, {seconds:.0f} s each", COLUMNS, rows)


if __name__ == "__main__":
    typer.run(main)

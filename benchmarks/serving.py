"""Requests per second of `nmt serve`, their latency, and the share of the engine's own speed.

Usage: python -m benchmarks.serving MODEL TEXT [--seconds 120] [--clients 1 --clients 8 ...]
                                    [--threads 2]

TEXT has one sentence a line. Each client sends one sentence a request over one connection, and the
next when it has the answer. Clients are one process that only reads and writes bytes, but shares
the cores. The engine's own speed is measured before, on the same sentences: all at once, sorted by
length, and one by one. Processor time is shown beside the clock's, for a busy machine.
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

BEGINNING = 3.0
"""Seconds of a measurement that do not count."""

CLIENTS = [1, 8, 64, 200]
"""Clients at once, one number after another."""

COLUMNS = (
    *("clients", "per s", "share", "CPU ms", "share"),
    *("p50 ms", "p95", "p99", "batch", "MB"),
)


@dataclass
class Load:
    """Answers and failures that clients have received."""

    seconds: list[float] = field(default_factory=list)
    """Of each request."""
    failed: list[str] = field(default_factory=list)
    asked: int = 0
    """Requests, also those that do not count."""

    def find_percentile(self, percent: int) -> float:
        """Return the milliseconds that so many of a hundred requests took at most."""
        return 1000 * statistics.quantiles(self.seconds, n=100)[percent - 1]


async def ask_on(port: int, sentences: Iterator[str], end: float, load: Load, pair: str) -> None:
    """Send requests over one connection until the time is over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    source, target = pair.split("-")
    began_all = time.monotonic()
    while time.monotonic() < end:
        body = json.dumps({"q": next(sentences), "source": source, "target": target}).encode()
        head = (
            f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        began = time.monotonic()
        writer.write(head.encode() + body)
        answered = await reader.readuntil(b"\r\n\r\n")
        length = int(answered.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        content = await reader.readexactly(length)
        if not answered.startswith(b"HTTP/1.1 200"):
            load.failed.append(content.decode()[:200])
            continue
        load.asked += 1
        if began - began_all > BEGINNING:
            load.seconds.append(time.monotonic() - began)
    writer.close()


def run_clients(port: int, clients: int, seconds: float, lines: list[str], pair: str) -> Load:
    """Let clients ask for some time."""

    async def run() -> Load:
        load, sentences = Load(), itertools.cycle(lines)
        end = time.monotonic() + seconds + BEGINNING
        asking = [ask_on(port, sentences, end, load, pair) for _ in range(clients)]
        for ended in await asyncio.gather(*asking, return_exceptions=True):
            if isinstance(ended, BaseException):
                load.failed.append(repr(ended))
        return load

    return asyncio.run(run())


class Engine(NamedTuple):
    """The speed of the engine without a server."""

    speed: float
    """Sentences a second, in batches."""
    processor: float
    """Processor milliseconds of a sentence, in batches."""
    alone: list[float]
    """Seconds of each of some sentences, one by one, in order."""


def measure_engine(model: Path, lines: list[str], threads: int) -> Engine:
    """Let the engine translate lines without a server."""
    translator = Translator.load(model, threads=threads)
    translator.translate_sentences(lines[:50])
    began, worked = time.monotonic(), time.process_time()
    translator.translate_sentences(lines)
    speed = len(lines) / (time.monotonic() - began)
    processor = 1000 * (time.process_time() - worked) / len(lines)
    alone = []
    for line in lines[:200]:
        began = time.monotonic()
        translator.translate_sentences([line])
        alone.append(time.monotonic() - began)
    return Engine(speed, processor, sorted(alone))


@contextmanager
def serving(model: Path, threads: int) -> Iterator[tuple[int, psutil.Process, str]]:
    """Run the server; give its port, its process and the languages that it translates."""
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
    """Return the mean number of sentences of all batches so far."""
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    value = dict(line.rsplit(" ", 1) for line in lines if line.startswith("nmt_batch_sentences"))
    batches = float(value["nmt_batch_sentences_count"])
    return float(value["nmt_batch_sentences_sum"]) / max(batches, 1)


def main(
    model: Annotated[Path, typer.Argument(help="An exported model.")],
    text: Annotated[Path, typer.Argument(help="One sentence a line.")],
    *,
    seconds: float = 120,
    clients: Annotated[list[int], typer.Option()] = CLIENTS,
    threads: int = 2,
    lines: int = 1000,
) -> None:
    """Measure, and print a table."""
    sentences = list(itertools.islice(files.read_lines(text), lines))
    rows = []
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
        engine = fresh.submit(measure_engine, model, sentences, threads).result()
        for number in clients:
            with serving(model, threads) as (port, process, pair):
                before = sum(process.cpu_times()[:2])
                load = fresh.submit(run_clients, port, number, seconds, sentences, pair).result()
                assert load.seconds, load.failed[:3]
                took = 1000 * (sum(process.cpu_times()[:2]) - before) / load.asked
                rate = len(load.seconds) / seconds
                rows.append(
                    [
                        f"{number}{f' ({len(load.failed)} failed)' if load.failed else ''}",
                        f"{rate:.0f}",
                        f"{rate / engine.speed:.2f}",
                        f"{took:.2f}",
                        f"{engine.processor / took:.2f}",
                        *(f"{load.find_percentile(percent):.0f}" for percent in (50, 95, 99)),
                        f"{read_batch_size(port):.1f}",
                        f"{process.memory_info().rss / 1e6:.0f}",
                    ]
                )
    p50, p95 = (1000 * engine.alone[int(share * len(engine.alone))] for share in (0.5, 0.95))
    print(
        f"engine alone: {engine.speed:.0f} sentences/s in batches, {engine.processor:.2f} "
        f"processor ms each; one by one p50 {p50:.1f} ms, p95 {p95:.1f} ms"
    )
    show(f"one sentence a request, {threads} threads, {seconds:.0f} s each", COLUMNS, rows)


if __name__ == "__main__":
    typer.run(main)

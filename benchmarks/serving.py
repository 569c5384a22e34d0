"""Throughput and latency of `nmt serve`.

Usage: python -m benchmarks.serving MODEL TEXT [--seconds 120] [--clients 1 --clients 8 ...]
                                    [--threads 2]

TEXT has one sentence per line. Each client sends one sentence per request over one connection, and
waits for the answer before the next. All clients are in one process, which only reads and writes
bytes, but shares the cores. CPU time is shown, too, for busy machines.
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
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import psutil
import typer

from benchmarks import run_apart, show
from nmt_core.base import files

WARM_UP_SECONDS = 3.0
"""Seconds before a measurement in which the same clients send requests."""

CLIENTS = [1, 8, 64, 200]
"""Numbers of concurrent clients, measured one after another."""

COLUMNS = ("clients", "failed", "per s", "CPU ms", "p50 ms", "p95", "p99", "MB")

Answer = tuple[float, bool]
"""Latency of a request in seconds, and whether it succeeded."""


async def send_all(port: int, sentences: Iterator[str], end: float, pair: str) -> list[Answer]:
    """Send requests over one connection until ``end``; return the answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    source, target = pair.split("-")
    answers = []
    while (start := time.monotonic()) < end:
        body = json.dumps({"q": next(sentences), "source": source, "target": target}).encode()
        head = (
            f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        response_head = await reader.readuntil(b"\r\n\r\n")
        length = int(response_head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        await reader.readexactly(length)
        succeeded = response_head.startswith(b"HTTP/1.1 200")
        answers.append((time.monotonic() - start, succeeded))
    writer.close()
    return answers


def run_clients(
    port: int, clients: int, seconds: float, text: list[str], pair: str
) -> list[Answer]:
    """Return the answers to concurrent clients within a number of seconds."""

    async def run() -> list[list[Answer]]:
        sentences, end = itertools.cycle(text), time.monotonic() + seconds
        tasks = (send_all(port, sentences, end, pair) for _ in range(clients))
        return await asyncio.gather(*tasks)

    return [*itertools.chain.from_iterable(asyncio.run(run()))]


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


def measure(model: Path, clients: int, seconds: float, text: list[str], threads: int) -> list[str]:
    """Return a row of the table."""
    with serving(model, threads) as (port, process, pair):
        for length in (WARM_UP_SECONDS, seconds):
            before = sum(process.cpu_times()[:2])
            answers = run_apart(partial(run_clients, port, clients, length, text, pair))
        cpu_seconds = sum(process.cpu_times()[:2]) - before
        latencies = [latency for latency, succeeded in answers if succeeded]
        percentiles = statistics.quantiles(latencies, n=100)
        return [
            f"{clients}",
            f"{len(answers) - len(latencies)}",
            f"{len(latencies) / seconds:.0f}",
            f"{1000 * cpu_seconds / len(answers):.2f}",
            *(f"{1000 * percentiles[percent - 1]:.0f}" for percent in (50, 95, 99)),
            f"{process.memory_info().rss / 1e6:.0f}",
        ]


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
    rows = [measure(model, number, seconds, sentences, threads) for number in clients]
    show(f"one sentence per request, {threads} threads, {seconds:.0f} s each", COLUMNS, rows)


if __name__ == "__main__":
    typer.run(main)

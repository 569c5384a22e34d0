"""Training speed beside other toolkits and a plain loop, in turns, so that noise is noise to all.

Usage: python -m benchmarks.training [--peer NAME ...] [--rounds N] [--steps N] [--threads N]
       [--batch-tokens N] [--precision float32|bfloat16 ...] [--record]

All train a pre-norm Transformer of 3 + 3 layers, width 256, 4 heads, 1,024 inside, dropout 0.2 and
8,000 tied tokens, by Adam. Ours and the plain loop run in each precision, by default in float32 and
in what `auto` takes on this machine. Peers are toolkits that are installed in environments of their
own; they read the same text and make their own batches, in float32.

Every round starts each system twice, for a few updates and for many: the difference is free of
what it takes to start. What is counted is target tokens that are no padding, by the second of
processor time of all its processes. Ratios are of one round. ``--record`` writes the table into
docs/performance.md.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.progress import track

from benchmarks.report import record, render_blocks
from benchmarks.training.loops import System
from benchmarks.training.peers import PEERS, check_peers
from benchmarks.training.work import Work, write_work
from nmt_core.base.compute import prepare_compute

WARM_UP = 10
"""Updates that both runs of a round make, and that count for neither."""

MARK = "training"
"""Of the table in docs/performance.md."""

NAMES: dict[str, str] = {
    System.OURS: "this project",
    System.PLAIN: "a plain nn.Transformer loop",
    System.PRODUCTS: "the matrix products alone",
}


class Contestant(NamedTuple):
    """A system in a precision."""

    system: str
    precision: str = "float32"

    def __str__(self) -> str:
        return f"{NAMES.get(self.system, self.system)}, {self.precision}"


def name_precision() -> str:
    """Return the precision that training takes on this machine, where none is asked for."""
    return str(prepare_compute("cpu").dtype).removeprefix("torch.")


class Run(NamedTuple):
    """What a program has done, and what it took."""

    target_tokens: int
    processor_seconds: float
    seconds: float
    most_bytes: int
    """Resident memory of its largest process."""


class Speed(NamedTuple):
    """Target tokens by second of processor time and of the clock, and the memory it took."""

    per_processor_second: float
    per_second: float
    most_bytes: int

    @classmethod
    def of_more(cls, shorter: Run, longer: Run) -> "Speed":
        """Return the speed of what the longer run did beyond the shorter."""
        tokens = longer.target_tokens - shorter.target_tokens
        return cls(
            tokens / (longer.processor_seconds - shorter.processor_seconds),
            tokens / (longer.seconds - shorter.seconds),
            longer.most_bytes,
        )


def run(
    command: Sequence[str],
    count_tokens: Callable[[str], int],
    *,
    threads: int,
    folder: Path | None = None,
) -> Run:
    """Run a program to its end; what it says tells how many target tokens it has trained on.

    Args:
        command: the program and its arguments.
        count_tokens: returns the target tokens of what it has said.
        threads: of a process.
        folder: where it works; None for here.

    Raises:
        CalledProcessError: if it fails; what it has said is shown.
    """
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=environment,
            cwd=folder,
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if process.returncode:
        sys.stderr.write(text)
        raise subprocess.CalledProcessError(process.returncode, command)
    return Run(count_tokens(text), used.ru_utime + used.ru_stime, seconds, used.ru_maxrss * 1024)


def prepare(
    contestant: Contestant, work: Work, folder: Path, *, steps: int, threads: int
) -> tuple[list[str], Callable[[str], int]]:
    """Return the command for some updates of a system, and what reads its target tokens."""
    system, precision = contestant
    if system in PEERS:
        peer = PEERS[system]
        place = folder / f"{system}-{steps}"
        place.mkdir(exist_ok=True)
        return peer.prepare(peer.install(system), work, place, steps), partial(
            peer.count_tokens, steps=steps
        )
    options = {
        "steps": steps,
        "batch-tokens": work.batch_tokens,
        "precision": precision,
        "threads": threads,
    }
    given = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "benchmarks.training.loops", system, *given], int


def measure(contestant: Contestant, work: Work, folder: Path, *, steps: int, threads: int) -> Speed:
    """Return the speed of a system by a short run and a long one."""
    runs = []
    for updates in (WARM_UP, WARM_UP + steps):
        command, count_tokens = prepare(contestant, work, folder, steps=updates, threads=threads)
        runs.append(run(command, count_tokens, threads=threads))
    return Speed.of_more(*runs)


def tabulate(rounds: Sequence[dict[Contestant, Speed]]) -> list[list[str]]:
    """Return a heading, and a row for each system in a precision.

    A row has medians over rounds, and how many times its speed is ours in each precision.
    """
    ours = [contestant for contestant in rounds[0] if contestant.system == System.OURS]
    heading = ["system", "tokens per processor second", "tokens per second"]
    heading += [f"{own.precision} of ours is so many times as fast" for own in ours]
    rows = [[*heading, "GiB at most"]]
    for contestant in rounds[0]:
        found = [speeds[contestant] for speeds in rounds]
        row = [
            str(contestant),
            f"{median(speed.per_processor_second for speed in found):,.0f}",
            f"{median(speed.per_second for speed in found):,.0f}",
        ]
        for own in ours:
            ratios = sorted(
                speeds[own].per_processor_second / speeds[contestant].per_processor_second
                for speeds in rounds
            )
            row.append(f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
        rows.append([*row, f"{max(speed.most_bytes for speed in found) / 2**30:.2f}"])
    return rows


def main(
    peer: Annotated[list[str] | None, typer.Option(help="A toolkit to train beside.")] = None,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    steps: Annotated[int, typer.Option(min=1, help="Updates that are timed, in each round.")] = 60,
    threads: Annotated[int, typer.Option(min=1)] = 1,
    batch_tokens: Annotated[int, typer.Option(min=64)] = 1024,
    precision: Annotated[
        list[str] | None, typer.Option(help="Of ours and of the plain loop.")
    ] = None,
    *,
    record_table: Annotated[bool, typer.Option("--record")] = False,
) -> None:
    """Train all in turns and print medians."""
    peers = peer or []
    check_peers(peers)
    precisions = precision or list(dict.fromkeys(["float32", name_precision()]))
    contestants = [Contestant(system, kind) for system in System for kind in precisions]
    contestants += [Contestant(name) for name in peers]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        work = write_work(folder, batch_tokens)
        for name in peers:
            PEERS[name].install(name)
        measured = [
            {
                contestant: measure(contestant, work, folder, steps=steps, threads=threads)
                for contestant in contestants
            }
            for _ in track(range(rounds), "rounds", console=Console(stderr=True))
        ]
    rows = tabulate(measured)
    title = f"target tokens, {threads} threads, {rounds} rounds of {steps} updates"
    typer.echo(render_blocks(title, rows))
    if record_table:
        record(f"python -m benchmarks.training {' '.join(sys.argv[1:])}", rows, mark=MARK)


if __name__ == "__main__":
    typer.run(main)

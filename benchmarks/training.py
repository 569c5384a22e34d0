"""Training speed beside a plain nn.Transformer loop, in turns, so that both see the same noise.

Usage: python -m benchmarks.training [--rounds N] [--steps N] [--threads N] [--batch-tokens N]
       [--precision float32|bfloat16 ...] [--record]

Both train a pre-norm Transformer of 3 + 3 layers, width 256, 4 heads, 1,024 inside, dropout 0.2 and
8,000 tied tokens, by AdamW, by default in float32 and in what `auto` takes on this machine.

Each round runs each system twice, for a few updates and for many: the difference excludes start-up.
The unit is target tokens without padding per second of processor time. Ratios are of one round.
``--record`` writes the table into docs/performance.md.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from statistics import median
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.progress import track

from benchmarks.report import record, render_blocks
from benchmarks.training_loops import System
from nmt_core.base.compute import prepare_compute

WARM_UP = 10
"""Updates of the short run."""

MARK = "training"
"""Marker of the table in docs/performance.md."""

NAMES = {System.OURS: "this project", System.PLAIN: "a plain nn.Transformer loop"}


class Contestant(NamedTuple):
    """A system in a precision."""

    system: System
    precision: str = "float32"

    def __str__(self) -> str:
        return f"{NAMES[self.system]}, {self.precision}"


class Run(NamedTuple):
    """The target tokens, the cost and the peak memory of a program."""

    target_tokens: int
    processor_seconds: float
    seconds: float
    most_bytes: int
    """Resident memory of its largest process."""


class Speed(NamedTuple):
    """Target tokens per second of processor time and of the clock, and peak memory."""

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


def run(command: Sequence[str], *, threads: int) -> Run:
    """Run a program that prints the number of its target tokens.

    Raises:
        CalledProcessError: if it fails; its output is shown.
    """
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode:
        sys.stderr.write(text)
        raise subprocess.CalledProcessError(process.returncode, command)
    return Run(int(text), used.ru_utime + used.ru_stime, seconds, used.ru_maxrss * 1024)


def measure(contestant: Contestant, *, batch_tokens: int, steps: int, threads: int) -> Speed:
    """Return the speed of a system by a short run and a long one."""
    options = [f"--batch-tokens={batch_tokens}", f"--precision={contestant.precision}"]
    loop = [sys.executable, "-m", "benchmarks.training_loops", contestant.system, *options]
    shorter, longer = (
        run([*loop, f"--threads={threads}", f"--steps={updates}"], threads=threads)
        for updates in (WARM_UP, WARM_UP + steps)
    )
    return Speed.of_more(shorter, longer)


def tabulate(rounds: Sequence[dict[Contestant, Speed]]) -> list[list[str]]:
    """Return a heading, and a row of medians for each system in a precision.

    The ratios say how many times as fast ours is in each precision.
    """
    ours = [contestant for contestant in rounds[0] if contestant.system is System.OURS]
    heading = ["system", "tokens per processor second", "tokens per second"]
    heading += [f"{own.precision} of ours is so many times as fast" for own in ours]
    rows = [[*heading, "GiB at most"]]
    for contestant in rounds[0]:
        measured = [speeds[contestant] for speeds in rounds]
        row = [
            str(contestant),
            f"{median(speed.per_processor_second for speed in measured):,.0f}",
            f"{median(speed.per_second for speed in measured):,.0f}",
        ]
        for own in ours:
            ratios = sorted(
                speeds[own].per_processor_second / speeds[contestant].per_processor_second
                for speeds in rounds
            )
            row.append(f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
        rows.append([*row, f"{max(speed.most_bytes for speed in measured) / 2**30:.2f}"])
    return rows


def main(
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    steps: Annotated[int, typer.Option(min=1, help="Timed updates of each round.")] = 60,
    threads: Annotated[int, typer.Option(min=1)] = 1,
    batch_tokens: Annotated[int, typer.Option(min=64)] = 1024,
    precision: Annotated[list[str] | None, typer.Option()] = None,
    *,
    record_table: Annotated[bool, typer.Option("--record")] = False,
) -> None:
    """Train in turns and print medians."""
    own = str(prepare_compute("cpu").dtype).removeprefix("torch.")
    precisions = precision or list(dict.fromkeys(["float32", own]))
    contestants = [Contestant(system, kind) for system in System for kind in precisions]
    measured = [
        {
            contestant: measure(contestant, batch_tokens=batch_tokens, steps=steps, threads=threads)
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

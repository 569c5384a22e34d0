"""Do the tests notice? Put small faults into the code, one at a time, and see which test falls.

Works in copies of the project and leaves this one alone. Faults are drawn from what operators make
(operators.py), anew for each commit; those that no operator makes are in faults.py beside the tests
of their room. A fault that no test notices is a hole in the tests, or changes nothing.
"""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tests.mutation.covering import Records
from tests.mutation.drawing import Mutant, draw, list_faults
from tests.mutation.trial import LIBRARIES, OUTCOMES, SURVIVED, Bench

TOP = Path(__file__).parents[2]
BAR = 0.9
"""Where fewer are noticed, the command fails; the rest has room for mutants that change nothing."""


class Benches:
    """A bench for each core, lent to one task at a time."""

    def __init__(self, top: Path, folder: Path, cores: int, libraries: Sequence[str]) -> None:
        self._free: SimpleQueue[Bench] = SimpleQueue()
        for number in range(cores):
            self._free.put(Bench(top, folder / str(number), libraries))

    @contextmanager
    def lend(self) -> Iterator[Bench]:
        bench = self._free.get()
        try:
            yield bench
        finally:
            self._free.put(bench)


def try_all(
    top: Path, mutants: list[Mutant], cores: int, libraries: Sequence[str] = LIBRARIES
) -> list[tuple[Mutant, str, str]]:
    """Try mutants of a project; return each with what became of it, and the test that killed it."""
    records = Records(top)
    missing = records.list_missing()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(cores) as pool:
        benches = Benches(top, Path(folder), cores, libraries)

        def measure(file: str) -> None:
            with benches.lend() as bench:
                try:
                    records.keep(file, bench.measure(file))
                except (TimeoutError, ChildProcessError) as error:
                    print(f"{file} is left out: {error or 'it takes too long'}", flush=True)
                else:
                    print(f"measured {file}", flush=True)

        def attempt(mutant: Mutant) -> tuple[Mutant, str, str]:
            choice = records.choose(mutant)
            with benches.lend() as bench:
                outcome, test = bench.attempt(mutant, choice) if choice else (SURVIVED, "")
            told = test if choice else "no test runs it"
            print(f"{outcome} {mutant.file}:{mutant.first} {told}\n{mutant.fault}", flush=True)
            return mutant, outcome, told

        list(pool.map(measure, missing))
        return list(pool.map(attempt, mutants))


def tabulate(tried: list[tuple[Mutant, str, str]]) -> Table:
    """Return a table of outcomes by room."""
    counts = Counter((mutant.room, outcome) for mutant, outcome, _ in tried)
    table = Table("room", *OUTCOMES, "noticed")
    rooms = sorted({room for room, _ in counts})
    for room in rooms:
        table.add_row(room, *count(counts, [room]))
    table.add_row("all", *count(counts, rooms))
    return table


def count(counts: Counter[tuple[str, str]], rooms: list[str]) -> list[str]:
    """Return how many mutants of some rooms ended how, and the share that was noticed."""
    numbers = [sum(counts[room, outcome] for room in rooms) for outcome in OUTCOMES]
    noticed = sum(numbers) - numbers[OUTCOMES.index(SURVIVED)]
    return [*map(str, numbers), f"{noticed / sum(numbers):.0%}"]


def main(
    room: Annotated[str, typer.Option(help="Only rooms whose name begins so.")] = "",
    count: Annotated[int, typer.Option(help="Draw as many, but some in every room.")] = 100,
    seed: Annotated[str, typer.Option(help="Draw others; the commit if it is not given.")] = "",
    cores: Annotated[int, typer.Option(help="Try as many at a time.")] = os.cpu_count() or 1,
) -> None:
    """Try mutants drawn, and the faults that no operator makes; say which no test notices."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True, check=True
    )
    seed = seed or commit.stdout.strip()
    try:
        drawn = draw(TOP, count, seed, room) if count else []
        mutants = [*drawn, *list_faults(TOP, room)]
    except ValueError as error:
        sys.exit(f"make mutants: {error}")
    console = Console(width=120)
    tried = try_all(TOP, mutants, cores)
    console.rule("survivors")
    for mutant, outcome, told in tried:
        if outcome == SURVIVED:
            print(f"{mutant.file}:{mutant.first} {told}\n{mutant.fault}")
    console.print(tabulate(tried))
    console.print(f"SEED={seed}")
    noticed = sum(outcome != SURVIVED for _, outcome, _ in tried)
    sys.exit(int(noticed < BAR * len(tried)))


if __name__ == "__main__":
    typer.run(main)

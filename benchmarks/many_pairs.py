"""Memory and time of what looks at all pairs of a corpus, for as many pairs as are asked for.

    python -m benchmarks.many_pairs 200_000_000

Digests are drawn, and lie on disk (16 bytes a pair, in a temporary folder); so are lengths.
Memory is what a process holds without files, which the system gives back when it needs to.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import psutil
import typer

from benchmarks.report import render_blocks
from nmt_core.base.random import make_generator
from nmt_core.corpora.staging import PAIRS_AT_ONCE, PairKeys, StagedPairs, cut_rows_at_once
from nmt_core.data.batch import Position, TrainingBatches
from nmt_core.data.mixture import Mixture
from nmt_core.data.settings import MixtureConfig, TokenBatching
from nmt_core.data.shards import ShardDataset

HELD_OUT = 5000
"""Pairs of validation and test."""

LENGTHS = (5, 60)
"""Tokens of a sentence."""

MEBIBYTE = 2**20


@dataclass(frozen=True)
class DrawnLengths:
    """Stands for the shards of pairs with drawn lengths."""

    def measure(self, rows: np.ndarray) -> np.ndarray:
        """Return lengths that the numbers of the pairs decide."""
        first, last = LENGTHS
        return (first + np.stack([rows * 7919, rows * 104_729], 1) % (last - first)).astype(
            np.int32
        )


def main(pairs: Annotated[int, typer.Argument(help="How many; 1_000 and more.", min=1000)]) -> None:
    """Show seconds and memory of looking for duplicates and leaks and of planning an epoch."""
    rows = [["part", "seconds", "MiB"]]
    with tempfile.TemporaryDirectory() as folder:
        keys = write_keys(Path(folder), pairs)
        held_out = PairKeys(
            make_generator(2, "held out").integers(2**63, size=(HELD_OUT, 2)).astype(np.uint64)
        )
        rows.append(measure("duplicates", keys.repeated))
        rows.append(measure("leaks", lambda: keys.shared_with(held_out)))
    batches = plan_mixture(pairs)
    rows.append(measure("plan of a group", lambda: next(batches)))
    print(render_blocks(f"{pairs:,} pairs", rows))


def write_keys(folder: Path, pairs: int) -> PairKeys:
    """Write drawn digests, and return them from disk."""
    with (folder / "train.digests").open("wb") as file:
        for some in cut_rows_at_once(pairs):
            draw = make_generator(1, "digests", some.start)
            draw.integers(2**63, size=(min(PAIRS_AT_ONCE, some.stop - some.start), 2)).tofile(file)
    return StagedPairs(folder, "train").keys()


def plan_mixture(pairs: int) -> Iterator[object]:
    """Yield the plans of the groups of an epoch of two corpora with weights."""
    ranges = {"large": range(pairs * 3 // 4), "small": range(pairs * 3 // 4, pairs)}
    mixture = Mixture(ranges, {"large": 1.0, "small": 3.0}, MixtureConfig(), 1)
    batches = TrainingBatches(
        cast("ShardDataset", DrawnLengths()), TokenBatching(max_tokens=4096), 1, None, mixture
    )
    for group in range(mixture.count_groups(0)):
        yield batches.plan(Position(group=group))


def measure(name: str, work: Callable[[], object]) -> list[str]:
    """Return the seconds of some work, and the most memory that was held meanwhile."""
    done, most = threading.Event(), measure_memory()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.02):
            most = max(most, measure_memory())

    watching = threading.Thread(target=watch)
    watching.start()
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    done.set()
    watching.join()
    return [name, f"{seconds:.1f}", f"{most / MEBIBYTE:.0f}"]


def measure_memory() -> int:
    """Return the bytes that this process holds without files."""
    held = psutil.Process().memory_info()
    return int(held.rss - held.shared)


if __name__ == "__main__":
    typer.run(main)

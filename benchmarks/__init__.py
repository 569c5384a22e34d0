"""Benchmarks of speed, each measured together with a reference in the same run."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from nmt_core.cli import app as app  # runs garbage collection like ``nmt``; before torch

T = TypeVar("T")


def run_apart(work: Callable[[], T]) -> T:
    """Return the result of a function in a new process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
        return fresh.submit(work).result()


def describe(speeds: Sequence[float], peers: Sequence[float], form: str = ",.0f") -> str:
    """Return the median speed; with a peer, also the least, median and greatest ratio to it."""
    ratios = [speed / peer for speed, peer in zip(speeds, peers, strict=False)]
    shown = ", ".join(f"{choose(ratios):.2f}" for choose in (min, median, max) if ratios)
    return f"{median(speeds):{form}}" + (f" ({shown})" if ratios else "")


def show(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, all columns but the first aligned as numbers."""
    table = Table(title=title)
    for number, name in enumerate(head):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)

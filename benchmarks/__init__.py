"""Benchmarks of speed, each measured together with a reference in the same run."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

import nmt_core as nmt_core  # must come before torch; nmt_core says why


def show(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, all columns but the first aligned as numbers."""
    table = Table(title=title)
    for number, name in enumerate(head):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)

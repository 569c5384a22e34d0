"""PairedUnits of parallel text: what a reader of any format gives."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class RowPlace(NamedTuple):
    """The words for where a unit stands in its file."""

    noun: str = "line"
    before: int = 0
    """Rows before the first unit, such as a header."""
    columns: int = 2
    """What a row should have; more than two where others are left out."""

    def name(self, number: int) -> str:
        """Name the place of a unit by its number, counted from 1."""
        return f"{self.noun} {number + self.before}"


class PairedUnits(NamedTuple):
    """PairedUnits of a file, in their order."""

    rows: Iterator[Sequence[str]]
    """Source and target; empty where the file has none, so that numbers stay those of the file; a
    row with another number of columns is at fault. Bytes that are no UTF-8 may be surrogates."""
    place: RowPlace = RowPlace("unit")
    plain: bool = False
    """Whether the file holds a row a line, source, tab, target, and nothing else."""

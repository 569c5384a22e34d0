"""Lines as one flat array, so that NumPy measures thousands of them at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Array = NDArray[np.float64]


class FlatLines(NamedTuple):
    """Lines one after another, each some numbers: code points, or numbers of words."""

    values: Numbers
    """Of all lines, (values,)."""
    lengths: Numbers
    """Values of each line, (lines,)."""

    @property
    def owners(self) -> Numbers:
        """The line of each value."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def starts(self) -> Numbers:
        """Where each line begins."""
        return np.cumsum(self.lengths) - self.lengths

    def add_up(self, measured: NDArray[np.floating] | NDArray[np.bool_]) -> Array:
        """Return the sum over each line of what was measured of its values."""
        return np.bincount(self.owners, measured, len(self.lengths)).astype(np.float64)

    def keep(self, wanted: NDArray[np.bool_]) -> "FlatLines":
        """Return the lines with some of their values."""
        return FlatLines(self.values[wanted], self.add_up(wanted).astype(np.int64))


def flatten_lines(lines: Sequence[Sequence[int]]) -> FlatLines:
    """Return lines of numbers as one array."""
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    flat = [number for line in lines for number in line]
    return FlatLines(np.array(flat, np.int64), lengths)


def read_code_points(lines: Sequence[str]) -> FlatLines:
    """Return the characters of lines as Unicode's numbers."""
    data = "".join(lines).encode("utf-32-le", errors="surrogatepass")
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    return FlatLines(np.frombuffer(data, np.uint32).astype(np.int64), lengths)

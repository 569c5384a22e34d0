"""The HMM's jumps: distances between the translations of successive words.

A jump from position i' to i of a sentence of I words has the probability w(i - i') over the sum of
w(k - i') for k = 1..I (Vogel et al. 1996, eq. 6). Widths beyond a limit share one weight each way.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Jumps(NamedTuple):
    """The weights w of jumps from -width to width, (2 width + 1,)."""

    weights: Array

    @classmethod
    def start(cls, width: int) -> "Jumps":
        """Return weights that prefer the next position, and near ones."""
        ahead = np.arange(-width, width + 1) - 1
        return cls(np.exp(-np.abs(ahead) / 2) + 0.01)

    def matrix(self, positions: int) -> Array:
        """Return the weight from each position to each other, (positions, positions).

        Nothing leads to position 0, where sentences start.
        """
        matrix: Array = self.weights[self._bins(positions)]
        matrix[:, 0] = 0
        return matrix

    def norms(self, lengths: NDArray[np.int64]) -> Array:
        """Return the sum of weights from each position, (longest + 1, sentences); 1 beyond."""
        positions = int(lengths.max()) + 1
        sums = np.cumsum(self.matrix(positions), axis=1)
        there = np.arange(positions)[:, None] <= lengths
        return np.where(there, sums[:, lengths], 1.0)

    def improve(self, jumps: Array, departures: Array, smoothing: float) -> "Jumps":
        """Return weights under which the expected jumps are more probable, never less.

        That is one step of the MM algorithm for choices among several (Hunter 2004, section 3),
        for sentences of different lengths offer different jumps.

        Args:
            jumps: expected number of each jump, (2 width + 1,).
            departures: expected number of jumps from each position, by length, (longest + 1,
                longest + 1).
            smoothing: jumps of each kind seen beforehand, where all were offered.
        """
        lengths, positions = np.nonzero(departures)
        width = len(self.weights) // 2
        offered = smoothing * len(jumps) / self.weights.sum() * np.ones(len(jumps))
        bins = self._bins(len(departures))
        for length, position in zip(lengths.tolist(), positions.tolist(), strict=True):
            kinds = np.bincount(bins[position, 1 : length + 1], minlength=2 * width + 1)
            rate = departures[length, position] / (kinds * self.weights).sum()
            offered += rate * kinds
        weights = (jumps + smoothing) / offered
        return Jumps(weights / weights.sum())

    def sum_widths(self, jumps: Array) -> Array:
        """Return the sum over all jumps of the same width, (2 width + 1,).

        Args:
            jumps: from each position to each other, (positions, positions).
        """
        bins = self._bins(len(jumps))
        return np.bincount(bins.ravel(), jumps.ravel(), len(self.weights)).astype(np.float64)

    def _bins(self, positions: int) -> NDArray[np.int64]:
        width = len(self.weights) // 2
        places = np.arange(positions)
        bins: NDArray[np.int64] = np.clip(places - places[:, None], -width, width) + width
        return bins

"""Expected counts of one direction, the results of an expectation step."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nmt_core.text.aligner.batches import AlignmentBatch
from nmt_core.text.aligner.jumps import Jumps
from nmt_core.text.aligner.lattice import Posteriors

Array = NDArray[np.float64]


@dataclass
class ExpectedCounts:
    """Sums over a text; all that they are added up from is seen in the same order each time."""

    pairs: Array
    """How often the second word of a pair is explained by the first, (pairs + 1,), last padding."""
    nulls: Array
    """How often a word is explained by none, (words,)."""
    jumps: Array
    """How often a jump has each width; see ``Jumps``."""
    departures: Array
    """How often a jump begins at each position, by length, (longest + 1, longest + 1)."""
    log_likelihood: float = 0.0

    @classmethod
    def zero(cls, pairs: int, words: int, kinds: int, longest: int) -> Self:
        """Return counts of nothing."""
        places = np.zeros((longest + 1, longest + 1))
        return cls(np.zeros(pairs + 1), np.zeros(words), np.zeros(kinds), places)

    def add_links(self, batch: AlignmentBatch, links: Array) -> None:
        """Count which word explains which.

        Args:
            batch: the pairs.
            links: probabilities, (target words, source words + 1, pairs); the rest is that of none.
        """
        inner = np.ascontiguousarray(links[:, 1:].transpose(1, 0, 2))
        np.add.at(self.pairs, batch.cells.ravel(), inner.ravel())
        inside = np.arange(len(batch.target))[:, None] < batch.target_lengths
        none = np.where(inside, np.maximum(1 - np.add.reduce(links, axis=1), 0.0), 0.0)
        np.add.at(self.nulls, batch.target.ravel(), none.ravel())

    def add_jumps(self, batch: AlignmentBatch, posteriors: Posteriors, jumps: Jumps) -> None:
        """Count how far the links of a word and the next are from each other."""
        self.jumps += jumps.sum_widths(posteriors.jumps.sum(axis=2))
        leaving = posteriors.jumps.sum(axis=1)
        for column, length in enumerate(batch.source_lengths.tolist()):
            self.departures[length, : len(leaving)] += leaving[:, column]

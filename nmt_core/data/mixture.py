"""Mix corpora: which pairs an epoch reads, as a function of seed, epoch and group alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Int

from nmt_core.base.random import make_generator
from nmt_core.data.settings import MixtureConfig

PairNumbers = Int[np.ndarray, " pairs"]
"""Numbers of pairs, some of them several times."""

GROUP = 2**22
"""Pairs whose batches are planned together, which takes about 155 MiB and a second."""

PIECES = 16
"""Pieces of a long corpus that a group is made of."""


@dataclass(frozen=True)
class Mixture:
    """Corpora whose pairs are read more or less often than once in an epoch.

    An epoch has as many pairs as the corpora together. Each corpus has its share of them: the next
    pairs of an endless sequence in which every pass over the corpus is shuffled anew. A long epoch
    is cut into groups in which each corpus has its share, so that memory holds one group; a corpus
    longer than a group is shuffled piece by piece.
    """

    ranges: Mapping[str, range]
    """Pairs of each corpus."""
    weights: Mapping[str, float]
    """Factor of the size of each corpus."""
    config: MixtureConfig
    seed: int
    """Decides all orders, with the place of the corpus."""
    group_pairs: int = GROUP

    def compute_shares(self) -> dict[str, float]:
        """Return the share of each corpus among the pairs.

        That of a corpus of n pairs and weight w is in proportion to (w n)^(1/T), for a temperature
        T (Arivazhagan et al. 2019, section 3.2).
        """
        names = [name for name in self.ranges if self.weights[name] and len(self.ranges[name])]
        sizes = np.array([self.weights[name] * len(self.ranges[name]) for name in names])
        sizes = (sizes / sizes.max()) ** (1 / self.config.temperature)
        return dict(zip(names, (sizes / sizes.sum()).tolist(), strict=True))

    def count_groups(self) -> int:
        """Return the number of groups of an epoch."""
        pairs = sum(len(self.ranges[name]) for name in self.compute_shares())
        return -(-pairs // self.group_pairs)

    def list_rows(self, epoch: int, group: int = 0) -> PairNumbers | None:
        """Return the pairs of a group, in no order; None if these are all pairs, once each."""
        shares = self.compute_shares()
        pairs = sum(len(self.ranges[name]) for name in shares)
        counts = {name: Fraction(share) * pairs for name, share in shares.items()}
        groups = self.count_groups()
        if self._reads_all_once(shares):
            if groups == 1:
                return None
            counts = {name: Fraction(len(self.ranges[name])) for name in shares}
        rows = []
        for place, (name, numbers) in enumerate(self.ranges.items()):
            count = counts.get(name, Fraction(0))
            first, last = int(epoch * count), int((epoch + 1) * count)
            begin, end = (first + (last - first) * n // groups for n in (group, group + 1))
            rows.append(numbers.start + self._draw(place, len(numbers), begin, end))
        return np.concatenate(rows)

    def _reads_all_once(self, shares: Mapping[str, float]) -> bool:
        """Say whether an epoch of these shares has each pair of each corpus once."""
        everything = len(shares) == sum(map(bool, self.ranges.values()))
        equal = len({self.weights[name] for name in shares}) == 1
        return everything and equal and self.config.temperature == 1

    def _draw(self, place: int, pairs: int, begin: int, end: int) -> PairNumbers:
        """Return a part of the endless sequence of a corpus, which another name does not change."""
        if begin == end:
            return np.zeros(0, np.int64)
        parts = []
        for number in range(begin // pairs, (end - 1) // pairs + 1):
            start = number * pairs
            part = self._shuffle(place, pairs, number, max(begin - start, 0), end - start)
            parts.append(part)
        return np.concatenate(parts)

    def _shuffle(self, place: int, pairs: int, number: int, begin: int, end: int) -> PairNumbers:
        """Return a part of one pass over a corpus; only pieces that it touches are shuffled."""
        if pairs <= self.group_pairs:
            return make_generator(self.seed, "mixture", place, number).permutation(pairs)[begin:end]
        size = max(1, self.group_pairs // PIECES)
        order = make_generator(self.seed, "pieces", place, number).permutation(-(-pairs // size))
        bounds = np.minimum(np.stack([order, order + 1]) * size, pairs)
        ends = np.cumsum(bounds[1] - bounds[0])
        first, last = np.searchsorted(ends, [begin, min(end, pairs) - 1], side="right")
        pieces = [
            bounds[0, piece]
            + make_generator(self.seed, "mixture", place, number, int(order[piece])).permutation(
                bounds[1, piece] - bounds[0, piece]
            )
            for piece in range(first, last + 1)
        ]
        skipped = int(ends[first - 1]) if first else 0
        return np.concatenate(pieces)[begin - skipped : end - skipped]

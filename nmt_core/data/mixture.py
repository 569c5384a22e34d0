"""Mix corpora: choose the pairs of each epoch, as a function of seed, epoch and group."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from jaxtyping import Int

from nmt_core.base.random import make_generator
from nmt_core.data.settings import MixtureConfig

PairNumbers = Int[np.ndarray, " pairs"]
"""Numbers of pairs; a number may occur several times."""

GROUP_PAIRS = 2**22
"""Maximum pairs of a group, whose batches are planned together in about 155 MiB and a second."""

PIECES_PER_GROUP = 16
"""Pieces per group into which a corpus longer than a group is divided."""


@dataclass(frozen=True)
class Mixture:
    """Corpora that are sampled with weights.

    An epoch has as many pairs as all corpora together, divided among the corpora by their shares.
    Each corpus is an endless sequence of shuffled passes, and an epoch reads its next pairs. To
    save memory, a long epoch is split into groups with the same shares, and a corpus longer than a
    group is shuffled in pieces.
    """

    ranges: Mapping[str, range]
    """The pair numbers of each corpus."""
    weights: Mapping[str, float]
    """Sampling weight of each corpus, a factor of its size."""
    config: MixtureConfig
    seed: int
    """Seed of all orders; draws are named by the index of the corpus, not by its name."""
    group_pairs: int = GROUP_PAIRS
    directions: Mapping[str, str] = field(default_factory=dict)
    """The direction of each corpus, whose corpora share its temperature; may be empty."""

    def compute_shares(self) -> dict[str, float]:
        """Return the share of each corpus in an epoch's pairs; the shares sum to 1.

        A corpus of n pairs and weight w has a share in proportion to (w n)^(1/T), with
        temperature T (Arivazhagan et al. 2019, section 3.2). With several directions, this is the
        share of a direction, which its corpora divide in proportion to w n.
        """
        names = [name for name in self.ranges if self.weights[name] and len(self.ranges[name])]
        sizes = np.array([self.weights[name] * len(self.ranges[name]) for name in names])
        groups = [self.directions.get(name, name) for name in names]
        totals = np.array([sizes[[g == group for g in groups]].sum() for group in groups])
        within, totals = sizes / totals, totals / totals.max()
        shares = totals ** (1 / self.config.temperature) * within
        return dict(zip(names, (shares / shares.sum()).tolist(), strict=True))

    def count_groups(self) -> int:
        """Return the number of groups in an epoch."""
        pairs = sum(len(self.ranges[name]) for name in self.compute_shares())
        return -(-pairs // self.group_pairs)

    def list_rows(self, epoch: int, group: int = 0) -> PairNumbers | None:
        """Return the unordered pair numbers of a group; None if the group has all pairs once."""
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
        """Return whether an epoch has every pair of every corpus once."""
        has_all_corpora = len(shares) == sum(map(bool, self.ranges.values()))
        has_equal_weights = len({self.weights[name] for name in shares}) == 1
        return has_all_corpora and has_equal_weights and self.config.temperature == 1

    def _draw(self, place: int, pairs: int, begin: int, end: int) -> PairNumbers:
        """Return items ``begin`` to ``end`` of the endless sequence of the corpus at ``place``."""
        if begin == end:
            return np.zeros(0, np.int64)
        slices = []
        for number in range(begin // pairs, (end - 1) // pairs + 1):
            start = number * pairs
            slices.append(self._shuffle(place, pairs, number, max(begin - start, 0), end - start))
        return np.concatenate(slices)

    def _shuffle(self, place: int, pairs: int, number: int, begin: int, end: int) -> PairNumbers:
        """Return items ``begin`` to ``end`` of one pass, shuffling only the pieces in between."""
        if pairs <= self.group_pairs:
            return make_generator(self.seed, "mixture", place, number).permutation(pairs)[begin:end]
        size = max(1, self.group_pairs // PIECES_PER_GROUP)
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

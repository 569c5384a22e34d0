"""Mix corpora: which pairs an epoch reads, as a function of seed, epoch and phase alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Int

from nmt_core.base.random import make_generator
from nmt_core.data.settings import MixtureConfig, Phase

PairNumbers = Int[np.ndarray, " pairs"]
"""Numbers of pairs, some of them several times."""


@dataclass(frozen=True)
class Mixture:
    """Corpora whose pairs are read more or less often than once in an epoch.

    An epoch has as many pairs as the corpora of its phase have together. Of each corpus it takes a
    share of them, the next ones of an endless sequence in which every pass over the corpus is
    shuffled anew: so all pairs are read, and none twice more often than another.

    Attributes:
        ranges: pairs of each corpus.
        weights: of each, by which its size is multiplied.
        config: temperature and phases.
        seed: decides all orders, with the place of the corpus.
    """

    ranges: Mapping[str, range]
    weights: Mapping[str, float]
    config: MixtureConfig
    seed: int

    def find_phase(self, number: int) -> Phase:
        """Return a phase by its number; without any there is one, of all corpora."""
        return self.config.phases[number] if self.config.phases else Phase()

    def compute_shares(self, phase: int) -> dict[str, float]:
        """Return the share of each corpus among the pairs of a phase.

        That of a corpus of n pairs and weight w is in proportion to (w n)^(1/T), for a temperature
        T (Arivazhagan et al. 2019, section 3.2).

        Args:
            phase: its number.
        """
        names = [name for name in self.ranges if self.weights[name] and len(self.ranges[name])]
        names = [name for name in names if name in (self.find_phase(phase).corpora or names)]
        sizes = np.array([self.weights[name] * len(self.ranges[name]) for name in names])
        sizes = (sizes / sizes.max()) ** (1 / self.config.temperature)
        return dict(zip(names, (sizes / sizes.sum()).tolist(), strict=True))

    def list_rows(self, epoch: int, phase: int) -> PairNumbers | None:
        """Return the pairs of an epoch, in no order; None if these are all pairs, once each.

        Args:
            epoch: its number, those of earlier phases counted.
            phase: number of its phase.
        """
        shares = self.compute_shares(phase)
        equal = {self.weights[name] for name in shares}
        everything = len(shares) == sum(map(bool, self.ranges.values()))
        if everything and len(equal) == 1 and self.config.temperature == 1:
            return None
        pairs = sum(len(self.ranges[name]) for name in shares)
        rows = []
        for place, (name, numbers) in enumerate(self.ranges.items()):
            per_epoch = Fraction(shares.get(name, 0)) * pairs
            begin, end = int(epoch * per_epoch), int((epoch + 1) * per_epoch)
            rows.append(numbers.start + self._draw(place, len(numbers), begin, end))
        return np.concatenate(rows)

    def _draw(self, place: int, pairs: int, begin: int, end: int) -> PairNumbers:
        """Return a part of the endless sequence of a corpus, which another name does not change."""
        if begin == end:
            return np.zeros(0, np.int64)
        first, last = begin // pairs, (end - 1) // pairs
        passes = [
            make_generator(self.seed, "mixture", place, number).permutation(pairs)
            for number in range(first, last + 1)
        ]
        return np.concatenate(passes)[begin - first * pairs : end - first * pairs]

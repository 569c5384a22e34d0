"""Pairs whose source begins with the tag of their corpus, but for some that are drawn."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmt_core.base.random import make_generator
from nmt_core.data.batch import NumberedPair, Sample


@dataclass(frozen=True)
class TaggedPairs:
    """Pairs of which each is, in an epoch, a function of seed, epoch and its number.

    Tags are those of Kobus et al. (2017), but before the line. A model that reads some pairs
    without also translates lines of which nobody says where they are from.

    Attributes:
        read: returns the pair of a number in an epoch.
        corpora: numbers of the pairs of each corpus, in order.
        tags: number of the tag of each corpus; None for one without.
        untagged: share of the pairs that are read without it.
        seed: decides all draws, with the epoch.
    """

    read: Sample
    corpora: Sequence[range]
    tags: Sequence[int | None]
    untagged: float
    seed: int

    def draw(self, number: int, epoch: int) -> NumberedPair:
        """Return the source and target tokens that a pair has in an epoch."""
        source, target = self.read(number, epoch)
        tag = self.find(number)
        if tag is None or self._leaves_out(number, epoch):
            return source, target
        return np.concatenate(([tag], source)).astype(np.int32), target

    def find(self, number: int) -> int | None:
        """Return the number of the tag of a pair; None if it has none."""
        return self.tags[bisect_right(self.corpora, number, key=lambda corpus: corpus.stop)]

    def _leaves_out(self, number: int, epoch: int) -> bool:
        draw = make_generator(self.seed, "tags", epoch, number)
        return bool(draw.random() < self.untagged)

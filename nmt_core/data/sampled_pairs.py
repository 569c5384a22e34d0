"""Training pairs whose subwords are drawn anew in every epoch.

What a pair is in an epoch is a function of seed, epoch and its number: no batch, process, order or
interruption changes it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nmt_core.data.batch import TokenNumbers
from nmt_core.data.batching import Lengths
from nmt_core.data.shards import ShardDataset
from nmt_core.random import derive_seed
from nmt_core.text.subword_sampling import SubwordSampler


@dataclass(frozen=True)
class SampledPairs:
    """The pairs of one epoch, drawn when they are asked for; none is kept.

    Attributes:
        dataset: the pairs in their best segmentation.
        source: draws the source's subwords; None keeps the best.
        target: the same of the target's.
        seed: decides all draws, with the epoch.
        epoch: whose pairs these are.
    """

    dataset: ShardDataset
    source: SubwordSampler | None
    target: SubwordSampler | None
    seed: int
    epoch: int

    @cached_property
    def lengths(self) -> Lengths:
        """Source and target length of every pair, for which each is drawn once."""
        drawn = map(self.__getitem__, range(len(self.dataset)))
        return np.array([[*map(len, pair)] for pair in drawn], np.int32).reshape(-1, 2)

    def __getitem__(self, number: int) -> tuple[TokenNumbers, TokenNumbers]:
        """Return the source and target tokens of one pair."""
        source, target = self.dataset[number]
        return (
            self._draw(self.source, source, "source", number),
            self._draw(self.target, target, "target", number),
        )

    def _draw(
        self, sampler: SubwordSampler | None, tokens: np.ndarray, side: str, number: int
    ) -> TokenNumbers:
        if sampler is None:
            return tokens
        seed = derive_seed(self.seed, "subwords", self.epoch, number, side)
        return sampler.sample(tokens.tolist(), seed)

"""Training pairs with subwords that are drawn anew in every epoch."""

from dataclasses import dataclass

import numpy as np

from nmt_core.base.random import make_generator
from nmt_core.data.batch import Sample, TokenNumbers
from nmt_core.text.subword_sampling import SubwordSampler


@dataclass(frozen=True)
class SampledPairs:
    """Pairs of which each is, in an epoch, a function of seed, epoch and its number.

    No batch, process, order or interruption changes it.

    Attributes:
        read: returns the pair of a number in an epoch, in its best segmentation.
        source: draws the source's subwords; None keeps the best.
        target: the same of the target's.
        seed: decides all draws, with the epoch.
    """

    read: Sample
    source: SubwordSampler | None
    target: SubwordSampler | None
    seed: int

    def draw(self, number: int, epoch: int) -> tuple[TokenNumbers, TokenNumbers]:
        """Return the source and target tokens that a pair has in an epoch."""
        source, target = self.read(number, epoch)
        return (
            self._draw(self.source, source, epoch, number, "source"),
            self._draw(self.target, target, epoch, number, "target"),
        )

    def _draw(
        self, sampler: SubwordSampler | None, tokens: TokenNumbers, *name: int | str
    ) -> TokenNumbers:
        if sampler is None:
            return tokens
        draw = make_generator(self.seed, "subwords", *name)
        return np.array(sampler.sample([*tokens], draw), np.int32)

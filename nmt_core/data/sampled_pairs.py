"""Training pairs whose subwords are drawn anew in every epoch.

What a pair is in an epoch is a function of seed, epoch and its number: no batch, process, order or
interruption changes it.
"""

import numpy as np

from nmt_core.data.batching import Lengths
from nmt_core.data.shards import ShardDataset
from nmt_core.random import make_generator
from nmt_core.text.subword_sampling import SubwordSampler

KEPT_TOKENS = 2**25
"""Tokens of an epoch that are kept, of four bytes each."""


class SampledPairs:
    """The pairs of one epoch, all drawn at once, by whose lengths its batches are planned.

    What is too much to be kept is drawn again when it is asked for.

    Args:
        dataset: the pairs in their best segmentation.
        source: draws the source's subwords; None keeps the best.
        target: the same of the target's.
        seed: decides all draws, with the epoch.
        epoch: whose pairs these are.
    """

    def __init__(
        self,
        dataset: ShardDataset,
        source: SubwordSampler | None,
        target: SubwordSampler | None,
        seed: int,
        epoch: int,
    ) -> None:
        self.dataset, self.seed, self.epoch = dataset, seed, epoch
        self.samplers = {"source": source, "target": target}
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []
        self.lengths: Lengths = np.zeros((len(dataset), 2), np.int32)
        room = KEPT_TOKENS
        for number in range(len(dataset)):
            pair = self._draw(number)
            self.lengths[number] = [*map(len, pair)]
            room -= sum(map(len, pair))
            if room >= 0:
                self._kept.append(pair)

    def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the source and target tokens of one pair."""
        return self._kept[number] if number < len(self._kept) else self._draw(number)

    def _draw(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        source, target = (
            self._draw_side(number, side, tokens)
            for side, tokens in zip(self.samplers, self.dataset[number], strict=True)
        )
        return source, target

    def _draw_side(self, number: int, side: str, tokens: np.ndarray) -> np.ndarray:
        sampler = self.samplers[side]
        if sampler is None:
            return tokens
        draw = make_generator(self.seed, "subwords", self.epoch, number, side)
        return np.array(sampler.sample(tokens.tolist(), draw), np.int32)

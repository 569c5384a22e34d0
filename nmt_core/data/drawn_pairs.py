"""Training pairs that are drawn anew in every epoch: modified, segmented, tagged."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from nmt_core.base.random import make_generator
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.data.batch import NumberedPair, Sample, TokenNumbers
from nmt_core.data.modifiers import (
    Lines,
    change_punctuation,
    drop_final_stop,
    make_typing_errors,
    put_symbols,
)
from nmt_core.data.settings import AugmentationConfig
from nmt_core.data.shards import ShardDataset
from nmt_core.text.side import Side
from nmt_core.text.subword_sampling import SubwordSampler

Modify = Callable[[Lines, np.random.Generator], Lines]

DRAWS, PLACES = 9, [0, 1, 2, 3, 8]
"""Numbers drawn for a pair, and those that decide; another count would draw other pairs."""


class AugmentedPairs:
    """Pairs as modifiers change them, a function of seed, epoch and number.

    A pair that would become longer than the longest of the dataset stays as it is.
    """

    def __init__(
        self,
        dataset: ShardDataset,
        sides: tuple[Side, Side],
        languages: tuple[str, str],
        config: AugmentationConfig,
        seed: int,
    ) -> None:
        has_symbols = all(symbol in side.vocabulary for side in sides for symbol in ALL_SYMBOLS)
        modifiers: list[tuple[float, Modify]] = [
            (config.no_final_stop, drop_final_stop),
            (config.punctuation, change_punctuation),
            (config.typing_errors, partial(make_typing_errors, language=languages[0])),
            (config.symbols if has_symbols else 0.0, partial(put_symbols, languages=languages)),
        ]
        self._dataset, self._sides, self._seed = dataset, sides, seed
        self._modifiers = [modify for _, modify in modifiers]
        self._shares = np.array([config.merged, *(share for share, _ in modifiers)])
        self._longest = dataset.longest

    def draw(self, number: int, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Return source and target tokens of a pair in an epoch."""
        draw = make_generator(self._seed, "augmentation", epoch, number)
        merged, *chosen = (draw.random(DRAWS)[PLACES] < self._shares).tolist()
        if not merged and not any(chosen):
            return self._dataset[number]
        lines = self._read(number)
        if merged:
            other = self._read(int(draw.integers(len(self._dataset))))
            lines = Lines(*map(" ".join, zip(lines, other, strict=True)))
        for modify, wanted in zip(self._modifiers, chosen, strict=True):
            lines = modify(lines, draw) if wanted else lines
        source, target = (
            np.array(side.ids(line), np.int32)
            for side, line in zip(self._sides, lines, strict=True)
        )
        fits = 0 < min(len(source), len(target)) and max(len(source), len(target)) <= self._longest
        return (source, target) if fits else self._dataset[number]

    def _read(self, number: int) -> Lines:
        pair = zip(self._sides, self._dataset[number], strict=True)
        return Lines(*(side.text(tokens.tolist()) for side, tokens in pair))


@dataclass(frozen=True)
class SampledPairs:
    """Pairs in sampled subwords, a function of seed, epoch and number."""

    read: Sample
    """Returns the pair of a number in an epoch, in its best segmentation."""
    source: SubwordSampler | None
    """Draws the subwords of the source; None keeps the best."""
    target: SubwordSampler | None
    seed: int

    def draw(self, number: int, epoch: int) -> tuple[TokenNumbers, TokenNumbers]:
        """Return source and target tokens of a pair in an epoch."""
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


@dataclass(frozen=True)
class TaggedPairs:
    """Pairs with the tags of their corpora, a function of seed, epoch and number.

    Tags are those of Kobus et al. (2017), but before the line. A model that reads some pairs
    without their tag also translates lines of unknown origin.
    """

    read: Sample
    """Returns the pair of a number in an epoch."""
    corpora: Sequence[range]
    """Numbers of the pairs of each corpus, in order."""
    tags: Sequence[int | None]
    """Number of the tag of each corpus; None for one without."""
    untagged: float
    """Share of the pairs that are read without their tag."""
    seed: int

    def draw(self, number: int, epoch: int) -> NumberedPair:
        """Return source and target tokens of a pair in an epoch."""
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

"""Training pairs that are drawn again in every epoch: augmentation, sampled subwords, tags."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from nmt_core.base.random import make_generator
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.data.batch import DrawPair, NumberedPair, TokenNumbers
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
"""Random numbers drawn per pair, and the indices in use; another count would change the draws."""


def find_corpus(corpora: Sequence[range], number: int) -> int:
    """Return the index of the corpus that has the pair of a number."""
    return bisect_right(corpora, number, key=lambda corpus: corpus.stop)


class AugmentedPairs:
    """Pairs changed by modifiers; the result depends on seed, epoch and pair number.

    If a pair would become longer than the longest sentence of the dataset, it stays unchanged.
    """

    def __init__(
        self,
        dataset: ShardDataset,
        sides: tuple[Side, Side],
        languages: Sequence[tuple[str, str]],
        config: AugmentationConfig,
        seed: int,
    ) -> None:
        has_symbols = all(symbol in side.vocabulary for side in sides for symbol in ALL_SYMBOLS)
        shares = (
            config.merged,
            config.no_final_stop,
            config.punctuation,
            config.typing_errors,
            config.symbols if has_symbols else 0.0,
        )
        self._dataset, self._sides, self._seed = dataset, sides, seed
        self._modifiers = [list_modifiers(codes) for codes in languages]
        self._shares = np.array(shares)
        self._longest = dataset.longest
        whole = [range(len(dataset))] * len(languages)
        self._merged_with = whole if len({*languages}) == 1 else dataset.corpora

    def draw(self, number: int, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Return source and target tokens of a pair in an epoch."""
        draw = make_generator(self._seed, "augmentation", epoch, number)
        merged, *chosen = (draw.random(DRAWS)[PLACES] < self._shares).tolist()
        if not merged and not any(chosen):
            return self._dataset[number]
        lines, corpus = self._read(number), find_corpus(self._dataset.corpora, number)
        if merged:  # with a pair of the same languages
            numbers = self._merged_with[corpus]
            other = self._read(numbers[int(draw.integers(len(numbers)))])
            lines = Lines(*map(" ".join, zip(lines, other, strict=True)))
        for modify, is_chosen in zip(self._modifiers[corpus], chosen, strict=True):
            lines = modify(lines, draw) if is_chosen else lines
        source, target = (
            np.array(side.ids(line), np.int32)
            for side, line in zip(self._sides, lines, strict=True)
        )
        fits = 0 < min(len(source), len(target)) and max(len(source), len(target)) <= self._longest
        return (source, target) if fits else self._dataset[number]

    def _read(self, number: int) -> Lines:
        pair = zip(self._sides, self._dataset[number], strict=True)
        return Lines(*(side.text(tokens.tolist()) for side, tokens in pair))


def list_modifiers(languages: tuple[str, str]) -> list[Modify]:
    """Return the modifiers of pairs in two languages, in a fixed order."""
    return [
        drop_final_stop,
        change_punctuation,
        partial(make_typing_errors, language=languages[0]),
        partial(put_symbols, languages=languages),
    ]


@dataclass(frozen=True)
class SampledPairs:
    """Pairs in sampled subwords; the result depends on seed, epoch and pair number."""

    read: DrawPair
    """Returns a pair in its best segmentation."""
    source: SubwordSampler | None
    """Draws the subwords of the source; None keeps the best segmentation."""
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
    """Pairs with the tags of their corpora; the result depends on seed, epoch and pair number.

    Tags are side constraints as in Kobus et al. (2017), but before the line. Some pairs are read
    without their tag, so that the model also translates text of an unknown domain.
    """

    read: DrawPair
    """Returns a pair without a tag."""
    corpora: Sequence[range]
    """The pair numbers of each corpus, in order."""
    tags: Sequence[Sequence[int]]
    """Token IDs of each corpus's tags; may be empty."""
    untagged: float
    """Share of pairs that are read without their tags."""
    seed: int
    required: Collection[int] = ()
    """Token IDs of tags that are always read: those of target languages."""

    def draw(self, number: int, epoch: int) -> NumberedPair:
        """Return source and target tokens of a pair in an epoch."""
        source, target = self.read(number, epoch)
        tags = self.tags[find_corpus(self.corpora, number)]
        if tags and self._leaves_out(number, epoch):
            tags = [tag for tag in tags if tag in self.required]
        if not tags:
            return source, target
        return np.concatenate((tags, source)).astype(np.int32), target

    def _leaves_out(self, number: int, epoch: int) -> bool:
        draw = make_generator(self.seed, "tags", epoch, number)
        return bool(draw.random() < self.untagged)

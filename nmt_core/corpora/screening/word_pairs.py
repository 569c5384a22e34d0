"""Which words go together: an aligner's table, made small enough to judge pairs by the million.

The measure of a pair of words is its lift, how much likelier they translate each other than two
words drawn by chance: ``p(t | s) / p(t)``, the geometric mean of both directions' counts standing
for the joint one. A word of the target is then explained by a mixture of the source's words, as in
IBM model 1 (Brown et al. 1993), and of chance; its score is the logarithm of how much better that
is than chance alone: a difference of two cross entropies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.screening.flat_text import Array, FlatLines, Numbers
from nmt_core.corpora.screening.word_numbers import STEM_LETTERS, cut_stems
from nmt_core.text.aligner.learning import learn_aligner
from nmt_core.text.aligner.settings import AlignerConfig

LEARNING = AlignerConfig(
    max_words=60,
    stem_length=STEM_LETTERS,
    tail_length=0,
    model_1_iterations=5,
    hmm_iterations=0,
    agreement_iterations=0,
)

LEAST_COUNT = 3
"""Pairs of a sample that a word must stand in; what is rarer says nothing."""

LEAST_JOINT = 1.5
"""Expected count from which two words are remembered to go together: more than the one pair that
is to be judged, which may be wrong, can have taught."""

MOST_WORDS = 8000
"""Words of a side that are told apart, the most frequent ones."""

SAME_LIFT = 50.0
"""Of two unknown words that are written alike, as names are."""

CHANCE = 0.1
"""Probability that a word is explained by chance."""

TINY = 1e-9

LEVELS = np.concatenate(([0.0], np.geomspace(0.5, 20_000, 255))).astype(np.float32)
"""The lifts that are told apart."""

MOST_READ = 100
"""Words of a side that are compared."""


class Explained(NamedTuple):
    """How well the words of one side are explained by those of the other, of each pair."""

    score: Array
    """Sum over its words of how much better than by chance, in nats."""
    words: Array
    """Words that are known, of which the sum is."""


@dataclass(frozen=True)
class WordPairs:
    """Lifts of pairs of words."""

    words: list[str]
    """Of both sides; those of one that the other lacks have no pair there."""
    keys: Numbers
    """Number of the source's word times the number of words, plus that of the target's; rising."""
    lifts: NDArray[np.float32]
    """Of each pair."""
    known: NDArray[np.bool_]
    """Whether a word is known on each side, (2, words)."""

    @classmethod
    def learn(cls, pairs: Sequence[tuple[str, str]]) -> Self:
        """Learn from sentence pairs.

        Raises:
            CorpusError: if there is nothing to learn from.
        """
        cut = [[[*chain(*map(cut_stems, line.split()))] for line in pair] for pair in pairs]
        if 2 * sum(max(map(len, pair)) > LEARNING.max_words for pair in cut) > len(cut):
            cut = [*map(_take_beginnings, cut)]
        aligner = learn_aligner(((" ".join(one), " ".join(other)) for one, other in cut), LEARNING)
        joint = np.sqrt(aligner.counts[0] * aligner.counts[1])
        source, target = np.divmod(aligner.keys, len(aligner.words[1]))
        totals = [
            np.bincount(column, joint, len(side)).astype(np.float64)
            for column, side in zip((source, target), aligner.words, strict=True)
        ]
        frequent = [
            _find_frequent(side, total) for side, total in zip(aligner.words, totals, strict=True)
        ]
        words = sorted({word for side in frequent for word in side})
        if not words:
            raise CorpusError(f"no word stands in {LEAST_COUNT} pairs; give other text")
        numbers = {word: number for number, word in enumerate(words)}
        renumbered = [
            np.array([numbers[word] if word in own else -1 for word in side], np.int64)
            for side, own in zip(aligner.words, frequent, strict=True)
        ]
        wanted = (
            (joint >= LEAST_JOINT) & (renumbered[0][source] >= 0) & (renumbered[1][target] >= 0)
        )
        lifts = joint * joint.sum() / (totals[0][source] * totals[1][target])
        keys = renumbered[0][source] * len(words) + renumbered[1][target]
        order = np.argsort(keys[wanted])
        return cls(
            words,
            keys[wanted][order],
            lifts[wanted][order].astype(np.float32),
            np.array([[word in own for word in words] for own in frequent], np.bool_),
        )

    @cached_property
    def _places(self) -> tuple[Numbers, NDArray[np.uint8]]:
        """Rows and columns of known words in the table of levels, and the table."""
        places = np.cumsum(self.known, axis=1, dtype=np.int64) * self.known
        table = np.zeros((places[0].max() + 1, places[1].max() + 1), np.uint8)
        source, target = np.divmod(self.keys, len(self.words))
        table[places[0][source], places[1][target]] = np.searchsorted(LEVELS, self.lifts) - 1
        return places, table

    def explain(self, source: FlatLines, target: FlatLines) -> tuple[Explained, Explained]:
        """Explain the target by the source, and the source by the target.

        Args:
            source: numbers of words; those from ``len(words)`` on are unknown.
            target: the same.
        """
        sides = _cut(source), _cut(target)
        grid = _Grid.of(*sides)
        spots = [self._find(lines, side) for side, lines in enumerate(sides)]
        lifts = LEVELS[self._places[1][spots[0][grid.row], spots[1][grid.column]]]
        same = sides[0].values[grid.row] == sides[1].values[grid.column]
        lifts[same] = np.maximum(lifts[same], SAME_LIFT)
        cells = _Cells(lifts, same, grid.nearness)
        return (
            _explain(sides[1], spots[1] > 0, grid.column, cells),
            _explain(sides[0], spots[0] > 0, grid.row, cells),
        )

    def _find(self, lines: FlatLines, side: int) -> Numbers:
        """Return the row or column of each word in the table; 0 if it is unknown."""
        inside = lines.values < len(self.words)
        return np.where(inside, self._places[0][side][np.where(inside, lines.values, 0)], 0)


def _take_beginnings(pair: Sequence[list[str]]) -> list[list[str]]:
    """Return equal shares of the words of both sides, as many as an aligner reads."""
    share = min(1.0, LEARNING.max_words / max(1, *map(len, pair)))
    return [words[: max(1, int(share * len(words)))] for words in pair]


class _Grid(NamedTuple):
    """Every word of a source beside every word of its target, one pair after another."""

    row: Numbers
    """Place of the source's word among those of all lines."""
    column: Numbers
    nearness: Array
    """How likely words at these places are to go together, but for a factor."""

    @classmethod
    def of(cls, source: FlatLines, target: FlatLines) -> Self:
        cells = source.lengths * target.lengths
        pair = np.repeat(np.arange(len(cells)), cells)
        place = np.arange(len(pair)) - np.repeat(np.cumsum(cells) - cells, cells)
        width = target.lengths[pair]
        row, column = np.divmod(place, np.maximum(width, 1))
        away = np.abs((row + 0.5) / source.lengths[pair] - (column + 0.5) / width)
        nearness = np.exp(-LEARNING.diagonal * away)
        return cls(row + source.starts[pair], column + target.starts[pair], nearness)


class _Cells(NamedTuple):
    lifts: NDArray[np.float32]
    same: NDArray[np.bool_]
    nearness: Array


def _explain(
    lines: FlatLines, known: NDArray[np.bool_], place: Numbers, cells: _Cells
) -> Explained:
    size = len(lines.values)
    known = known | (np.bincount(place[cells.same], minlength=size) > 0)
    sums = np.bincount(place, cells.lifts * cells.nearness, size)
    norms = np.maximum(np.bincount(place, cells.nearness, size), TINY)
    gains = np.log(CHANCE + (1 - CHANCE) * sums / norms)
    gains = np.where(known, gains, 0)
    return Explained(lines.add_up(gains), lines.add_up(known))


def _cut(lines: FlatLines) -> FlatLines:
    place = np.arange(len(lines.values)) - lines.starts[lines.owners]
    return lines.keep(place < MOST_READ)


def _find_frequent(words: Sequence[str], totals: Array) -> set[str]:
    order = np.argsort(-totals, kind="stable")[:MOST_WORDS]
    return {words[number] for number in order if totals[number] >= LEAST_COUNT}

"""Word pairs that translate each other: an aligner's table, small enough to judge many pairs.

The measure of two words is their lift, how much likelier they translate each other than by chance:
``p(t | s) / p(t)``, with the geometric mean of both directions' counts as the joint count. A word
of the target is explained by a mixture of the source's words, as in IBM model 1 (Brown et al.
1993), and chance; its score is the logarithm of its advantage over chance alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.screening.flat_text import STEM_LETTERS, Array, FlatLines, Numbers, cut_stems
from nmt_core.text.aligner.learning import learn_aligner
from nmt_core.text.aligner.words import AlignerConfig

LEARNING = AlignerConfig(
    max_words=60,
    stem_length=STEM_LETTERS,
    tail_length=0,
    model_1_iterations=5,
    hmm_iterations=0,
    agreement_iterations=0,
)

MIN_COUNT = 3
"""Minimum number of pairs with a word; rarer words are unknown."""

MIN_JOINT = 1.5
"""Minimum expected count of a word pair: more than a single pair, which may be wrong, can teach."""

MAX_WORDS = 8000
"""Maximum number of known words of a side, the most frequent ones."""

SAME_LIFT = 50.0
"""Lift of two unknown words with the same spelling, such as names."""

CHANCE = 0.1
"""Probability that a word is explained by chance."""

TINY = 1e-9

LEVELS = np.concatenate(([0.0], np.geomspace(0.5, 20_000, 255))).astype(np.float32)
"""Quantized lifts."""

MAX_READ = 100
"""Number of words of a side that are compared."""


class Explained(NamedTuple):
    """Return for each pair how well the words of one side explain those of the other."""

    score: Array
    """Sum over its words of the advantage over chance, in nats."""
    words: Array
    """Number of known words in that sum."""


@dataclass(frozen=True)
class WordPairs:
    """Lifts of word pairs."""

    words: list[str]
    """Words of both sides."""
    keys: Numbers
    """Number of the source word times the number of words, plus that of the target word; sorted."""
    lifts: NDArray[np.float32]
    """The lift of each key."""
    known: NDArray[np.bool_]
    """Whether a word is known on each side, (2, words)."""

    @classmethod
    def learn(cls, pairs: Sequence[tuple[str, str]]) -> Self:
        """Learn from sentence pairs.

        Raises:
            CorpusError: if no word is frequent enough.
        """
        cut = [[[*chain(*map(cut_stems, line.split()))] for line in pair] for pair in pairs]
        if 2 * sum(max(map(len, pair)) > LEARNING.max_words for pair in cut) > len(cut):
            cut = [*map(_take_beginnings, cut)]
        aligner = learn_aligner(((" ".join(one), " ".join(other)) for one, other in cut), LEARNING)
        joint = np.sqrt(aligner.counts[0] * aligner.counts[1])
        sides = np.divmod(aligner.keys, len(aligner.words[1]))
        totals, frequent = [], []
        for own_words, column in zip(aligner.words, sides, strict=True):
            total = np.bincount(column, joint, len(own_words)).astype(np.float64)
            order = np.argsort(-total, kind="stable")[:MAX_WORDS]
            totals.append(total)
            frequent.append({own_words[n] for n in order if total[n] >= MIN_COUNT})
        words = sorted(frequent[0] | frequent[1])
        if not words:
            raise CorpusError(f"no word occurs in {MIN_COUNT} pairs; give other text")
        numbers = {word: number for number, word in enumerate(words)}
        source, target = (
            np.array([numbers[word] if word in own else -1 for word in own_words], np.int64)[column]
            for own_words, own, column in zip(aligner.words, frequent, sides, strict=True)
        )
        wanted = (joint >= MIN_JOINT) & (source >= 0) & (target >= 0)
        lifts = joint * joint.sum() / (totals[0][sides[0]] * totals[1][sides[1]])
        keys = source * len(words) + target
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

        Words are numbers; those from ``len(words)`` on are unknown.
        """
        sides = _cut(source), _cut(target)
        cells = sides[0].lengths * sides[1].lengths
        pair = np.repeat(np.arange(len(cells)), cells)
        place = np.arange(len(pair)) - np.repeat(np.cumsum(cells) - cells, cells)
        width = sides[1].lengths[pair]
        row, column = np.divmod(place, np.maximum(width, 1))
        away = np.abs((row + 0.5) / sides[0].lengths[pair] - (column + 0.5) / width)
        nearness = np.exp(-LEARNING.diagonal * away)
        row, column = row + sides[0].starts[pair], column + sides[1].starts[pair]
        spots = [self._find(lines, side) for side, lines in enumerate(sides)]
        lifts = LEVELS[self._places[1][spots[0][row], spots[1][column]]]
        same = sides[0].values[row] == sides[1].values[column]
        lifts[same] = np.maximum(lifts[same], SAME_LIFT)
        cells_of = _Cells(lifts, same, nearness)
        return (
            _explain(sides[1], spots[1] > 0, column, cells_of),
            _explain(sides[0], spots[0] > 0, row, cells_of),
        )

    def _find(self, lines: FlatLines, side: int) -> Numbers:
        """Return the row or column of each word in the table; 0 if it is unknown."""
        inside = lines.values < len(self.words)
        return np.where(inside, self._places[0][side][np.where(inside, lines.values, 0)], 0)


def _take_beginnings(pair: Sequence[list[str]]) -> list[list[str]]:
    """Return equal shares of the words of both sides, as many as the aligner reads."""
    share = min(1.0, LEARNING.max_words / max(1, *map(len, pair)))
    return [words[: max(1, int(share * len(words)))] for words in pair]


class _Cells(NamedTuple):
    """Every word of a source beside every word of its target, one pair after another."""

    lifts: NDArray[np.float32]
    same: NDArray[np.bool_]
    """Whether both words are the same."""
    nearness: Array
    """Relative probability of an alignment of their places."""


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
    return lines.keep(place < MAX_READ)

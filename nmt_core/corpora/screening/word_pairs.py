"""Word pairs that translate each other: a table of an aligner, small enough to judge many pairs.

The measure of two words is their lift, how much likelier they translate each other than by chance:
``p(t | s) / p(t)``, with the geometric mean of both directions' counts as the joint count. A word
of the target is explained by a mixture of the source's words, as in IBM model 1 (Brown et al.
1993), and chance; its gain is the logarithm of its advantage over chance alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.errors import CorpusError
from nmt_core.text.aligner.learning import learn_aligner
from nmt_core.text.aligner.pieces import CACHED_WORDS, AlignerConfig, cut_word, is_sign

STEM_LETTERS = 6
"""Length of a stem, which represents a word."""

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
"""Lift of two words with the same spelling, such as names."""

CHANCE = 0.1
"""Probability that a word is explained by chance."""

LEVELS = np.concatenate(([0.0], np.geomspace(0.5, 20_000, 255))).astype(np.float32)
"""Quantized lifts."""

MAX_READ = 100
"""Number of words of a side that are compared."""


Gain = tuple[float, int]
"""Sum over the known words of a line of their advantage over chance, in nats, and their number."""


@dataclass(frozen=True)
class WordPairs:
    """Lifts of word pairs."""

    words: tuple[list[str], list[str]]
    """Known words of source and target."""
    levels: NDArray[np.uint8]
    """Index into ``LEVELS`` of each pair, (1 + source, 1 + target); row and column 0 are
    unknown words."""

    @classmethod
    def learn(cls, pairs: Sequence[tuple[str, str]]) -> Self:
        """Learn from sentence pairs.

        Raises:
            CorpusError: if no word is frequent enough.
        """
        cut = [(cut_stems(source), cut_stems(target)) for source, target in pairs]
        if 2 * sum(max(map(len, pair)) > LEARNING.max_words for pair in cut) > len(cut):
            cut = [*map(_take_beginnings, cut)]
        aligner = learn_aligner(((" ".join(one), " ".join(other)) for one, other in cut), LEARNING)
        joint = np.sqrt(aligner.counts[0] * aligner.counts[1])
        sides = np.divmod(aligner.keys, len(aligner.words[1]))
        lifts = joint * joint.sum()
        known: list[list[str]] = []
        places = []
        for words, column in zip(aligner.words, sides, strict=True):
            totals = np.bincount(column, joint, len(words)).astype(np.float64)
            order = np.argsort(-totals, kind="stable")[:MAX_WORDS]
            frequent = order[totals[order] >= MIN_COUNT]
            known.append([words[number] for number in frequent])
            numbers = np.zeros(len(words), np.int64)
            numbers[frequent] = np.arange(1, len(frequent) + 1)
            places.append(numbers[column])
            lifts /= totals[column]
        if not all(known):
            raise CorpusError(f"no word occurs in {MIN_COUNT} pairs; give other text")
        levels = np.zeros((1 + len(known[0]), 1 + len(known[1])), np.uint8)
        taken = (joint >= MIN_JOINT) & (places[0] > 0) & (places[1] > 0)
        levels[places[0][taken], places[1][taken]] = (
            np.searchsorted(LEVELS, lifts[taken].astype(np.float32)) - 1
        )
        return cls((known[0], known[1]), levels)

    @cached_property
    def _places(self) -> list[dict[str, int]]:
        return [{word: n for n, word in enumerate(words, start=1)} for words in self.words]

    def explain(self, source: str, target: str) -> tuple[Gain, Gain]:
        """Return the gains of the source's words and of the target's, each by the other side."""
        sides = [cut_stems(line)[:MAX_READ] for line in (source, target)]
        if not all(sides):
            return (0.0, 0), (0.0, 0)
        places = [
            np.array([known.get(word, 0) for word in words])
            for words, known in zip(sides, self._places, strict=True)
        ]
        lifts = LEVELS[self.levels[places[0][:, None], places[1]]]
        known = [place > 0 for place in places]
        for word in {*sides[0]} & {*sides[1]}:
            rows, columns = ([n for n, each in enumerate(side) if each == word] for side in sides)
            same = np.ix_(rows, columns)
            lifts[same] = np.maximum(lifts[same], SAME_LIFT)
            known[0][rows] = known[1][columns] = True
        middles = [(np.arange(len(side)) + 0.5) / len(side) for side in sides]
        nearness = np.exp(-LEARNING.diagonal * np.abs(middles[0][:, None] - middles[1]))
        weighted = lifts * nearness
        of_source, of_target = (
            np.log(CHANCE + (1 - CHANCE) * weighted.sum(axis) / nearness.sum(axis))
            for axis in (1, 0)
        )
        return (
            (float(of_source[known[0]].sum()), int(known[0].sum())),
            (float(of_target[known[1]].sum()), int(known[1].sum())),
        )


def cut_stems(line: str) -> list[str]:
    """Return the words of a line without punctuation, as stems in lower case."""
    return [*chain.from_iterable(map(_cut_word, line.split()))]


@lru_cache(CACHED_WORDS)
def _cut_word(word: str) -> tuple[str, ...]:
    return tuple(
        piece.casefold()[:STEM_LETTERS]
        for piece in cut_word(word)
        if not (len(piece) == 1 and is_sign(piece))
    )


def _take_beginnings(pair: tuple[list[str], list[str]]) -> tuple[list[str], list[str]]:
    """Return equal shares of the words of both sides, as many as the aligner reads."""
    share = min(1.0, LEARNING.max_words / max(1, *map(len, pair)))
    source, target = (words[: max(1, int(share * len(words)))] for words in pair)
    return source, target

"""Signals of pairs: a number for each filter, which grows with the defect."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, get_args

import numpy as np
from numpy.typing import NDArray

from nmt_core.corpora.filters import count_letters
from nmt_core.corpora.screening.flat_text import (
    Array,
    WordNumbers,
    find_usual_scripts,
    measure_copied,
    measure_foreign_letters,
    measure_repetition,
)
from nmt_core.corpora.screening.language_scores import (
    FREQUENT,
    LanguageScorer,
    find_base,
    find_languages,
)
from nmt_core.corpora.screening.settings import FilterName
from nmt_core.corpora.screening.thresholds import PLAINLY_WRONG, Measured
from nmt_core.corpora.screening.word_pairs import Explained, WordPairs
from nmt_core.literals.checking import check_literals
from nmt_core.text.aligner.words import is_sign

FILTERS: tuple[FilterName, ...] = get_args(FilterName)

PAIRS_AT_ONCE = 1000
"""Size of a batch; larger ones lose more in cache misses than they win in calls."""

TO_DEVIATION = 1.4826
"""Median absolute deviation to standard deviation, for normal data."""

ADDED_WORDS = 6
"""Number of average words that smooth the gain of a line."""

LANGUAGE_LINES = 2000
"""Number of lines of a side from which candidate languages are chosen."""

MAX_CANDIDATES = 15
"""Maximum number of candidates of these lines, besides frequent languages."""

GAIN_PAIRS = 3000
"""Number of pairs whose median gain is taken."""

ENOUGH_TRUSTED = 1000
"""Number of trusted pairs from which lengths and averages are learnt instead of the sample."""

_HAS_LITERAL = re.compile(r"[0-9@{}<%]|://|www\.")
"""Cheap pre-filter: lines without a match contain no literal."""

_DIGIT = re.compile("[0-9]")

LineList = Sequence[str]


@dataclass(frozen=True)
class LengthModel:
    """Normal distribution of the log ratio of lengths, and how often final punctuation differs.

    The variance is ``every + short / letters``: it shrinks as sentences grow, but not to zero.
    """

    mean: float
    every: float
    short: float
    unended: tuple[float, float]
    """Share of pairs whose source, or target, alone lacks final punctuation."""

    @classmethod
    def fit(cls, source: LineList, target: LineList) -> Self:
        """Fit by medians, which are robust against a minority of wrong pairs."""
        ratios, letters = _compare_lengths(source, target)
        mean = float(np.median(ratios))
        order = np.argsort(letters, kind="stable")
        spread, size = [], []
        for rows in np.array_split(order, max(1, min(20, len(order) // 50))):
            spread.append((TO_DEVIATION * np.median(np.abs(ratios[rows] - mean))) ** 2)
            size.append(1 / np.median(letters[rows]))
        slope, level = np.polyfit(size, spread, 1) if len({*size}) > 1 else (0.0, spread[0])
        without = [
            float(side.sum() + 1) / (len(side) + 2) for side in _find_unended(source, target)
        ]
        return cls(mean, float(max(level, 0.01)), float(max(slope, 0.0)), (without[0], without[1]))

    def measure(self, source: LineList, target: LineList) -> Array:
        """Return the surprise in nats; 0 for the most likely ratio."""
        ratios, letters = _compare_lengths(source, target)
        away = ratios - self.mean
        surprise = away**2 / (2 * (self.every + self.short / letters))
        for without, shorter, share in zip(
            _find_unended(source, target), (away > 0, away < 0), self.unended, strict=True
        ):
            surprise += (without & shorter) * -np.log(share)
        return surprise


def _compare_lengths(source: LineList, target: LineList) -> tuple[Array, Array]:
    """Return logarithms of the ratios of lengths, and mean lengths in letters."""
    ours, theirs = (
        np.array([count_letters(line.strip()) for line in lines], np.float64) + 3
        for lines in (source, target)
    )
    return np.log(theirs / ours), np.sqrt(ours * theirs)


def _find_unended(source: LineList, target: LineList) -> list[NDArray[np.bool_]]:
    """Mark sources, and targets, that alone lack final punctuation."""
    ended = [
        np.array([is_sign(line.rstrip()[-1:] or " ") for line in side], np.bool_)
        for side in (source, target)
    ]
    return [~ended[0] & ended[1], ended[0] & ~ended[1]]


Gains = tuple[float, float]
"""Median over a sample's lines of the gain of a word on each side, in nats."""


@dataclass(frozen=True)
class Signals:
    """Measures of pairs, with parameters learnt from a sample of their corpus."""

    languages: tuple[str, str]
    """Codes of source and target."""
    candidates: list[str]
    """Languages to distinguish."""
    scripts: tuple[list[str], list[str]]
    """Usual scripts of each side."""
    words: WordPairs
    lengths: LengthModel
    gains: Gains
    """Towards which the gains of short lines are smoothed."""

    def measure(self, source: LineList, target: LineList) -> Measured:
        """Measure pairs, each independently of its neighbours."""
        parts = [
            self._measure(source[at : at + PAIRS_AT_ONCE], target[at : at + PAIRS_AT_ONCE])
            for at in range(0, len(source), PAIRS_AT_ONCE)
        ]
        return {
            name: np.round(np.concatenate([part[name] for part in parts] or [np.zeros(0)]), 6)
            for name in FILTERS
        }

    @cached_property
    def _scorer(self) -> LanguageScorer:
        return LanguageScorer(self.candidates)

    @cached_property
    def _numbers(self) -> WordNumbers:
        return WordNumbers(self.words.words)

    def find_gains(self, source: LineList, target: LineList) -> Gains:
        """Return the median gains of a sample."""
        read = [self._numbers.read(lines[:GAIN_PAIRS]) for lines in (source, target)]
        source_gain, target_gain = (
            float(np.median(side.score / np.maximum(side.words, 1)))
            for side in self.words.explain(read[0], read[1])
        )
        return source_gain, target_gain

    def _measure(self, source: LineList, target: LineList) -> Measured:
        sides = source, target
        self._numbers.forget_many()
        numbers = [self._numbers.read(lines) for lines in sides]
        explained = self.words.explain(numbers[0], numbers[1])
        repeated = [measure_repetition(lines) for lines in numbers]
        return {
            "language": np.maximum(*map(self._scorer.measure_doubt, sides, self.languages)),
            "script": np.maximum(*map(measure_foreign_letters, sides, self.scripts)),
            "copied": measure_copied(numbers[0], numbers[1]),
            "repetition": np.abs(repeated[0] - repeated[1]),
            "literals": count_differing_literals(source, target, self.languages),
            "truncated": self.lengths.measure(source, target),
            "alignment": -np.minimum(*map(_smooth_gain, explained, self.gains)),
        }


def _smooth_gain(explained: Explained, usual: float) -> Array:
    return (explained.score + usual * ADDED_WORDS) / (explained.words + ADDED_WORDS)


def count_differing_literals(
    source: LineList, target: LineList, languages: tuple[str, str]
) -> Array:
    """Return the number of literals of each pair without a counterpart on the other side.

    Plus one if the target has digits: a number is then changed rather than omitted.
    """
    differing = np.zeros(len(source))
    for row, (one, other) in enumerate(zip(source, target, strict=True)):
        if _HAS_LITERAL.search(one) or _HAS_LITERAL.search(other):
            breaches = len(check_literals(one, other, languages))
            differing[row] = breaches + bool(breaches and _DIGIT.search(other))
    return differing


def learn_signals(
    sample: tuple[LineList, LineList],
    trusted: tuple[LineList, LineList],
    languages: tuple[str, str],
) -> Signals:
    """Learn from the pairs of a sample that have no obvious defect.

    Lengths, scripts and gains are learnt from trusted pairs if there are enough.

    Raises:
        CorpusError: if no pair is left, or py3langid is missing.
    """
    every = LanguageScorer()
    counts = Counter[str]()
    for lines in sample:
        counts += find_languages(every.score(lines[:LANGUAGE_LINES]), every.codes)
    frequent = [code for code, _ in counts.most_common(MAX_CANDIDATES)]
    candidates = sorted({*map(find_base, languages), *FREQUENT, *frequent})
    rows = find_sound(sample, languages, LanguageScorer(candidates))
    source, target = ([lines[row] for row in rows] for lines in sample)
    taught = trusted if len(trusted[0]) >= ENOUGH_TRUSTED else (source, target)
    learnt = Signals(
        languages,
        candidates,
        (find_usual_scripts(taught[0]), find_usual_scripts(taught[1])),
        WordPairs.learn([*zip(source, target, strict=True)]),
        LengthModel.fit(*taught),
        (0.0, 0.0),
    )
    return replace(learnt, gains=learnt.find_gains(*taught))


def find_sound(
    sample: tuple[LineList, LineList], languages: tuple[str, str], scorer: LanguageScorer
) -> list[int]:
    """Return the pairs without an obvious defect."""
    numbers = WordNumbers()
    read = [numbers.read(lines) for lines in sample]
    sound = measure_copied(read[0], read[1]) <= PLAINLY_WRONG["copied"]
    for lines, code, side in zip(sample, languages, read, strict=True):
        sound &= measure_repetition(side) <= PLAINLY_WRONG["repetition"]
        sound &= scorer.measure_doubt(lines, code) <= PLAINLY_WRONG["language"]
    rows: list[int] = np.flatnonzero(sound).tolist()
    return rows

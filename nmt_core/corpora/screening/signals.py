"""What is measured of a pair: a number for each filter, which grows with what is wrong."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, get_args

import numpy as np
from numpy.typing import NDArray

from nmt_core.corpora.filters import count_letters
from nmt_core.corpora.screening.flat_text import Array, FlatLines
from nmt_core.corpora.screening.language_scores import (
    FREQUENT,
    LanguageScorer,
    find_base,
    find_languages,
)
from nmt_core.corpora.screening.scripts import find_usual_scripts, measure_foreign_letters
from nmt_core.corpora.screening.settings import FilterName
from nmt_core.corpora.screening.thresholds import PLAINLY_WRONG, Measured
from nmt_core.corpora.screening.word_numbers import WordNumbers, measure_repetition
from nmt_core.corpora.screening.word_pairs import Explained, WordPairs
from nmt_core.literals.checking import check_literals
from nmt_core.text.aligner.words import is_sign

FILTERS: tuple[FilterName, ...] = get_args(FilterName)

PAIRS_AT_ONCE = 1000
"""Pairs that are measured together; more of them lose in cache what they win in calls."""

TO_DEVIATION = 1.4826
"""Makes a standard deviation of the median distance from the median, if it is normal."""

ADDED_WORDS = 6
"""Average words that are added to a line, so that short ones seldom stand out."""

READ_FOR_LANGUAGES = 2000
"""Lines of a side in which languages are looked for."""

MOST_FOUND = 15
"""Languages found there that are told apart, besides frequent ones."""

READ_FOR_MEANS = 3000
"""Pairs whose medians are taken."""

ENOUGH_TRUSTED = 1000
"""Trusted pairs from which lengths and averages are learnt; fewer are no better than a sample."""

_HAS_LITERAL = re.compile(r"[0-9@{}<%]|://|www\.")
"""Where there is anything that may differ; the rest of the lines is not read for it."""

_DIGIT = re.compile("[0-9]")

LineList = Sequence[str]


@dataclass(frozen=True)
class LengthModel:
    """Normal distribution of the logarithm of the ratio of lengths, and how often ends differ.

    The variance is ``every + short / letters``: it shrinks as sentences grow, but not to nothing.
    """

    mean: float
    every: float
    short: float
    endless: tuple[float, float]
    """Share of pairs whose source, or target, alone ends without a sign."""

    @classmethod
    def fit(cls, source: LineList, target: LineList) -> Self:
        """Fit by medians, which a minority of wrong pairs does not move."""
        ratios, letters = _compare_lengths(source, target)
        mean = float(np.median(ratios))
        order = np.argsort(letters, kind="stable")
        spread, size = [], []
        for rows in np.array_split(order, max(1, min(20, len(order) // 50))):
            spread.append((TO_DEVIATION * np.median(np.abs(ratios[rows] - mean))) ** 2)
            size.append(1 / np.median(letters[rows]))
        slope, level = np.polyfit(size, spread, 1) if len({*size}) > 1 else (0.0, spread[0])
        without = [
            float(side.sum() + 1) / (len(side) + 2) for side in _find_endless(source, target)
        ]
        return cls(mean, float(max(level, 0.01)), float(max(slope, 0.0)), (without[0], without[1]))

    def measure(self, source: LineList, target: LineList) -> Array:
        """Return the surprise in nats, that of the most likely ratio being 0."""
        ratios, letters = _compare_lengths(source, target)
        away = ratios - self.mean
        surprise = away**2 / (2 * (self.every + self.short / letters))
        for without, shorter, share in zip(
            _find_endless(source, target), (away > 0, away < 0), self.endless, strict=True
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


def _find_endless(source: LineList, target: LineList) -> list[NDArray[np.bool_]]:
    """Return which sources, and which targets, alone lack a sign at their end."""
    ended = [
        np.array([is_sign(line.rstrip()[-1:] or " ") for line in side], np.bool_)
        for side in (source, target)
    ]
    return [~ended[0] & ended[1], ended[0] & ~ended[1]]


Gains = tuple[float, float]
"""Nats by which a word of either side is explained, the median of a sample's lines."""


@dataclass(frozen=True)
class Signals:
    """All that is measured of pairs, as a sample of their corpus taught it."""

    languages: tuple[str, str]
    """Codes of source and target."""
    candidates: list[str]
    """Languages that a line may be in."""
    scripts: tuple[list[str], list[str]]
    """What each side is written in."""
    words: WordPairs
    lengths: LengthModel
    gains: Gains
    """To which those of short lines are drawn."""

    def measure(self, source: LineList, target: LineList) -> Measured:
        """Measure pairs; no pair's numbers depend on its neighbours."""
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
        """Return medians over lines of what a word of each side is explained by."""
        read = [self._numbers.read(lines[:READ_FOR_MEANS]) for lines in (source, target)]
        one, other = (
            float(np.median(side.score / np.maximum(side.words, 1)))
            for side in self.words.explain(read[0], read[1])
        )
        return one, other

    def _measure(self, source: LineList, target: LineList) -> Measured:
        sides = source, target
        self._numbers.forget_many()
        numbers = [self._numbers.read(lines) for lines in sides]
        explained = self.words.explain(numbers[0], numbers[1])
        repeated = [measure_repetition(lines) for lines in numbers]
        return {
            "language": np.maximum(
                *(
                    self._scorer.measure_doubt(lines, code)
                    for lines, code in zip(sides, self.languages, strict=True)
                )
            ),
            "script": np.maximum(
                *(
                    measure_foreign_letters(lines, usual)
                    for lines, usual in zip(sides, self.scripts, strict=True)
                )
            ),
            "copied": measure_copied(numbers[0], numbers[1]),
            "repetition": np.abs(repeated[0] - repeated[1]),
            "literals": count_differing_literals(source, target, self.languages),
            "truncated": self.lengths.measure(source, target),
            "alignment": -np.minimum(*self._measure_gains(explained)),
        }

    def _measure_gains(self, explained: Sequence[Explained]) -> list[Array]:
        return [
            (side.score + gain * ADDED_WORDS) / (side.words + ADDED_WORDS)
            for side, gain in zip(explained, self.gains, strict=True)
        ]


def measure_copied(source: FlatLines, target: FlatLines) -> Array:
    """Return the share of words that stand on both sides, some words being added that do not."""
    size = int(max(source.values.max(initial=0), target.values.max(initial=0))) + 1
    rows = len(source.lengths)
    keys = [lines.owners * size + lines.values for lines in (source, target)]
    seen = [np.unique(side) for side in keys]
    shared = np.bincount(
        np.intersect1d(seen[0], seen[1], assume_unique=True) // size, minlength=rows
    )
    most = np.maximum(*(np.bincount(side // size, minlength=rows) for side in seen))
    return shared / (most + 3.0)


def count_differing_literals(
    source: LineList, target: LineList, languages: tuple[str, str]
) -> Array:
    """Return how many literals of each pair have no counterpart on the other side.

    One more where the target has digits: a number is then changed rather than left out.
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
    """Learn what is usual in a sample, from those of its pairs that nothing is plainly wrong with.

    Args:
        sample: lines of source and target.
        trusted: the same of sound text, which teaches lengths, scripts and averages if enough.
        languages: codes of source and target.

    Raises:
        CorpusError: if nothing is left to learn from, or py3langid is missing.
    """
    every = LanguageScorer()
    found = Counter[str]()
    for lines in sample:
        found += find_languages(every.score(lines[:READ_FOR_LANGUAGES]), every.codes)
    frequent = [code for code, _ in found.most_common(MOST_FOUND)]
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
    """Return the numbers of the pairs that nothing is plainly wrong with, as far as is known."""
    numbers = WordNumbers()
    read = [numbers.read(lines) for lines in sample]
    sound = measure_copied(read[0], read[1]) <= PLAINLY_WRONG["copied"]
    for lines, code, side in zip(sample, languages, read, strict=True):
        sound &= measure_repetition(side) <= PLAINLY_WRONG["repetition"]
        sound &= scorer.measure_doubt(lines, code) <= PLAINLY_WRONG["language"]
    return np.flatnonzero(sound).tolist()

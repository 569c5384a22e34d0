"""Sentences of a test set with what is said of them, and which of them a report shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from stages.runtime.drawn_lines import choose


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence of the test set with its translation."""

    number: int
    """Its line, from 1."""
    source: str
    reference: str
    hypothesis: str
    score: float
    """chrF of this sentence alone (0-100)."""
    links: tuple[int, ...] = ()
    """For each word of the translation, the number of its source word, or below 0 for none."""
    before: str | None = None
    """The champion's translation, where it is compared."""
    gain: float = 0.0
    """chrF less that of the champion."""


def choose_worst(sentences: Sequence[JudgedSentence], most: int) -> list[JudgedSentence]:
    """Return the sentences of the lowest scores, the longest of equal ones first."""
    return sorted(sentences, key=lambda one: (one.score, -len(one.reference), one.number))[:most]


def choose_best(sentences: Sequence[JudgedSentence], most: int) -> list[JudgedSentence]:
    """Return the sentences of the highest scores, the longest of equal ones first."""
    return sorted(sentences, key=lambda one: (-one.score, -len(one.reference), one.number))[:most]


def choose_random(
    sentences: Sequence[JudgedSentence], most: int, seed: int
) -> list[JudgedSentence]:
    """Return sentences drawn by a seed, in order."""
    return [sentences[number] for number in choose(len(sentences), most, seed)]


def choose_changed(
    sentences: Sequence[JudgedSentence], most: int, *, gained: bool
) -> list[JudgedSentence]:
    """Return the largest gains, or losses, against the champion; only those that are any."""
    way = 1 if gained else -1
    moved = [one for one in sentences if one.gain * way > 0]
    return sorted(moved, key=lambda one: (-one.gain * way, one.number))[:most]

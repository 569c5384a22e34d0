"""Slices of a test set: subsets of sentences with a common property, scored separately.

Only source and reference decide which sentences belong to a slice, not the translations.
"""

import re
from collections.abc import Callable, Mapping

import numpy as np
import regex
from numpy.typing import NDArray

from nmt_core.base.config import Config
from nmt_core.evaluation.metric import Counts, Mask, SlicedText, SummedMetric
from nmt_core.evaluation.registry import SliceName
from nmt_core.evaluation.significance import resample_scores
from nmt_core.literals.finding import LiteralKind, find_literals
from nmt_core.text.words import WORD

FEW_WORDS, MANY_WORDS = 8, 25
"""Maximum words of a short source, and minimum words of a long one."""

NEGATIONS = {
    "cs": r"\b(?:ne|není|nejsou|nikdy|nikdo|nic|nikde|žádn\w*|bez)\b",
    "da": r"\b(?:ikke|aldrig|ingen|intet|hverken)\b",
    "de": r"\b(?:nicht|kein\w*|nie|niemals|niemand\w*|nichts|nirgend\w*|weder|keinesfalls)\b",
    "en": r"\b(?:not|no|never|nobody|none|nothing|nowhere|neither|nor|cannot)\b|n['’]t\b",
    "es": r"\b(?:no|nunca|jamás|nadie|nada|ningun[oa]s?|ningún|tampoco|ni)\b",
    "fr": r"\b(?:pas|jamais|aucune?|rien|personne|ni|nullement|guère)\b",
    "it": r"\b(?:non|mai|nessun[oa']?|niente|nulla|né|neanche|nemmeno)\b",
    "ja": r"ない|ません|なかった|ず(?=[、。に])",
    "nl": r"\b(?:niet|geen|nooit|niemand|niets|nergens|noch)\b",
    "pl": r"\b(?:nie|nigdy|nikt|nic|nigdzie|żad\w*|ani)\b",
    "pt": r"\b(?:não|nunca|jamais|ninguém|nada|nenhum\w*|tampouco|nem)\b",
    "ru": r"\b(?:не|нет|никогда|никто|ничего|ничто|нигде|никак\w*|ни)\b",
    "sv": r"\b(?:inte|aldrig|ingen|inget|inga|varken|ej)\b",
    "zh": r"不|没|沒|无法|無法|非|未",
}
"""Regular expression of negations in each language, case-insensitive."""


class SliceScore(Config):
    """The scores of a slice."""

    label: str
    sentences: int
    """Number of sentences; a slice without sentences has no scores."""
    scores: dict[str, tuple[float, float, float]]
    """By metric: the score, and both bounds of its 95 % bootstrap interval."""


def _count_words(text: SlicedText) -> NDArray[np.int64]:
    """Return the words of each source; in scripts without spaces, its characters."""
    words = (re.findall(WORD, line.casefold()) for line in text.sources)
    return np.array([sum(word[0].isalnum() for word in own) for own in words], np.int64)


def _find_numbers(text: SlicedText) -> list[bool]:
    kinds = LiteralKind.NUMBER, LiteralKind.DATE
    by_line = (find_literals(line, text.languages[0]) for line in text.sources)
    return [any(literal.kind in kinds for literal in literals) for literals in by_line]


def _find_negation(text: SlicedText) -> list[bool] | None:
    for lines, language in zip((text.sources, text.references), text.languages, strict=True):
        if words := NEGATIONS.get(language.partition("-")[0]):
            return [regex.search(words, line, regex.IGNORECASE) is not None for line in lines]
    return None


SLICES: Mapping[SliceName, tuple[str, Callable[[SlicedText], Mask | list[bool] | None]]] = {
    "short": (f"short, up to {FEW_WORDS} words", lambda text: _count_words(text) <= FEW_WORDS),
    "long": (f"long, from {MANY_WORDS} words on", lambda text: _count_words(text) >= MANY_WORDS),
    "numbers": ("with a number, date or time", _find_numbers),
    "negation": ("with a negation", _find_negation),
}
"""Label of each slice, and a function that finds its sentences, or returns None if it does not
support the languages."""


def find_slice(name: SliceName, text: SlicedText) -> Mask | None:
    """Return which sentences belong to a slice; None if the languages are not supported."""
    _, find = SLICES[name]
    members = find(text)
    return None if members is None else np.array(members, bool)


def find_slices(text: SlicedText) -> dict[str, tuple[str, Mask]]:
    """Return label and sentences of every supported slice, by name."""
    masks = {name: find_slice(name, text) for name in SLICES}
    return {name: (SLICES[name][0], mask) for name, mask in masks.items() if mask is not None}


def score_slices(
    slices: Mapping[str, tuple[str, Mask]],
    metrics: Mapping[str, tuple[SummedMetric, Counts]],
    *,
    resamples: int,
    seed: int,
) -> dict[str, SliceScore]:
    """Return the scores of each slice, computed from its sentences only.

    ``slices`` has the label and mask of each slice, ``metrics`` each metric with the counts of all
    sentences. Without resamples, intervals have no width.
    """
    return {
        name: SliceScore(
            label=label,
            sentences=int(mask.sum()),
            scores={
                metric: _score_subset(scorer, counts[mask], resamples, seed)
                for metric, (scorer, counts) in metrics.items()
                if mask.any()
            },
        )
        for name, (label, mask) in slices.items()
    }


def _score_subset(
    metric: SummedMetric, counts: Counts, resamples: int, seed: int
) -> tuple[float, float, float]:
    value = float(metric.score_of_sums(counts.sum(axis=0)[None])[0])
    if not resamples:
        return value, value, value
    drawn = resample_scores(metric.score_of_sums, counts, resamples=resamples, seed=seed)
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return value, low, high

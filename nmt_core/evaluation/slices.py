"""Slices of a test set: the sentences that have something in common, each scored by itself.

A slice is found by its name. It tells of each sentence whether it belongs to the slice, by source,
reference and training text; the translations that are judged have no influence.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import regex

from nmt_core.base.config import Config
from nmt_core.evaluation.metric import Counts, Mask, Slice, SlicedText, SummedMetric
from nmt_core.evaluation.registered import SLICES
from nmt_core.evaluation.significance import resample_scores
from nmt_core.literals.finding import LiteralKind, find_literals
from nmt_core.text.words import WORD

FEW_WORDS, MANY_WORDS = 8, 25
"""Up to the one a source is short, from the other on it is long."""

RARE = 2
"""Lines of training text that a rare word stands in, at most."""

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
"""What negates in a language, whatever its case."""

_NEGATION = {code: regex.compile(words, regex.IGNORECASE) for code, words in NEGATIONS.items()}
_CAPITALIZED = regex.compile(r"\p{Lu}[\p{L}\p{M}\p{Nd}’'\-]*[\p{L}\p{M}\p{Nd}]")


class SliceScore(Config):
    """The scores of a slice."""

    label: str
    sentences: int
    """How many belong to it; 0 gives no scores."""
    scores: dict[str, tuple[float, float, float]]
    """By metric: the score, and the bounds of its 95 % bootstrap interval."""


def _cut(line: str) -> list[str]:
    """Return the words of a line in lower case; a character in scripts that write no spaces."""
    return [word for word in WORD.findall(line.casefold()) if word[0].isalnum()]


def _find_short(text: SlicedText) -> list[bool]:
    return [len(_cut(line)) <= FEW_WORDS for line in text.sources]


def _find_long(text: SlicedText) -> list[bool]:
    return [len(_cut(line)) >= MANY_WORDS for line in text.sources]


def _find_rare(text: SlicedText) -> list[bool] | None:
    if not text.word_counts:
        return None
    return [
        any(text.word_counts.get(word, 0) <= RARE for word in _cut(line)) for line in text.sources
    ]


def _find_numbers(text: SlicedText) -> list[bool]:
    return [
        any(
            one.kind in {LiteralKind.NUMBER, LiteralKind.DATE}
            for one in find_literals(line, text.languages[0])
        )
        for line in text.sources
    ]


def _find_names(text: SlicedText) -> list[bool]:
    """Tell where source and reference share a word with a capital that does not begin both."""
    return [
        any(
            not (source.startswith(name) and reference.startswith(name))
            for name in {*_CAPITALIZED.findall(source)} & {*_CAPITALIZED.findall(reference)}
        )
        for source, reference in zip(text.sources, text.references, strict=True)
    ]


def _find_negation(text: SlicedText) -> list[bool] | None:
    for lines, language in zip((text.sources, text.references), text.languages, strict=True):
        if pattern := _NEGATION.get(language.partition("-")[0]):
            return [pattern.search(line) is not None for line in lines]
    return None


SHORT = Slice(f"short, up to {FEW_WORDS} words", _find_short)
LONG = Slice(f"long, from {MANY_WORDS} words on", _find_long)
RARE_WORDS = Slice("with a word that training hardly has", _find_rare)
NUMBERS = Slice("with a number, date or time", _find_numbers)
NAMES = Slice("with a name that stays as it is", _find_names)
NEGATION = Slice("with a negation", _find_negation)


def find_slice(name: str, text: SlicedText) -> Mask | None:
    """Return which sentences belong to a slice; None where it cannot be told of this text.

    Raises:
        ConfigError: if there is no such slice.
    """
    found = SLICES.load(name).find(text)
    return None if found is None else np.fromiter(found, bool, len(text.sources))


def find_slices(text: SlicedText) -> dict[str, tuple[str, Mask]]:
    """Return label and sentences of every slice that can be told of a text, by name."""
    found = ((name, SLICES.load(name).label, find_slice(name, text)) for name in SLICES)
    return {name: (label, mask) for name, label, mask in found if mask is not None}


def score_slices(
    slices: Mapping[str, tuple[str, Mask]],
    metrics: Mapping[str, tuple[SummedMetric, Counts]],
    *,
    resamples: int,
    seed: int,
) -> dict[str, SliceScore]:
    """Score the sentences of each slice as a test set of their own.

    Args:
        slices: label and sentences of each, by name.
        metrics: by name, with the counts of all sentences.
        resamples: of the bootstrap; 0 gives intervals of no width.
        seed: draws them.
    """
    return {
        name: SliceScore(
            label=label,
            sentences=int(mask.sum()),
            scores={
                metric: _score_part(scorer, counts[mask], resamples, seed)
                for metric, (scorer, counts) in metrics.items()
                if mask.any()
            },
        )
        for name, (label, mask) in slices.items()
    }


def _score_part(
    metric: SummedMetric, counts: Counts, resamples: int, seed: int
) -> tuple[float, float, float]:
    value = float(metric.score_of_sums(counts.sum(axis=0)[None])[0])
    if not resamples:
        return value, value, value
    drawn = resample_scores(metric.score_of_sums, counts, resamples=resamples, seed=seed)
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return value, low, high


def count_word_lines(lines: Iterable[str], sources: Iterable[str]) -> dict[str, int]:
    """Return in how many lines each word of some sources stands."""
    wanted = {word for line in sources for word in _cut(line)}
    counts: Counter[str] = Counter(dict.fromkeys(wanted, 0))
    for line in lines:
        counts.update(wanted.intersection(_cut(line)))
    return dict(counts)

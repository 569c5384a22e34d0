"""Quality checks of translations: failures, kept literals, lengths, unknown words."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from jaxtyping import Float

from nmt_core.base.config import Config
from nmt_core.evaluation.metric import Reference, SummedMetric
from nmt_core.evaluation.registry import (
    STANDARD_TOKENIZER,
    check_tokenizer,
    load_metric,
    name_tokenizer,
)
from nmt_core.literals.checking import check_literals, find_loop
from nmt_core.literals.finding import find_literals
from nmt_core.text.vocabulary import UNK


class KeptLiterals(Config):
    """Counts of lines with numbers, placeholders and other literals that their references keep."""

    lines: int
    """Number of these lines."""
    kept: int
    """Number of these lines whose hypotheses keep all literals."""


SplitWords = Callable[[str], Sequence[str]]
"""Splits a line into words."""


def load_word_splitter(language: str) -> SplitWords:
    """Return a function that splits at spaces, or like BLEU in scripts without spaces.

    Raises:
        ConfigError: if the word tokenizer of the language is not installed.
    """
    check_tokenizer(language)
    if name_tokenizer(language) == STANDARD_TOKENIZER:
        return str.split
    from sacrebleu.metrics.bleu import BLEU  # slow to import

    cut = BLEU(tokenize=name_tokenizer(language)).tokenizer
    return lambda line: cut(line).split()


def count_failures(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    cut: SplitWords = str.split,
) -> dict[str, int]:
    """Return the number of hypotheses with each kind of failure that the reference does not have.

    Looping means the same words three times in a row; too long means more than twice as many words
    as the reference, and at least ten more. ``cut`` splits target lines into words.
    """
    lines = list(zip(sources, hypotheses, references, strict=True))
    return {
        "empty": sum(bool(s.strip()) and not h.strip() for s, h, _ in lines),
        "copied": sum("" != h.strip() == s.strip() != r.strip() for s, h, r in lines),
        "looping": sum(bool(find_loop(cut(h)) and not find_loop(cut(r))) for _, h, r in lines),
        "too_long": sum(is_too_long(len(cut(h)), len(cut(r))) for _, h, r in lines),
        "detached_full_stop": sum(h.endswith(" .") and not r.endswith(" .") for _, h, r in lines),
    }


def is_too_long(words: int, reference_words: int) -> bool:
    """Return whether a hypothesis is much longer than its reference."""
    return words > max(2 * reference_words, reference_words + 10)


def count_kept_literals(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    languages: tuple[str, str],
) -> KeptLiterals:
    """Return how many lines keep their literals, of the lines whose references do."""
    kept = find_kept_literals(sources, hypotheses, references, languages)
    return KeptLiterals(lines=len(kept), kept=sum(kept))


def find_kept_literals(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    languages: tuple[str, str],
) -> list[bool]:
    """Return whether each line keeps its literals, for the lines whose references do."""
    return [
        not check_literals(source, hypothesis, languages)
        for source, hypothesis, reference in zip(sources, hypotheses, references, strict=True)
        if find_literals(source, languages[0]) and not check_literals(source, reference, languages)
    ]


def compute_length_ratio(
    hypotheses: Sequence[str], references: Sequence[str], *, cut: SplitWords = str.split
) -> float:
    """Return the number of words of all hypotheses divided by that of all references."""
    words = sum(len(cut(line)) for line in references)
    return sum(len(cut(line)) for line in hypotheses) / max(1, words)


def compute_unknown_rate(lines: Iterable[Sequence[int]]) -> float:
    """Return the share of unknown tokens in lines of token IDs."""
    is_unknown = [number == UNK for ids in lines for number in ids]
    return sum(is_unknown) / max(1, len(is_unknown))


def score_chrf(
    hypotheses: Sequence[str], references: Sequence[Reference], *, language: str
) -> Float[np.ndarray, " N"]:
    """Return the chrF (0-100) of each sentence; ``language`` is the target language's code."""
    if not hypotheses:
        return np.zeros(0)
    metric = load_metric("chrf", language)
    assert isinstance(metric, SummedMetric)
    return metric.score_of_sums(metric.counts(hypotheses, references, hypotheses))

"""Measures of a test set's translations: failures, kept literals, lengths, unknown words."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from jaxtyping import Float

from nmt_core.base.config import Config
from nmt_core.evaluation.metric import Reference, SummedMetric
from nmt_core.evaluation.registered import STANDARD, check_installed, load_metric, tokenizer_of
from nmt_core.literals.checking import check_literals, find_loop
from nmt_core.literals.finding import find_literals
from nmt_core.text.vocabulary import UNK


class KeptLiterals(Config):
    """Lines with numbers, placeholders and other literals that their references keep."""

    lines: int
    """Number of these lines."""
    kept: int
    """Number of those whose hypotheses keep all, too, as the target language writes them."""


Cut = Callable[[str], Sequence[str]]
"""Cuts a line into words."""


def cutter(language: str) -> Cut:
    """Return the tokenizer of words: at spaces, or as BLEU does in scripts without spaces.

    Raises:
        ConfigError: if the tokenizer of the language's words is not installed.
    """
    check_installed(language)
    if tokenizer_of(language) == STANDARD:
        return str.split
    from sacrebleu.metrics.bleu import BLEU  # slow to import

    cut = BLEU(tokenize=tokenizer_of(language)).tokenizer
    return lambda line: cut(line).split()


def count_failures(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    cut: Cut = str.split,
) -> dict[str, int]:
    """Count hypotheses that are not translations, by kind; ``cut`` cuts the target language.

    Looping ones have the same words three times in a row. Too long ones have more than twice as
    many words as the reference, and at least ten more. A kind does not count where the reference
    is like that, too.
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
    """Tell whether a hypothesis is far longer than its reference."""
    return words > max(2 * reference_words, reference_words + 10)


def count_kept_literals(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    languages: tuple[str, str],
) -> KeptLiterals:
    """Count lines whose literals are preserved, of those whose references keep them."""
    kept = find_kept_literals(sources, hypotheses, references, languages)
    return KeptLiterals(lines=len(kept), kept=sum(kept))


def find_kept_literals(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    languages: tuple[str, str],
) -> list[bool]:
    """Tell whether literals are preserved, of each line whose reference keeps them."""
    return [
        not check_literals(source, hypothesis, languages)
        for source, hypothesis, reference in zip(sources, hypotheses, references, strict=True)
        if find_literals(source, languages[0]) and not check_literals(source, reference, languages)
    ]


def compute_length_ratio(
    hypotheses: Sequence[str], references: Sequence[str], *, cut: Cut = str.split
) -> float:
    """Return the words of all hypotheses per word of all references."""
    words = sum(len(cut(line)) for line in references)
    return sum(len(cut(line)) for line in hypotheses) / max(1, words)


def compute_unknown_rate(lines: Iterable[Sequence[int]]) -> float:
    """Return the share of unknown tokens, of lines of token numbers."""
    is_unknown = [number == UNK for ids in lines for number in ids]
    return sum(is_unknown) / max(1, len(is_unknown))


def score_chrf(
    hypotheses: Sequence[str], references: Sequence[Reference], *, language: str
) -> Float[np.ndarray, " N"]:
    """Return the chrF (0-100) of each sentence by itself; ``language`` is the target's code."""
    if not hypotheses:
        return np.zeros(0)
    metric = load_metric("chrf", language)
    assert isinstance(metric, SummedMetric)
    return metric.score_of_sums(metric.counts(hypotheses, references, hypotheses))

"""Measures of a test set's translations: failures, lengths, unknown words."""

import logging
from collections.abc import Callable, Iterable, Sequence

from sacrebleu.metrics.bleu import BLEU

from nmt_core.base.config import Config
from nmt_core.evaluation.words import STANDARD, check_installed, tokenizer_of
from nmt_core.text.vocabulary import UNK
from nmt_core.text.words import find_loop

_log = logging.getLogger(__name__)

TOKENIZED_SHARE = 0.1
"""Of the translations that may end in a detached full stop before that is worth a warning."""


class Failures(Config):
    """Hypotheses that are no translations."""

    empty: int
    """Nothing, though the source is something."""
    copied: int
    """The source itself, though the reference is not."""
    looping: int
    """The same words three times in a row, where the reference has no such thing."""
    too_long: int
    """More than twice as many words as the reference, and at least ten more."""
    detached_full_stop: int
    """A full stop after a space at the end, where the reference has none such."""


Cut = Callable[[str], Sequence[str]]
"""Cuts a line into words."""


def cutter(language: str) -> Cut:
    """Return the tokenizer of words: at spaces, or as BLEU does in scripts without spaces.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
    """
    check_installed(language)
    if tokenizer_of(language) == STANDARD:
        return str.split
    cut = BLEU(tokenize=tokenizer_of(language)).tokenizer
    return lambda line: cut(line).split()


def count_failures(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    cut: Cut = str.split,
) -> Failures:
    """Count hypotheses that are no translations; ``cut`` knows words of the target language."""
    lines = list(zip(sources, hypotheses, references, strict=True))
    return Failures(
        empty=sum(bool(s.strip()) and not h.strip() for s, h, _ in lines),
        copied=sum("" != h.strip() == s.strip() != r.strip() for s, h, r in lines),
        looping=sum(bool(find_loop(cut(h)) and not find_loop(cut(r))) for _, h, r in lines),
        too_long=sum(is_too_long(len(cut(h)), len(cut(r))) for _, h, r in lines),
        detached_full_stop=sum(is_detached(h) and not is_detached(r) for _, h, r in lines),
    )


def is_detached(line: str) -> bool:
    """Tell whether a line ends in a full stop after a space, as tokenized text does."""
    return line.endswith(" .")


def warn_of_tokenized(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Warn where many translations, but not their references, look tokenized.

    sacreBLEU cuts the full stop off by itself, so that BLEU does not see the fault. It is one of
    the text, or of a model that has hardly learnt, and no reason to score nothing.
    """
    lines = zip(hypotheses, references, strict=True)
    detached = sum(is_detached(hypothesis) and not is_detached(line) for hypothesis, line in lines)
    if detached > TOKENIZED_SHARE * len(references):
        _log.warning(
            "%d of %d translations end in a full stop after a space, and their references do not: "
            "the model has learnt too little, or the target text to train on is tokenized; BLEU "
            "does not see the difference",
            detached,
            len(references),
        )


def is_too_long(words: int, reference_words: int) -> bool:
    """Tell whether a hypothesis is far longer than its reference."""
    return words > max(2 * reference_words, reference_words + 10)


def compute_length_ratio(
    hypotheses: Sequence[str], references: Sequence[str], *, cut: Cut = str.split
) -> float:
    """Return the words of all hypotheses per word of all references."""
    words = sum(len(cut(line)) for line in references)
    return sum(len(cut(line)) for line in hypotheses) / max(1, words)


def compute_unknown_rate(lines: Iterable[Sequence[int]]) -> float:
    """Return the share of unknown tokens, of lines of token numbers."""
    unknown = total = 0
    for ids in lines:
        unknown += sum(number == UNK for number in ids)
        total += len(ids)
    return unknown / max(1, total)

"""BLEU and chrF by sacreBLEU, never without the signature of how they were made."""

import logging
from collections.abc import Callable, Sequence
from typing import Literal

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from nmt_core.config import Config
from nmt_core.errors import CorpusError
from nmt_core.evaluation.words import STANDARD, check_installed, tokenizer_of

_log = logging.getLogger(__name__)

TOKENIZED_ENDS = 100
"""Hypotheses ending in a detached full stop above which they were surely not detokenized."""


class Score(Config):
    """A score of a whole test set, on a scale from 0 to 100."""

    metric: Literal["BLEU", "chrF2"]
    value: float
    low: float
    """Lower end of the 95 % confidence interval, by bootstrap resampling (Koehn 2004)."""
    high: float
    """Upper end."""
    signature: str
    """What sacreBLEU needs to be told to compute the same."""
    details: str
    """sacreBLEU's own words: n-gram precisions, brevity penalty, lengths."""


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, language: str, resamples: int = 0
) -> Score:
    """Return case-sensitive BLEU (Papineni et al. 2002) on detokenized text.

    Words are 13a's, or the language's own where it writes no spaces; the signature says which.

    Args:
        hypotheses: raw text, one per reference.
        references: raw text, untouched.
        language: of the text; a code such as en or zh-Hant.
        resamples: of the bootstrap; 0 gives an interval of no width.

    Raises:
        CorpusError: if the lines do not pair up.
        ConfigError: if what cuts the language into words is not installed.
    """
    found = _score(bleu_metric(language), "BLEU", hypotheses, references, resamples)
    if found.value == 0 and (other := chrf(hypotheses, references).value) > 0:
        _log.warning(
            "BLEU is 0 but chrF2 %.1f: letters agree, and no words as %s cuts them; is the target "
            "language, %s, the right one?",
            other,
            tokenizer_of(language),
            language,
        )
    return found


def chrf(hypotheses: Sequence[str], references: Sequence[str], *, resamples: int = 0) -> Score:
    """Return chrF2 (Popovic 2015), of letters in any language; arguments as for :func:`bleu`.

    Raises:
        CorpusError: if the lines do not pair up.
    """
    return _score(chrf_metric(), "chrF2", hypotheses, references, resamples)


def bleu_metric(language: str) -> BLEU:
    """Return sacreBLEU's BLEU, in words of a language.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
    """
    check_installed(language)
    return BLEU(tokenize=tokenizer_of(language))


def chrf_metric() -> CHRF:
    """Return sacreBLEU's chrF2."""
    return _Chrf()


def cutter(language: str) -> Callable[[str], list[str]]:
    """Return what cuts a line into words: at spaces, or as BLEU does where there are none.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
    """
    if tokenizer_of(language) == STANDARD:
        return str.split
    cut = bleu_metric(language).tokenizer
    return lambda line: cut(line).split()


class _Chrf(CHRF):
    """Gives plain floats alone: a zero is one, but what a resample scores is NumPy's.

    sacreBLEU cannot average the two, and hypotheses bad enough have both.
    """

    def _compute_f_score(self, statistics: list[int]) -> float:
        return float(super()._compute_f_score(statistics))


def _score(
    metric: Metric,
    name: Literal["BLEU", "chrF2"],
    hypotheses: Sequence[str],
    references: Sequence[str],
    resamples: int,
) -> Score:
    _check_pairs(hypotheses, references)
    result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=resamples or 1)
    mean, half = (result._mean, result._ci) if resamples else (result.score, 0.0)  # noqa: SLF001
    return Score(
        metric=name,
        value=float(result.score),
        low=float(mean - half),
        high=float(mean + half),
        signature=f"{name}|{metric.get_signature()}",
        details=str(result),
    )


def check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse what would give an end result that means nothing.

    Raises:
        CorpusError: if the lines do not pair up, or the hypotheses are still tokenized.
    """
    _check_pairs(hypotheses, references)
    detached = sum(line.endswith(" .") for line in hypotheses)
    natural = sum(line.endswith(" .") for line in references)
    if detached > TOKENIZED_ENDS and detached > 2 * natural:
        raise CorpusError(
            f"{detached} hypotheses end in a detached full stop: they are still tokenized; "
            f"detokenize them, or the score means nothing"
        )


def _check_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise CorpusError(
            f"{len(hypotheses)} hypotheses do not pair up with {len(references)} references; "
            f"translate the whole test set again"
        )

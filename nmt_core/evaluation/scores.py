"""BLEU and chrF by sacreBLEU, never without the signature of how they were made."""

from collections.abc import Sequence
from typing import Literal

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from nmt_core.config import Config
from nmt_core.errors import CorpusError

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


def bleu(hypotheses: Sequence[str], references: Sequence[str], *, resamples: int = 0) -> Score:
    """Return case-sensitive BLEU (Papineni et al. 2002) on detokenized text, 13a tokens.

    Args:
        hypotheses: raw text, one per reference.
        references: raw text, untouched.
        resamples: of the bootstrap; 0 gives an interval of no width.

    Raises:
        CorpusError: if the lines do not pair up, or the hypotheses are still tokenized.
    """
    return _score(BLEU(), "BLEU", hypotheses, references, resamples)


def chrf(hypotheses: Sequence[str], references: Sequence[str], *, resamples: int = 0) -> Score:
    """Return chrF2 (Popovic 2015); arguments and errors as for :func:`bleu`."""
    return _score(_Chrf(), "chrF2", hypotheses, references, resamples)


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
    check(hypotheses, references)
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
    """Refuse what would give a number that means nothing.

    Raises:
        CorpusError: if the lines do not pair up, or the hypotheses are still tokenized.
    """
    if len(hypotheses) != len(references):
        raise CorpusError(
            f"{len(hypotheses)} hypotheses do not pair up with {len(references)} references; "
            f"translate the whole test set again"
        )
    detached = sum(line.endswith(" .") for line in hypotheses)
    natural = sum(line.endswith(" .") for line in references)
    if detached > TOKENIZED_ENDS and detached > 2 * natural:
        raise CorpusError(
            f"{detached} hypotheses end in a detached full stop: they are still tokenized; "
            f"detokenize them, or the score means nothing"
        )

"""Metrics of sacreBLEU, in the words of each language, with the signature of their settings."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from sacrebleu.metrics.base import Metric as Scorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import _bootstrap_resample

from nmt_core.evaluation.metric import Counts, Reference, Score, SummedMetric, check_pairs
from nmt_core.evaluation.registered import check_installed, tokenizer_of

BLEU_ORDERS = 4
"""Length of the longest n-grams of BLEU, in words."""


class SacreBleuMetric(SummedMetric):
    """One of sacreBLEU's metrics."""

    takes_several_references: ClassVar = True

    @abstractmethod
    def scorer(self) -> Scorer:
        """Return sacreBLEU's own, whose signature depends on how it was last called."""

    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Reference],
        sources: Sequence[str],  # noqa: ARG002 - for other metrics
        *,
        resamples: int = 0,
    ) -> Score:
        """Return the score of a test set, as sacreBLEU does.

        The interval is the middle 95 % of the scores of sacreBLEU's resamples. ``details`` holds
        sacreBLEU's own description, with their mean and half the width.
        """
        check_pairs(hypotheses, references)
        scorer = self.scorer()
        counts = scorer._extract_corpus_statistics(list(hypotheses), make_streams(references))  # noqa: SLF001
        aggregate = scorer._aggregate_and_compute(counts)  # noqa: SLF001
        drawn = [aggregate.score]
        if resamples:
            scorer.n_bootstrap = resamples
            scorer.seed, scored = _bootstrap_resample(counts, scorer, resamples)
            aggregate.estimate_ci(scored)
            drawn = sorted(resample.score for resample in scored)
        beyond = len(drawn) // 40  # on either side
        return Score(
            value=float(aggregate.score),
            low=float(drawn[beyond]),
            high=float(drawn[-1 - beyond]),
            signature=f"{aggregate.name}|{scorer.get_signature()}",
            details=str(aggregate),
        )

    def counts(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Reference],
        sources: Sequence[str],  # noqa: ARG002 - for other metrics
    ) -> Counts:
        """Return the counts of each sentence, as sacreBLEU counts."""
        check_pairs(hypotheses, references)
        extract = self.scorer()._extract_corpus_statistics  # noqa: SLF001
        statistics = extract(list(hypotheses), make_streams(references))
        return np.asarray(statistics, dtype=np.float64).reshape(len(references), -1)


def make_streams(references: Sequence[Reference]) -> Any:
    """Return references as sacreBLEU takes them: all first ones, all second ones and so on."""
    rows = ([one] if isinstance(one, str) else one for one in references)
    return [list(stream) for stream in zip_longest(*rows)] or [[]]


@dataclass(frozen=True)
class Bleu(SacreBleuMetric):
    """Case-sensitive BLEU (Papineni et al. 2002), in words of 13a or of the language.

    Raises:
        ConfigError: if the tokenizer of the language's words is not installed.
    """

    label: ClassVar = "BLEU"

    def __post_init__(self) -> None:
        check_installed(self.language)

    def scorer(self) -> BLEU:
        """Return sacreBLEU's BLEU, in words of the language."""
        return BLEU(tokenize=tokenizer_of(self.language), force=True)

    def score_of_sums(self, sums: Float[np.ndarray, "R C"]) -> Float[np.ndarray, " R"]:
        """Return BLEU (0-100) of summed counts: lengths, matches per order, n-grams per order.

        An order without a match counts as half a match, the next one as a quarter, and so on (Chen
        and Cherry 2014, method 3), as sacreBLEU does by default.
        """
        length, reference = sums[:, 0], sums[:, 1]
        matches, total = sums[:, 2 : 2 + BLEU_ORDERS], sums[:, 2 + BLEU_ORDERS :]
        nothing = (matches == 0) & (total > 0)
        smoothed = np.where(nothing, 0.5 ** np.cumsum(nothing, axis=1), matches)
        with np.errstate(divide="ignore", invalid="ignore"):
            precisions = np.where(total > 0, smoothed / total, 0.0)
            brevity = np.exp(np.minimum(0.0, 1 - reference / length))
            score = 100 * brevity * np.exp(np.log(precisions).mean(axis=1))
        return np.where(matches.any(axis=1) & (total > 0).all(axis=1), score, 0.0)


class Chrf(SacreBleuMetric):
    """chrF2 (Popovic 2015): n-grams of letters; recall counts twice as much as precision."""

    label: ClassVar = "chrF"

    def scorer(self) -> CHRF:
        """Return sacreBLEU's chrF2."""
        return _Chrf()

    def score_of_sums(self, sums: Float[np.ndarray, "R C"]) -> Float[np.ndarray, " R"]:
        """Return chrF2 (0-100) of summed counts: per order, of hypothesis, reference and both."""
        ours, theirs, both = (sums[:, first::3] for first in range(3))
        present = (ours > 0) & (theirs > 0)
        orders = np.maximum(1, present.sum(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.where(present, both / ours, 0.0).sum(axis=1) / orders
            recall = np.where(present, both / theirs, 0.0).sum(axis=1) / orders
            score = 100 * 5 * precision * recall / (4 * precision + recall)
        return np.where(precision + recall > 0, score, 0.0)


class _Chrf(CHRF):
    """Returns plain floats only, because sacreBLEU cannot average them with NumPy's."""

    def _compute_f_score(self, statistics: list[int]) -> float:
        return float(super()._compute_f_score(statistics))

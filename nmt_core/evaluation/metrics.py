"""sacreBLEU's metrics BLEU and chrF, with the tokenizer of each language."""

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
from nmt_core.evaluation.registry import check_tokenizer, name_tokenizer

BLEU_ORDERS = 4
"""Maximum n-gram length of BLEU, in words."""


class SacreBleuMetric(SummedMetric):
    """A metric of sacreBLEU."""

    takes_several_references: ClassVar = True

    @abstractmethod
    def scorer(self) -> Scorer:
        """Return a new sacreBLEU metric; its signature depends on the last call."""

    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Reference],
        sources: Sequence[str],  # noqa: ARG002 - for other metrics
        *,
        resamples: int = 0,
    ) -> Score:
        """Return sacreBLEU's score of a test set.

        The interval contains the middle 95 % of the resampled scores. ``details`` is sacreBLEU's
        description, with the mean of these scores and half the width.
        """
        check_pairs(hypotheses, references)
        scorer = self.scorer()
        counts = scorer._extract_corpus_statistics(list(hypotheses), make_streams(references))  # noqa: SLF001
        aggregate = scorer._aggregate_and_compute(counts)  # noqa: SLF001
        scores = [aggregate.score]
        if resamples:
            scorer.n_bootstrap = resamples
            scorer.seed, resampled = _bootstrap_resample(counts, scorer, resamples)
            aggregate.estimate_ci(resampled)
            scores = sorted(resample.score for resample in resampled)
        outside = len(scores) // 40  # 2.5 % on each side
        return Score(
            value=float(aggregate.score),
            low=float(scores[outside]),
            high=float(scores[-1 - outside]),
            signature=f"{aggregate.name}|{scorer.get_signature()}",
            details=str(aggregate),
        )

    def counts(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Reference],
        sources: Sequence[str],  # noqa: ARG002 - for other metrics
    ) -> Counts:
        """Return sacreBLEU's statistics of each sentence."""
        check_pairs(hypotheses, references)
        extract = self.scorer()._extract_corpus_statistics  # noqa: SLF001
        statistics = extract(list(hypotheses), make_streams(references))
        return np.asarray(statistics, dtype=np.float64).reshape(len(references), -1)


def make_streams(references: Sequence[Reference]) -> Any:
    """Return sacreBLEU's lists of references: all first references, all second, and so on."""
    rows = ([each] if isinstance(each, str) else each for each in references)
    return [list(stream) for stream in zip_longest(*rows)] or [[]]


@dataclass(frozen=True)
class Bleu(SacreBleuMetric):
    """Case-sensitive BLEU (Papineni et al. 2002), with the tokenizer 13a or that of the language.

    Raises:
        ConfigError: if the word tokenizer of the target language is not installed.
    """

    label: ClassVar = "BLEU"

    def __post_init__(self) -> None:
        check_tokenizer(self.language)

    def scorer(self) -> BLEU:
        """Return sacreBLEU's BLEU with the tokenizer of the language."""
        return BLEU(tokenize=name_tokenizer(self.language), force=True)

    def score_of_sums(self, sums: Float[np.ndarray, "R C"]) -> Float[np.ndarray, " R"]:
        """Return BLEU (0-100) of summed counts: lengths, matches per order, n-grams per order.

        Smoothing is sacreBLEU's default: the first order without a match counts as half a match,
        the next as a quarter, and so on (Chen and Cherry 2014, method 3).
        """
        length, reference = sums[:, 0], sums[:, 1]
        matches, total = sums[:, 2 : 2 + BLEU_ORDERS], sums[:, 2 + BLEU_ORDERS :]
        is_unmatched = (matches == 0) & (total > 0)
        smoothed = np.where(is_unmatched, 0.5 ** np.cumsum(is_unmatched, axis=1), matches)
        with np.errstate(divide="ignore", invalid="ignore"):
            precisions = np.where(total > 0, smoothed / total, 0.0)
            brevity = np.exp(np.minimum(0.0, 1 - reference / length))
            score = 100 * brevity * np.exp(np.log(precisions).mean(axis=1))
        return np.where(matches.any(axis=1) & (total > 0).all(axis=1), score, 0.0)


class Chrf(SacreBleuMetric):
    """chrF2 (Popovic 2015): F-score of character n-grams that weights recall twice."""

    label: ClassVar = "chrF"

    def scorer(self) -> CHRF:
        """Return sacreBLEU's chrF2."""
        return _Chrf()

    def score_of_sums(self, sums: Float[np.ndarray, "R C"]) -> Float[np.ndarray, " R"]:
        """Return chrF2 (0-100) of summed counts: per order, of hypothesis, reference and both."""
        hypothesis, reference, both = (sums[:, first::3] for first in range(3))
        present = (hypothesis > 0) & (reference > 0)
        orders = np.maximum(1, present.sum(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.where(present, both / hypothesis, 0.0).sum(axis=1) / orders
            recall = np.where(present, both / reference, 0.0).sum(axis=1) / orders
            score = 100 * 5 * precision * recall / (4 * precision + recall)
        return np.where(precision + recall > 0, score, 0.0)


class _Chrf(CHRF):
    """chrF2 with Python floats, because sacreBLEU cannot average NumPy's."""

    def _compute_f_score(self, statistics: list[int]) -> float:
        return float(super()._compute_f_score(statistics))

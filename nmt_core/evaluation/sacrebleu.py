"""Metrics that sacreBLEU computes, never without the signature of how they were made."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.base import Metric as Scorer
from sacrebleu.significance import _bootstrap_resample

from nmt_core.evaluation.metric import Counts, Score, SummedMetric, check_pairs


class SacreBleuMetric(SummedMetric):
    """One of sacreBLEU's metrics."""

    @abstractmethod
    def scorer(self) -> Scorer:
        """Return sacreBLEU's own, which remembers in its signature how it was last called."""

    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        sources: Sequence[str],  # noqa: ARG002 - for other metrics
        *,
        resamples: int = 0,
    ) -> Score:
        """Return the score of a test set, as sacreBLEU does.

        The interval is the middle 95 % of the scores of sacreBLEU's resamples. ``details`` holds
        what sacreBLEU tells of them, their mean and half the width, which may leave the scale.
        """
        check_pairs(hypotheses, references)
        scorer = self.scorer()
        counts = scorer._extract_corpus_statistics(list(hypotheses), [list(references)])  # noqa: SLF001
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
        references: Sequence[str],
        sources: Sequence[str],  # noqa: ARG002 - for other metrics
    ) -> Counts:
        """Return the counts of each sentence, as sacreBLEU counts."""
        check_pairs(hypotheses, references)
        extract = self.scorer()._extract_corpus_statistics  # noqa: SLF001
        statistics = extract(list(hypotheses), [list(references)])
        return np.asarray(statistics, dtype=np.float64).reshape(len(references), -1)

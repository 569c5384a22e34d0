"""Metrics that sacreBLEU computes, never without the signature of how they were made."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.base import Metric as Scorer

from nmt_core.evaluation.metrics.base import Counts, Score, SummedMetric, check_pairs


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
        """Return the score of a test set, as sacreBLEU does."""
        check_pairs(hypotheses, references)
        scorer = self.scorer()
        found = scorer.corpus_score(
            list(hypotheses), [list(references)], n_bootstrap=resamples or 1
        )
        mean, half = (found._mean, found._ci) if resamples else (found.score, 0.0)  # noqa: SLF001
        return Score(
            value=float(found.score),
            low=float(mean - half),
            high=float(mean + half),
            signature=f"{found.name}|{scorer.get_signature()}",
            details=str(found),
        )

    def counts(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        sources: Sequence[str],  # noqa: ARG002 - for other metrics
    ) -> Counts:
        """Return what each sentence adds to the counts, as sacreBLEU counts."""
        check_pairs(hypotheses, references)
        extract = self.scorer()._extract_corpus_statistics  # noqa: SLF001
        found = extract(list(hypotheses), [list(references)])
        return np.asarray(found, dtype=np.float64).reshape(len(references), -1)

"""Metrics that sacreBLEU computes, never without the signature of how they were made."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np
from sacrebleu.metrics.base import Metric as Scorer
from sacrebleu.significance import _bootstrap_resample

from nmt_core.evaluation.metric import Counts, Reference, Score, SummedMetric, check_pairs


class SacreBleuMetric(SummedMetric):
    """One of sacreBLEU's metrics."""

    takes_several_references: ClassVar = True

    @abstractmethod
    def scorer(self) -> Scorer:
        """Return sacreBLEU's own, which remembers in its signature how it was last called."""

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
        what sacreBLEU tells of them, their mean and half the width, which may leave the scale.
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

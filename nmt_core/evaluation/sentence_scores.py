"""Scores of sentences by themselves."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_core.evaluation.metric import Reference, SummedMetric
from nmt_core.evaluation.registered import load_metric


def score_chrf(
    hypotheses: Sequence[str], references: Sequence[Reference], *, language: str
) -> NDArray[np.float64]:
    """Return the chrF (0-100) of each sentence by itself; ``language`` is the target's code."""
    if not hypotheses:
        return np.zeros(0)
    metric = load_metric("chrf", language)
    assert isinstance(metric, SummedMetric)
    return metric.score_of_sums(metric.counts(hypotheses, references, hypotheses))

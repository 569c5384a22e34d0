"""chrF2 (Popovic 2015): n-grams of letters, in any language."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from sacrebleu.metrics.chrf import CHRF

from nmt_core.evaluation.sacrebleu import SacreBleuMetric


class Chrf(SacreBleuMetric):
    """Recall counts twice as much as precision, which the 2 of its signature's name says."""

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
    """Gives plain floats only: a zero is one, but a score of resamples is NumPy's.

    sacreBLEU cannot average the two, and hypotheses bad enough have both.
    """

    def _compute_f_score(self, statistics: list[int]) -> float:
        return float(super()._compute_f_score(statistics))

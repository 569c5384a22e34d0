"""Intervals and tests of means over seeds, by the variance of both test sets and seeds.

Seeds and sentences are crossed, and their variances add. To resample both (Owen 2007; Sellam et
al. 2022, for models) needs many seeds: three have ten different resamples, whose spread is too
small by a third, and the middle 95 % of which hold the true mean some eight times in ten. So
sentences are resampled, and seeds give their sample variance and Student's t in place of the normal
distribution, with the degrees of freedom of Satterthwaite 1946, as in Welch's test (1947).
"""

import math
from collections.abc import Sequence
from statistics import variance
from typing import NamedTuple

from scipy import special


class VarianceSource(NamedTuple):
    """A source of a number's variance."""

    variance: float
    """Its part of the number's variance."""
    freedom: float
    """Degrees of freedom of that estimate."""


def measure_seeds(scores: Sequence[float]) -> VarianceSource:
    """Return the part of seeds in the variance of their mean score.

    Args:
        scores: of at least two seeds.
    """
    return VarianceSource(variance(scores) / len(scores), len(scores) - 1)


def compute_t_interval(
    value: float, sources: Sequence[VarianceSource], *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of a number with independent sources of variance."""
    error, freedom = _combine(sources)
    half = error * float(special.stdtrit(freedom, (1 + confidence) / 2))
    return value - half, value + half


def compute_t_p_value(value: float, sources: Sequence[VarianceSource]) -> float:
    """Return the two-sided p-value of a number's distance from 0."""
    error, freedom = _combine(sources)
    if not error:
        return float(value == 0)
    return 2 * float(special.stdtr(freedom, -abs(value) / error))


def _combine(sources: Sequence[VarianceSource]) -> tuple[float, float]:
    """Return the standard error, and its degrees of freedom (Satterthwaite 1946)."""
    total = math.fsum(source.variance for source in sources)
    if not total:
        return 0.0, math.inf
    shares = math.fsum((source.variance / total) ** 2 / source.freedom for source in sources)
    return math.sqrt(total), 1 / shares

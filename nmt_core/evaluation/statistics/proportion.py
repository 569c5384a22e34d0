"""Intervals of a share of right answers, and tests of differences between two shares."""

import math
from statistics import NormalDist


def compute_wilson_interval(
    right: int, total: int, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of a proportion (Wilson 1927), which holds near 0 and 1, too.

    Raises:
        ValueError: if there is no answer, or there are more right ones than answers.
    """
    if not 0 <= right <= total or total < 1:
        raise ValueError(f"{right} of {total} is no proportion")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, weight = right / total, z * z / total
    middle = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / total + weight / (4 * total)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def compute_mcnemar_p(first: int, second: int) -> float:
    """Return the p-value of a difference between two systems on the same questions.

    The exact test of McNemar 1947, two-sided: where one alone is right, a fair coin says which.

    Args:
        first: questions that the first alone answered rightly.
        second: those that the second alone did.
    """
    both = first + second
    at_most = sum(math.comb(both, heads) for heads in range(min(first, second) + 1))
    return min(1.0, 2 * at_most / 2**both)

"""Shares of what was counted, and heads of a fair coin, without the slow import of scipy.stats."""

import math
from statistics import NormalDist

FEWEST_SENTENCES = 200
"""Sentences of a test set; fewer hardly tell two models apart."""


def find_share_interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the bounds of the share that ``count`` of ``total`` is seen of (Wilson 1927)."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, scale = count / total, 1 + z * z / total
    middle = (share + z * z / (2 * total)) / scale
    half = z * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2) / scale
    return (middle - half if count else 0.0, middle + half if count < total else 1.0)


def find_tail(heads: int, tosses: int) -> float:
    """Return how likely a fair coin shows so many heads or more."""
    from scipy import special  # takes a tenth of a second

    return float(special.bdtrc(heads - 1, tosses, 0.5)) if heads else 1.0

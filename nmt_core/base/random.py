"""Random numbers by name, and confidence intervals and tests of counts.

Every draw is a function of a seed, a purpose and a count. So a resumed run draws the same numbers
as an uninterrupted one, with any number of workers.
"""

import hashlib
import math
from statistics import NormalDist

import numpy as np


def derive_seed(seed: int, *names: str | int) -> int:
    """Return a 63-bit seed for one purpose, such as ``derive_seed(1, "dropout", step)``."""
    digest = hashlib.blake2b(repr((seed, *names)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def make_generator(seed: int, *names: str | int) -> np.random.Generator:
    """Return a NumPy generator for one purpose."""
    return np.random.Generator(np.random.Philox(derive_seed(seed, *names)))


def draw_line_numbers(total: int, count: int, seed: int) -> list[int]:
    """Draw ``count`` distinct numbers below ``total``; return them in ascending order."""
    return sorted(make_generator(seed, "examples").permutation(total)[:count].tolist())


MIN_TEST_SENTENCES = 200
"""Minimum size of a test set; with fewer sentences, two models can hardly be distinguished."""


def find_share_interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the confidence interval of the proportion ``count / total`` (Wilson 1927)."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, scale = count / total, 1 + z * z / total
    center = (share + z * z / (2 * total)) / scale
    margin = z * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2) / scale
    return (center - margin if count else 0.0, center + margin if count < total else 1.0)


def find_binomial_tail(heads: int, tosses: int) -> float:
    """Return the probability that a fair coin shows at least ``heads`` heads."""
    from scipy import special  # takes a tenth of a second

    return float(special.bdtrc(heads - 1, tosses, 0.5)) if heads else 1.0

"""Random draws by name, and intervals and tails of counts.

Every draw is a function of a seed, a purpose and a count, so a resumed run and an uninterrupted one
see the same numbers, and the number of workers changes none of them.
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
    """Draw distinct line numbers, in ascending order."""
    return sorted(make_generator(seed, "examples").permutation(total)[:count].tolist())


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

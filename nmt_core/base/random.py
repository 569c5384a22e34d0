"""Randomness by name: every draw is a function of a seed, a purpose and a count.

Nothing in the library draws from a generator whose history matters, so a resumed run and an
uninterrupted one see the same numbers, and the number of workers changes none of them.
"""

import hashlib

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
    drawn = make_generator(seed, "examples").permutation(total)[:count]
    return sorted(int(number) for number in drawn)

"""Lines of a text that are drawn by a seed."""

from nmt_core.base.random import make_generator


def choose(total: int, count: int, seed: int) -> list[int]:
    """Draw different line numbers, in order."""
    drawn = make_generator(seed, "examples").permutation(total)[:count]
    return sorted(int(number) for number in drawn)

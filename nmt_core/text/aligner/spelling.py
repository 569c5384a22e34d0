"""Similarity of spelling, for many pairs of words at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LONGEST, SHORTEST = 12, 4
"""Characters of a word that are compared, and those below which only equal words are alike."""

COMPARED_PAIRS = 2**18
"""Pairs compared together."""


def encode_words(words: Sequence[str]) -> NDArray[np.uint32]:
    """Return the first characters of each word, (words, LONGEST), filled up with zeros."""
    if not words:
        return np.zeros((0, LONGEST), np.uint32)
    return np.array(words, dtype=f"U{LONGEST}").view(np.uint32).reshape(len(words), LONGEST)


def compare_spelling(
    first: NDArray[np.uint32],
    second: NDArray[np.uint32],
    ours: NDArray[np.int64],
    theirs: NDArray[np.int64],
    least: float,
) -> NDArray[np.float64]:
    """Return the longest common subsequence over the longer word, of each pair (Melamed 1999).

    Args:
        first: characters of the words of one side, (words, LONGEST).
        second: those of the other.
        ours: number of the first word of each pair.
        theirs: number of the second.
        least: what is below counts as 0.

    Returns:
        1 of equal words, 0 of words with less than ``least`` or of fewer than SHORTEST characters.
    """
    likeness = np.zeros(len(ours))
    for begin in range(0, len(ours), COMPARED_PAIRS):
        part = slice(begin, begin + COMPARED_PAIRS)
        likeness[part] = _compare(first[ours[part]], second[theirs[part]], least)
    return likeness


def _compare(
    first: NDArray[np.uint32], second: NDArray[np.uint32], least: float
) -> NDArray[np.float64]:
    lengths = np.stack([np.count_nonzero(first, axis=1), np.count_nonzero(second, axis=1)])
    longer, shorter = lengths.max(axis=0), lengths.min(axis=0)
    likeness = (first == second).all(axis=1).astype(np.float64)
    able = np.flatnonzero((shorter >= SHORTEST) & (shorter >= least * longer) & (likeness == 0))
    one, other = first[able].T.copy(), second[able].T.copy()
    above = np.zeros((LONGEST + 1, len(able)), np.int8)
    for row in range(LONGEST):
        current = np.zeros_like(above)
        for column in range(LONGEST):
            equal = (one[row] == other[column]) & (one[row] != 0)
            best = np.maximum(above[column + 1], current[column])
            current[column + 1] = np.where(equal, above[column] + 1, best)
        above = current
    ratio = above[-1] / longer[able]
    likeness[able] = np.where(ratio >= least, ratio, 0.0)
    return likeness

"""Probability that a word is translated by another, with a Dirichlet prior.

Probabilities are the most likely ones under a Dirichlet prior whose parameters are one more than
the pseudo-counts: expected count and pseudo-count over their total (Bishop 2006, section 2.2.1).
Pseudo-counts are the same for all pairs, and more for those that are spelt alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nmt_core.text.aligner.words import AlignerConfig

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Lexicon(NamedTuple):
    """The probabilities of one direction."""

    pairs: Array
    """Of the second word of each pair, given the first; one more at the end, 0, for padding."""
    nulls: Array
    """Of each word, given none."""


@dataclass(frozen=True)
class Prior:
    """Facts about a text's pairs of words before they are aligned, for one side."""

    givens: Numbers
    """The word that is given, of each pair."""
    counts: Array
    """Pseudo-count of each pair."""
    sizes: tuple[int, int]
    """Words that may be given, and words that they may be translated by."""
    unmet: float
    """Pseudo-count of all other pairs."""

    def look_up(self, table: "Table", counts: Array) -> Lexicon:
        """Return the probabilities of this text's pairs, by expected counts."""
        pairs = (counts + self.counts) / table.totals[self.givens]
        nulls = table.nulls + self.unmet
        return Lexicon(np.append(pairs, 0.0), nulls / nulls.sum())


class Table(NamedTuple):
    """Probabilities of single words in a direction."""

    totals: Array
    """Counts and pseudo-counts of all that each word may be translated by, (given words,)."""
    nulls: Array
    """Expected count of each word that translates none, (words,)."""

    @classmethod
    def of(cls, pairs: Array, nulls: Array, prior: Prior) -> Self:
        """Sum up expected counts of pairs of words, and of words that translate none."""
        more = pairs + prior.counts - prior.unmet
        sums = np.bincount(prior.givens, more, prior.sizes[0]).astype(np.float64)
        return cls(sums + prior.unmet * prior.sizes[1], nulls)

    def extend(self, sizes: tuple[int, int], unmet: float) -> "Table":
        """Return a table for more words on both sides, of which nothing is known."""
        least = unmet * len(self.nulls)
        return Table(
            np.append(self.totals, np.full(sizes[0] - len(self.totals), least)),
            np.append(self.nulls, np.zeros(sizes[1] - len(self.nulls))),
        )


def measure_priors(
    keys: Numbers, words: Sequence[Sequence[str]], config: AlignerConfig
) -> tuple[Prior, Prior]:
    """Return the priors of a text's pairs of words, as source and as target see them.

    Args:
        keys: the pairs; see ``PairedText``.
        words: vocabularies of source and target.
        config: says how much likeness counts.
    """
    source, target = np.divmod(keys, max(len(words[1]), 1))
    spelt = [encode_words(side) for side in words]
    likeness = compare_spelling(spelt[0], spelt[1], source, target, config.least_likeness)
    counts = config.pseudo_count + config.likeness_count * likeness
    sizes = len(words[0]), len(words[1])
    return (
        Prior(source, counts, sizes, config.pseudo_count),
        Prior(target, counts, (sizes[1], sizes[0]), config.pseudo_count),
    )


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

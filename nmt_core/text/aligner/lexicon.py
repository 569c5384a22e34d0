"""Probability that a word is translated by another, with a Dirichlet prior.

Probabilities are the most likely ones under a Dirichlet prior whose parameters are one more than
the pseudo-counts: expected count and pseudo-count over their total (Bishop 2006, section 2.2.1).
Pseudo-counts are the same for all pairs, and more for equal words.
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
        config: says how much it counts that words are equal.
    """
    source, target = np.divmod(keys, max(len(words[1]), 1))
    numbers = {word: number for number, word in enumerate(words[0])}
    twins = np.array([numbers.get(word, -1) for word in words[1]], np.int64)
    counts = config.pseudo_count + config.likeness_count * (twins[target] == source)
    sizes = len(words[0]), len(words[1])
    return (
        Prior(source, counts, sizes, config.pseudo_count),
        Prior(target, counts, (sizes[1], sizes[0]), config.pseudo_count),
    )

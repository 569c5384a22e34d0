"""All alignments of a sentence pair at once: forward and backward sums of an HMM.

Letters of shapes: J words that are to be explained, P positions they may be explained by, B pairs.
Position 0 stands before the first word: there a sentence starts. A word that translates none leaves
the position where it is (Och and Ney 2003, section 2.1.3), so that jumps over it are seen.

Pairs stand last in memory and sums over positions are made one position after the other: padding
adds zeros at their end, so a pair's numbers depend on no other pair, to the last bit.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Lattice(NamedTuple):
    """Probabilities of a batch of pairs before they are aligned."""

    emissions: Array
    """Probability of each word given that of each position, (J, P, B); 0 at position 0 and beyond
    the end of a sentence."""
    nulls: Array
    """Probability of each word given none, (J, B)."""
    jumps: Array
    """Weight of going from one position to another, (P, P)."""
    norms: Array
    """Sum of the weights from each position, over those of the sentence, (P, B)."""
    lengths: NDArray[np.int64]
    """Words to be explained, (B,)."""
    null_probability: float


class Posteriors(NamedTuple):
    """Posterior probabilities of a batch."""

    links: Array
    """Probability that a word is explained by a position, (J, P, B); the rest is that of none."""
    jumps: Array
    """Expected number of jumps from one position to another, (P, P, B)."""
    log_likelihood: Array
    """Of each pair, (B,)."""


def sum_alignments(lattice: Lattice) -> Posteriors:
    """Return posterior probabilities by the forward-backward algorithm (Rabiner 1989, III)."""
    emissions, nulls, weights, norms, lengths, empty = lattice
    words, positions, pairs = emissions.shape
    linked = (1 - empty) * emissions
    none = empty * nulls
    inside = np.arange(words)[:, None] < lengths
    start = np.zeros((positions, pairs))
    start[0] = 1
    befores, explained = np.zeros_like(linked), np.zeros_like(linked)
    scales = np.ones((words, pairs))
    state = start
    for word in range(words):
        befores[word] = state
        arriving = np.add.reduce((state / norms)[:, None] * weights[:, :, None], axis=0)
        arrived = linked[word] * arriving
        after = arrived + none[word] * state
        scale = np.where(inside[word], np.add.reduce(after, axis=0), 1.0)
        explained[word] = np.where(inside[word], arrived / scale, 0.0)
        state = np.where(inside[word], after / scale, state)
        scales[word] = scale
    future = np.ones((positions, pairs))
    jumps = np.zeros((positions, positions, pairs))
    for word in range(words - 1, -1, -1):
        explained[word] *= future
        leading = np.where(inside[word], linked[word] * future / scales[word], 0.0)
        leaving = befores[word] / norms
        jumps += leaving[:, None] * leading[None]
        onward = np.add.reduce(leading[:, None] * weights.T[:, :, None], axis=0) / norms
        staying = none[word] * future / scales[word]
        future = np.where(inside[word], onward + staying, future)
    return Posteriors(explained, jumps * weights[:, :, None], np.log(scales).sum(axis=0))

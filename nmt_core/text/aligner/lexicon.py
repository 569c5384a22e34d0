"""Batches of sentence pairs, translation probabilities of words, and posteriors of links.

Translation probabilities are MAP estimates with a Dirichlet prior whose parameters are the
pseudo-counts plus one: the share of a pair in all counts and pseudo-counts (Bishop 2006, section
2.2.1). All word pairs have the same pseudo-count; pairs of equal words have a higher one.
"""

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_core.text.aligner.pieces import AlignerConfig

Numbers = NDArray[np.int64]

BATCH_PAIRS = 64
"""Maximum number of sentence pairs in a batch."""

BATCH_CELLS = 2**19
"""Maximum of the squared length of the longest side times the pairs of a batch."""

LENGTH_STEP = 4
"""Number of different source lengths that are batched together."""

PENDING_PAIRS = 2**20
"""Minimum number of word pairs, and a quarter of the distinct ones, to remove duplicates from."""


class AlignmentBatch(NamedTuple):
    """Sentence pairs that are aligned together, padded."""

    rows: list[int]
    """Indices of the sentence pairs."""
    cells: NDArray[np.int32]
    """Index of each word pair in ``keys``, (source words, target words, rows); last for padding."""
    source: NDArray[np.int32]
    """The words, (source words, rows)."""
    target: NDArray[np.int32]
    source_lengths: Numbers
    target_lengths: Numbers

    def swap_sides(self) -> "AlignmentBatch":
        """Return the batch with source and target swapped."""
        cells = self.cells.transpose(1, 0, 2)
        return AlignmentBatch(
            self.rows, cells, self.target, self.source, self.target_lengths, self.source_lengths
        )


def pair_text(
    source: Sequence[Numbers], target: Sequence[Numbers], target_size: int
) -> tuple[list[AlignmentBatch], Numbers]:
    """Batch sentence pairs without empty sides, and list their word pairs.

    Returns:
        The batches, and the keys of all word pairs in ascending order. A key is the number of the
        source word times the size of the target vocabulary plus the number of the target word.
    """
    keys = np.zeros(0, np.int64)
    pending: list[Numbers] = []
    count = 0
    for number, pair in enumerate(zip(source, target, strict=True), start=1):
        pending.append(_number_pairs(*pair, target_size))
        count += len(pending[-1])
        if count >= max(PENDING_PAIRS, len(keys) // 4) or number == len(source):
            keys, pending, count = _sort_distinct(np.concatenate([keys, *pending])), [], 0
    groups = plan_batches([len(words) for words in source], [len(words) for words in target])
    return [_fill(rows, source, target, keys, target_size) for rows in groups], keys


def subsample(pairs: Sequence[tuple[Sized, Sized]], max_cells: int) -> slice:
    """Return a slice of pairs whose source words times target words sum to about ``max_cells``."""
    cells = sum(len(source) * len(target) for source, target in pairs)
    return slice(None, None, max(1, -(-cells // max_cells)))


def _number_pairs(source: Numbers, target: Numbers, target_size: int) -> Numbers:
    """Return the key of each word pair of a sentence pair."""
    return (source[:, None] * target_size + target).ravel()


def _sort_distinct(numbers: Numbers) -> Numbers:
    """Return distinct numbers in ascending order; faster than ``np.unique``, which hashes."""
    ascending = np.sort(numbers)
    return ascending[np.concatenate([[True], ascending[1:] != ascending[:-1]])]


def plan_batches(source: Sequence[int], target: Sequence[int]) -> Iterator[list[int]]:
    """Yield the indices of the pairs of each batch, given the lengths of both sides."""
    order = sorted(
        range(len(source)),
        key=lambda row: (source[row] // LENGTH_STEP, target[row], source[row], row),
    )
    rows: list[int] = []
    longest = 0
    for row in order:
        length = max(longest, source[row] + 1, target[row] + 1)
        if rows and (len(rows) == BATCH_PAIRS or length**2 * (len(rows) + 1) > BATCH_CELLS):
            yield rows
            rows, length = [], max(source[row] + 1, target[row] + 1)
        rows.append(row)
        longest = length
    if rows:
        yield rows


def _fill(
    rows: list[int],
    source: Sequence[Numbers],
    target: Sequence[Numbers],
    keys: Numbers,
    target_size: int,
) -> AlignmentBatch:
    lengths = [np.array([len(side[row]) for row in rows]) for side in (source, target)]
    cells = np.full((lengths[0].max(), lengths[1].max(), len(rows)), len(keys), np.int32)
    source_words = np.zeros((lengths[0].max(), len(rows)), np.int32)
    target_words = np.zeros((lengths[1].max(), len(rows)), np.int32)
    row_keys = [_number_pairs(source[row], target[row], target_size) for row in rows]
    distinct, inverse = np.unique(np.concatenate(row_keys), return_inverse=True)
    indices = np.asarray(np.searchsorted(keys, distinct))[inverse]  # faster on sorted keys
    ends = np.cumsum([*map(len, row_keys)])[:-1]
    for column, (row, row_cells) in enumerate(zip(rows, np.split(indices, ends), strict=True)):
        shape = len(source[row]), len(target[row])
        source_words[: shape[0], column] = source[row]
        target_words[: shape[1], column] = target[row]
        cells[: shape[0], : shape[1], column] = row_cells.reshape(shape)
    return AlignmentBatch(rows, cells, source_words, target_words, *lengths)


Array = NDArray[np.float64]

Posteriors = tuple[Array, Array]
"""Posterior probabilities of links, (source words, target words, pairs), and the log-likelihood of
each pair."""


@dataclass(frozen=True)
class Direction:
    """A model in which a source word, or the null word, generates each target word."""

    pairs: Array
    """Probability of the target word given the source word of each key; 0 for padding last."""
    nulls: Array
    """Probability of each target word given the null word."""
    jumps: Array
    """Weights of jumps from -width to width, (2 width + 1,)."""
    null_probability: float
    diagonal: float

    def align_hmm(self, batch: AlignmentBatch) -> Posteriors:
        """Return the posteriors of the HMM (Vogel et al. 1996)."""
        linked, none = self._emit(batch)
        matrix, norms = weigh_jumps(self.jumps, batch.source_lengths)
        emissions = linked.transpose(1, 0, 2)
        links, log_likelihood = sum_alignments(emissions, none, matrix, norms, batch.target_lengths)
        return links[:, 1:].transpose(1, 0, 2), log_likelihood

    def align_model_1(self, batch: AlignmentBatch) -> Posteriors:
        """Return the posteriors of IBM model 1 with a diagonal prior (Dyer et al. 2013)."""
        linked, none = self._emit(batch)
        source, target = (np.arange(len(side))[:, None] for side in (batch.source, batch.target))
        lengths = batch.source_lengths * (len(target) + 1) + batch.target_lengths
        distinct, columns = np.unique(lengths, return_inverse=True)  # these share a prior
        source_lengths, target_lengths = np.divmod(distinct, len(target) + 1)
        source_shares = (source + 1) / (source_lengths + 1)
        target_shares = (target + 1) / (target_lengths + 1)
        prior = np.exp(-self.diagonal * np.abs(target_shares - source_shares[:, None]))
        prior *= (source < source_lengths)[:, None]
        prior /= np.add.reduce(prior, axis=0)
        links = linked[1:]
        links *= np.take(prior, columns, axis=2)
        totals = np.add.reduce(links, axis=0) + none
        links /= totals
        return links, np.where(target < batch.target_lengths, np.log(totals), 0.0).sum(axis=0)

    def _emit(self, batch: AlignmentBatch) -> tuple[Array, Array]:
        """Return the probability of each target word given start, source words, and null word."""
        linked = np.zeros((1 + len(batch.source), len(batch.target), len(batch.rows)))
        np.take(self.pairs, batch.cells, out=linked[1:], mode="clip")
        linked *= 1 - self.null_probability
        return linked, self.null_probability * self.nulls[batch.target]


FAR_JUMP_WEIGHT = 0.01
"""Weight of a long jump."""


def start_jumps(width: int) -> Array:
    """Return initial weights of jumps, (2 width + 1,), which prefer the next position."""
    distances = np.abs(np.arange(-width, width + 1) - 1)
    return np.exp(-distances / 2) + FAR_JUMP_WEIGHT


def weigh_jumps(weights: Array, lengths: Numbers) -> tuple[Array, Array]:
    """Return the weight of each transition between positions, (P, P), and their sums.

    Position 0 is the start of a sentence and is never reached again. The sums are over the
    positions of each sentence, (P, sentences); 1 beyond its end.
    """
    positions, width = np.arange(int(lengths.max()) + 1), len(weights) // 2
    matrix = weights[np.clip(positions - positions[:, None], -width, width) + width]
    matrix[:, 0] = 0
    sums = np.cumsum(matrix, axis=1)[:, lengths]
    return matrix, np.where(positions[:, None] <= lengths, sums, 1.0)


def _carry(values: Array, weights: Array) -> Array:
    """Return the weighted sum of values, (P, B), at each position; a pair depends on no other."""
    if values.shape[1] == 1:  # einsum would sum one column in another order
        return np.add.reduce(values[:, None] * weights[:, :, None], axis=0)
    return np.einsum("pq,pb->qb", weights, values)


def sum_alignments(
    linked: Array, none: Array, weights: Array, norms: Array, lengths: Numbers
) -> Posteriors:
    """Return posteriors, (J, P, B), by the forward-backward algorithm (Rabiner 1989, III).

    Args:
        linked: probability of each target word given each position, (J, P, B); 0 at position 0 and
            beyond the end of a sentence.
        none: probability of each target word given the null word, (J, B).
        weights: weight of each transition between positions, (P, P).
        norms: sum of the weights from each position within the sentence, (P, B).
        lengths: number of target words, (B,).
    """
    words, positions, pairs = linked.shape
    inside = np.arange(words)[:, None] < lengths
    none = np.where(inside, none, 1.0)  # beyond the end of a sentence, the state stays
    state = np.zeros((positions, pairs))
    state[0] = 1
    posteriors, scales = np.empty_like(linked), np.empty((words, pairs))
    for word in range(words):
        arrived = np.multiply(linked[word], _carry(state / norms, weights), out=posteriors[word])
        state *= none[word]
        state += arrived
        scales[word] = scale = np.where(inside[word], np.add.reduce(state, axis=0), 1.0)
        arrived /= scale
        state /= scale
    future = np.ones((positions, pairs))
    for word in range(words - 1, -1, -1):
        posteriors[word] *= future
        onward = _carry(linked[word] * future / scales[word], weights.T) / norms
        future = onward + none[word] * future / scales[word]
    return posteriors, np.log(scales).sum(axis=0)


@dataclass(frozen=True)
class Prior:
    """Pseudo-counts of the word pairs of a text, for one direction."""

    given_words: Numbers
    """The conditioning word of each pair."""
    counts: Array
    """Pseudo-count of each pair."""
    sizes: tuple[int, int]
    """Sizes of the vocabularies of conditioning and generated words."""
    unseen: float
    """Pseudo-count of each other pair."""

    def sum_counts(self, pairs: Array) -> Array:
        """Return the sum of counts and pseudo-counts for each conditioning word."""
        seen = pairs + self.counts - self.unseen
        sums = np.bincount(self.given_words, seen, self.sizes[0]).astype(np.float64)
        return sums + self.unseen * self.sizes[1]

    def make_direction(
        self, pairs: Array, totals: Array, nulls: Array, jumps: Array, config: AlignerConfig
    ) -> Direction:
        """Return the model that maximises the likelihood of expected counts.

        ``pairs`` and ``nulls`` are expected counts; ``sum_counts`` returns ``totals``.
        """
        null_counts = nulls + self.unseen
        return Direction(
            np.append((pairs + self.counts) / totals[self.given_words], 0.0),
            null_counts / null_counts.sum(),
            jumps,
            config.null_probability,
            config.diagonal,
        )


def make_priors(
    keys: Numbers, words: Sequence[Sequence[str]], config: AlignerConfig
) -> tuple[Prior, Prior]:
    """Return the priors of the pairs of ``pair_text`` for generating target and source."""
    source, target = np.divmod(keys, max(len(words[1]), 1))
    numbers = {word: number for number, word in enumerate(words[0])}
    equal_words = np.array([numbers.get(word, -1) for word in words[1]], np.int64)
    counts = config.pseudo_count + config.likeness_count * (equal_words[target] == source)
    sizes = len(words[0]), len(words[1])
    return (
        Prior(source, counts, sizes, config.pseudo_count),
        Prior(target, counts, (sizes[1], sizes[0]), config.pseudo_count),
    )

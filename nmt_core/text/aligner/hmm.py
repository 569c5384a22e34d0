"""The HMM of one direction: words of one side are explained by those of the other, in batches."""

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_core.text.aligner.lexicon import Lexicon

Numbers = NDArray[np.int64]

ROWS = 64
"""Pairs of a batch."""

CELLS = 2**19
"""Positions of the source squared, or times words of the target, times pairs: of a batch."""

STEP = 4
"""Source lengths that are batched together."""


WAITING = 2**20
"""Pairs of words after which equal ones are made one, to save memory; or a quarter of those known
by then, so that each is sorted a few times and not with every part of the text."""


class AlignmentBatch(NamedTuple):
    """Pairs that are aligned together, padded."""

    rows: list[int]
    """Their numbers."""
    cells: NDArray[np.int32]
    """The pair of words at each place, (source words, target words, rows); the last for padding."""
    source: NDArray[np.int32]
    """The words, (source words, rows)."""
    target: NDArray[np.int32]
    source_lengths: Numbers
    target_lengths: Numbers

    def turn(self) -> "AlignmentBatch":
        """Return the same with source and target exchanged."""
        cells = self.cells.transpose(1, 0, 2)
        return AlignmentBatch(
            self.rows, cells, self.target, self.source, self.target_lengths, self.source_lengths
        )


@dataclass(frozen=True)
class PairedText:
    """Sentence pairs as batches, and which pairs of words they hold."""

    batches: list[AlignmentBatch]
    keys: Numbers
    """Pairs of words that occur in a sentence pair, ascending: number of the source word, times the
    size of the target vocabulary, plus number of the target word."""


def pair_text(source: Sequence[Numbers], target: Sequence[Numbers], target_size: int) -> PairedText:
    """Batch sentence pairs, none of them empty on a side, and number their pairs of words."""
    keys = np.zeros(0, np.int64)
    waiting: list[Numbers] = []
    count = 0
    for number, (ours, theirs) in enumerate(zip(source, target, strict=True), start=1):
        waiting.append(_number_pairs(ours, theirs, target_size))
        count += len(waiting[-1])
        if count >= max(WAITING, len(keys) // 4) or number == len(source):
            keys, waiting, count = _sort_distinct(np.concatenate([keys, *waiting])), [], 0
    groups = plan_batches([len(words) for words in source], [len(words) for words in target])
    batches = [_fill(rows, source, target, keys, target_size) for rows in groups]
    return PairedText(batches, keys)


def spread(pairs: Sequence[tuple[Sized, Sized]], most: int) -> slice:
    """Return which pairs to learn from, all over a text, so that their words meet ``most`` times.

    That bounds memory, however long lines are.
    """
    places = sum(len(source) * len(target) for source, target in pairs)
    return slice(None, None, max(1, -(-places // most)))


def _number_pairs(ours: Numbers, theirs: Numbers, target_size: int) -> Numbers:
    """Return the number of each pair of words of a sentence pair."""
    return (ours[:, None] * target_size + theirs).ravel()


def _sort_distinct(numbers: Numbers) -> Numbers:
    """Return distinct numbers, rising; faster than NumPy's, which asks a table for each."""
    rising = np.sort(numbers)
    return rising[np.concatenate([[True], rising[1:] != rising[:-1]])]


def plan_batches(source: Sequence[int], target: Sequence[int]) -> Iterator[list[int]]:
    """Yield the numbers of pairs to batch, by their lengths."""
    order = sorted(
        range(len(source)), key=lambda row: (source[row] // STEP, target[row], source[row], row)
    )
    rows: list[int] = []
    longest = 0
    for row in order:
        length = max(longest, source[row] + 1, target[row] + 1)
        if rows and (len(rows) == ROWS or length**2 * (len(rows) + 1) > CELLS):
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
    ours = np.zeros((lengths[0].max(), len(rows)), np.int32)
    theirs = np.zeros((lengths[1].max(), len(rows)), np.int32)
    numbers = [_number_pairs(source[row], target[row], target_size) for row in rows]
    wanted, places = np.unique(np.concatenate(numbers), return_inverse=True)
    indices = np.asarray(np.searchsorted(keys, wanted))[places]  # faster of rising numbers
    ends = np.cumsum([*map(len, numbers)])[:-1]
    for column, (row, of_row) in enumerate(zip(rows, np.split(indices, ends), strict=True)):
        one, other = source[row], target[row]
        ours[: len(one), column], theirs[: len(other), column] = one, other
        cells[: len(one), : len(other), column] = of_row.reshape(len(one), len(other))
    return AlignmentBatch(rows, cells, ours, theirs, *lengths)


Array = NDArray[np.float64]


class Posteriors(NamedTuple):
    """Posterior probabilities of a batch."""

    links: Array
    """Probability that a word is explained by a position, (J, P, B); the rest is that of none."""
    jumps: Array
    """Expected number of jumps from one position to another, (P, P, B)."""
    log_likelihood: Array
    """Of each pair, (B,)."""


def sum_alignments(
    linked: Array, none: Array, weights: Array, norms: Array, lengths: NDArray[np.int64]
) -> Posteriors:
    """Return posterior probabilities by the forward-backward algorithm (Rabiner 1989, III).

    Args:
        linked: probability of each word linked with each position, (J, P, B); 0 at position 0 and
            beyond the end of a sentence.
        none: probability of each word linked with none, (J, B).
        weights: weight of going from one position to another, (P, P).
        norms: sum of the weights from each position, over those of the sentence, (P, B).
        lengths: words to be explained, (B,).
    """
    words, positions, pairs = linked.shape
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


class Jumps(NamedTuple):
    """The weights w of jumps from -width to width, (2 width + 1,)."""

    weights: Array

    @classmethod
    def start(cls, width: int) -> "Jumps":
        """Return weights that prefer the next position, and near ones."""
        ahead = np.arange(-width, width + 1) - 1
        return cls(np.exp(-np.abs(ahead) / 2) + 0.01)

    def matrix(self, positions: int) -> Array:
        """Return the weight from each position to each other, (positions, positions).

        Nothing leads to position 0, where sentences start.
        """
        matrix: Array = self.weights[self._bins(positions)]
        matrix[:, 0] = 0
        return matrix

    def norms(self, lengths: NDArray[np.int64]) -> Array:
        """Return the sum of weights from each position, (longest + 1, sentences); 1 beyond."""
        positions = int(lengths.max()) + 1
        sums = np.cumsum(self.matrix(positions), axis=1)
        there = np.arange(positions)[:, None] <= lengths
        return np.where(there, sums[:, lengths], 1.0)

    def improve(self, jumps: Array, departures: Array, smoothing: float) -> "Jumps":
        """Return weights under which the expected jumps are more probable, never less.

        That is one step of the MM algorithm for choices among several (Hunter 2004, section 3),
        for sentences of different lengths offer different jumps.

        Args:
            jumps: expected number of each jump, (2 width + 1,).
            departures: expected number of jumps from each position, by length, (longest + 1,
                longest + 1).
            smoothing: jumps of each kind seen beforehand, where all were offered.
        """
        lengths, positions = np.nonzero(departures)
        width = len(self.weights) // 2
        offered = smoothing * len(jumps) / self.weights.sum() * np.ones(len(jumps))
        bins = self._bins(len(departures))
        for length, position in zip(lengths.tolist(), positions.tolist(), strict=True):
            kinds = np.bincount(bins[position, 1 : length + 1], minlength=2 * width + 1)
            rate = departures[length, position] / (kinds * self.weights).sum()
            offered += rate * kinds
        weights = (jumps + smoothing) / offered
        return Jumps(weights / weights.sum())

    def sum_widths(self, jumps: Array) -> Array:
        """Return the sum over all jumps of the same width, (2 width + 1,).

        Args:
            jumps: from each position to each other, (positions, positions).
        """
        bins = self._bins(len(jumps))
        return np.bincount(bins.ravel(), jumps.ravel(), len(self.weights)).astype(np.float64)

    def _bins(self, positions: int) -> NDArray[np.int64]:
        width = len(self.weights) // 2
        places = np.arange(positions)
        bins: NDArray[np.int64] = np.clip(places - places[:, None], -width, width) + width
        return bins


@dataclass(frozen=True)
class Direction:
    """A model that explains each target word by a source word, or by none."""

    lexicon: Lexicon
    jumps: Jumps
    null_probability: float
    diagonal: float

    def explain(self, batch: AlignmentBatch) -> Posteriors:
        """Return the posteriors of the HMM; see :class:`Posteriors`, J being target words."""
        words, pairs = batch.target.shape
        positions = len(batch.source) + 1
        emissions = np.zeros((words, positions, pairs))
        emissions[:, 1:] = self.lexicon.pairs[batch.cells].transpose(1, 0, 2)
        return sum_alignments(
            (1 - self.null_probability) * emissions,
            self.null_probability * self.lexicon.nulls[batch.target],
            self.jumps.matrix(positions),
            self.jumps.norms(batch.source_lengths),
            batch.target_lengths,
        )

    def explain_by_place(self, batch: AlignmentBatch) -> tuple[Array, Array]:
        """Return the posteriors and log-likelihoods of IBM model 1 that prefers the diagonal.

        Its prior is that of Dyer et al. (2013, section 2).

        Returns:
            Probabilities (target words, source words + 1, pairs), the first position empty, and
            the log-likelihood of each pair.
        """
        words, pairs = batch.target.shape
        ours = (np.arange(len(batch.source))[:, None] + 1) / (batch.source_lengths + 1)
        theirs = (np.arange(words)[:, None] + 1) / (batch.target_lengths + 1)
        prior = np.exp(-self.diagonal * np.abs(theirs[:, None] - ours))
        prior *= np.arange(len(batch.source))[:, None] < batch.source_lengths
        prior /= np.add.reduce(prior, axis=1, keepdims=True)
        links = np.zeros((words, len(batch.source) + 1, pairs))
        links[:, 1:] = self.lexicon.pairs[batch.cells].transpose(1, 0, 2) * prior
        links *= 1 - self.null_probability
        none = self.null_probability * self.lexicon.nulls[batch.target]
        totals = np.add.reduce(links, axis=1) + none
        inside = np.arange(words)[:, None] < batch.target_lengths
        links = np.where(inside[:, None], links / totals[:, None], 0.0)
        return links, np.where(inside, np.log(totals), 0.0).sum(axis=0)

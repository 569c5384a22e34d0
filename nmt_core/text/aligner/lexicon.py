"""Sentence pairs in batches, and the probabilities that their words explain each other.

Those of single words are the most likely ones under a Dirichlet prior whose parameters are one more
than the pseudo-counts: expected count and pseudo-count over their total (Bishop 2006, section
2.2.1). Pseudo-counts are the same for all pairs of words, and more for equal words.
"""

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_core.text.aligner.words import AlignerConfig

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


def pair_text(
    source: Sequence[Numbers], target: Sequence[Numbers], target_size: int
) -> tuple[list[AlignmentBatch], Numbers]:
    """Batch sentence pairs, none of them empty on a side, and number their pairs of words.

    Returns:
        The batches, and the pairs of words that occur in a sentence pair, ascending: number of the
        source word, times the size of the target vocabulary, plus number of the target word.
    """
    keys = np.zeros(0, np.int64)
    waiting: list[Numbers] = []
    count = 0
    for number, (ours, theirs) in enumerate(zip(source, target, strict=True), start=1):
        waiting.append(_number_pairs(ours, theirs, target_size))
        count += len(waiting[-1])
        if count >= max(WAITING, len(keys) // 4) or number == len(source):
            keys, waiting, count = _sort_distinct(np.concatenate([keys, *waiting])), [], 0
    groups = plan_batches([len(words) for words in source], [len(words) for words in target])
    return [_fill(rows, source, target, keys, target_size) for rows in groups], keys


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

Explained = tuple[Array, Array]
"""Probabilities that positions of the source explain target words, and the log-likelihood of each
pair."""


@dataclass(frozen=True)
class Direction:
    """A model that explains each target word by a source word, or by none."""

    pairs: Array
    """Probability of the target word of each pair of words; one more at the end, 0, for padding."""
    nulls: Array
    """Probability of each target word that translates none."""
    jumps: Array
    """Weights of jumps from -width to width, (2 width + 1,)."""
    null_probability: float
    diagonal: float

    def explain(self, batch: AlignmentBatch) -> Explained:
        """Return the posteriors of the HMM (Vogel et al. 1996), (source, target words, pairs)."""
        linked, none = self._emit(batch)
        matrix, norms = weigh_jumps(self.jumps, batch.source_lengths)
        reached = np.concatenate([np.zeros_like(linked[:1]), linked]).transpose(1, 0, 2)
        links, log_likelihood = sum_alignments(reached, none, matrix, norms, batch.target_lengths)
        return links[:, 1:].transpose(1, 0, 2), log_likelihood

    def explain_by_place(self, batch: AlignmentBatch) -> Explained:
        """Return those of IBM model 1 that prefers the diagonal (Dyer et al. 2013, section 2)."""
        linked, none = self._emit(batch)
        source, target = (np.arange(len(side))[:, None] for side in (batch.source, batch.target))
        ours = (source + 1) / (batch.source_lengths + 1)
        theirs = (target + 1) / (batch.target_lengths + 1)
        prior = np.exp(-self.diagonal * np.abs(theirs - ours[:, None]))
        prior *= (source < batch.source_lengths)[:, None]
        linked *= prior / np.add.reduce(prior, axis=0)
        totals = np.add.reduce(linked, axis=0) + none
        inside = target < batch.target_lengths
        links = np.where(inside, linked / totals, 0.0)
        return links, np.where(inside, np.log(totals), 0.0).sum(axis=0)

    def _emit(self, batch: AlignmentBatch) -> tuple[Array, Array]:
        """Return the probability of each target word with each source word, and with none."""
        linked = (1 - self.null_probability) * self.pairs[batch.cells]
        return linked, self.null_probability * self.nulls[batch.target]


FAR = 0.01
"""Weight of a far jump."""


def start_jumps(width: int) -> Array:
    """Return weights of jumps that prefer the next position, and near ones."""
    ahead = np.arange(-width, width + 1) - 1
    return np.exp(-np.abs(ahead) / 2) + FAR


def weigh_jumps(weights: Array, lengths: Numbers) -> tuple[Array, Array]:
    """Return the weight from each position to each other, (P, P), and sums of these.

    Nothing leads to position 0, where sentences start. The sums are those over the positions of a
    sentence, (P, sentences); 1 beyond its end.
    """
    places, width = np.arange(int(lengths.max()) + 1), len(weights) // 2
    matrix = weights[np.clip(places - places[:, None], -width, width) + width]
    matrix[:, 0] = 0
    sums = np.cumsum(matrix, axis=1)[:, lengths]
    return matrix, np.where(places[:, None] <= lengths, sums, 1.0)


def sum_alignments(
    linked: Array, none: Array, weights: Array, norms: Array, lengths: Numbers
) -> Explained:
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
    state = np.zeros((positions, pairs))
    state[0] = 1
    explained, scales = np.zeros_like(linked), np.ones((words, pairs))
    for word in range(words):
        arriving = np.add.reduce((state / norms)[:, None] * weights[:, :, None], axis=0)
        arrived = linked[word] * arriving
        after = arrived + none[word] * state
        scales[word] = scale = np.where(inside[word], np.add.reduce(after, axis=0), 1.0)
        explained[word] = np.where(inside[word], arrived / scale, 0.0)
        state = np.where(inside[word], after / scale, state)
    future = np.ones((positions, pairs))
    for word in range(words - 1, -1, -1):
        explained[word] *= future
        leading = linked[word] * future / scales[word]
        onward = np.add.reduce(leading[:, None] * weights.T[:, :, None], axis=0) / norms
        staying = none[word] * future / scales[word]
        future = np.where(inside[word], onward + staying, future)
    return explained, np.log(scales).sum(axis=0)


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

    def sum_up(self, pairs: Array) -> Array:
        """Return counts and pseudo-counts of all that each word may be translated by."""
        more = pairs + self.counts - self.unmet
        sums = np.bincount(self.givens, more, self.sizes[0]).astype(np.float64)
        return sums + self.unmet * self.sizes[1]

    def direct(
        self, pairs: Array, totals: Array, nulls: Array, jumps: Array, config: AlignerConfig
    ) -> Direction:
        """Return the model of expected counts of pairs of words, and of words without a link.

        Args:
            pairs: expected count of each pair.
            totals: see ``sum_up``.
            nulls: expected count of each word that translates none.
            jumps: weights of jumps.
            config: the other probabilities.
        """
        alone = nulls + self.unmet
        return Direction(
            np.append((pairs + self.counts) / totals[self.givens], 0.0),
            alone / alone.sum(),
            jumps,
            config.null_probability,
            config.diagonal,
        )


def measure_priors(
    keys: Numbers, words: Sequence[Sequence[str]], config: AlignerConfig
) -> tuple[Prior, Prior]:
    """Return the priors of a text's pairs of words, as source and as target see them.

    Args:
        keys: the pairs; see ``pair_text``.
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

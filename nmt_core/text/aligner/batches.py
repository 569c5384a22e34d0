"""Sentence pairs in batches, with their words and pairs of words as numbers."""

from collections.abc import Iterator, Sequence, Sized
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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

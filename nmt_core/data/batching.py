"""Group sentence pairs of similar length so that a batch holds many tokens and little padding.

Batches are a function of lengths, seed, epoch and group alone, so a resumed run sees the same ones.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.random import make_generator
from nmt_core.data.settings import BucketBatching, TokenBatching

Lengths = NDArray[np.integer]
"""Source and target length of every pair, in tokens; (pairs, 2)."""

Numbers = NDArray[np.integer]

Batches = list[Numbers]
"""Pair numbers, batch by batch."""


def batches_of_epoch(
    lengths: Lengths,
    config: TokenBatching | BucketBatching,
    *,
    seed: int,
    epoch: int,
    group: int = 0,
) -> Batches:
    """Return the batches of an epoch or a group of it, in order; every pair is in exactly one.

    A pair longer than ``max_tokens`` is a batch of its own.
    """
    place = name_place(epoch, group)
    if isinstance(config, BucketBatching):
        return list(_buckets(lengths, config, make_generator(seed, "buckets", *place)))
    draw = make_generator(seed, "batches", *place)
    order = draw.permutation(len(lengths))
    pool = _pool_size(lengths, config)
    batches = [
        batch
        for start in range(0, len(order), pool)
        for batch in _fill(_snake(lengths, order[start : start + pool]), lengths, config.max_tokens)
    ]
    return [batches[number] for number in draw.permutation(len(batches))]


def name_place(epoch: int, group: int) -> tuple[int, ...]:
    """Return what names the randomness of a group; of the first, the epoch alone."""
    return (epoch, group) if group else (epoch,)


def batches_in_order(lengths: Lengths, *, max_tokens: int) -> Batches:
    """Return batches for validation: sorted by length, never shuffled."""
    return list(_fill(_snake(lengths, np.arange(len(lengths))), lengths, max_tokens))


def split_evenly(lengths: Lengths, parts: int, draw: np.random.Generator) -> Batches:
    """Split pairs into ``parts`` batches of similar lengths, in random order."""
    numbers = _snake(lengths, np.arange(len(lengths)))
    longest = int(lengths.max()) + 1
    sizes = range(longest, longest * len(lengths) + 1)

    def fits(size: int) -> bool:
        return len(list(_fill(numbers, lengths, size))) <= parts

    batches = list(_fill(numbers, lengths, sizes[bisect_left(sizes, True, key=fits)]))
    while len(batches) < parts:
        batches.sort(key=len)
        batches += np.array_split(batches.pop(), 2)
    return [batches[number] for number in draw.permutation(parts)]


def _pool_size(lengths: Lengths, config: TokenBatching) -> int:
    mean = max(1.0, float(lengths.max(axis=1).mean())) if len(lengths) else 1.0
    return max(1, int(config.pool_batches * config.max_tokens / mean))


def _snake(lengths: Lengths, numbers: Numbers) -> Numbers:
    """Sort by source length in steps of two; within a step by target length, up and down in turn.

    Neighbours are then close on both sides, also where one step meets the next.
    """
    source, target = lengths[numbers, 0], lengths[numbers, 1]
    step = source // 2
    turned = np.where(step % 2 == 0, target, -target)
    return numbers[np.lexsort((turned, step))]


def _fill(numbers: Numbers, lengths: Lengths, max_tokens: int) -> Iterator[Numbers]:
    ends = lengths[numbers].max(axis=1) + 1 if len(numbers) else np.zeros(0, dtype=np.int64)
    first, longest = 0, 0
    for number, length in enumerate(ends.tolist()):
        longest = max(longest, length)
        if number > first and longest * (number - first + 1) > max_tokens:
            yield numbers[first:number]
            first, longest = number, length
    if first < len(numbers):
        yield numbers[first:]


def _buckets(
    lengths: Lengths, config: BucketBatching, draw: np.random.Generator
) -> Iterator[Numbers]:
    sides = np.searchsorted(config.boundaries, lengths[:, 0], side="right")
    buckets: dict[int, list[int]] = {}
    for number in _through_buffer(len(lengths), config.shuffle_pairs, draw.integers):
        bucket = buckets.setdefault(int(sides[number]), [])
        bucket.append(number)
        if len(bucket) == config.batch_size:
            yield np.array(bucket)
            bucket.clear()
    for bucket in buckets.values():
        if bucket:
            yield np.array(bucket)


def _through_buffer(count: int, size: int, draw: Callable[[int], np.integer]) -> Iterator[int]:
    """Yield 0 to ``count`` - 1 shuffled through a buffer (tf.data's, as in van der Goten 2018)."""
    buffer: list[int] = []
    for number in range(count):
        if len(buffer) < size:
            buffer.append(number)
            continue
        drawn = int(draw(size))
        yield buffer[drawn]
        buffer[drawn] = number
    while buffer:
        drawn = int(draw(len(buffer)))
        buffer[drawn], buffer[-1] = buffer[-1], buffer[drawn]
        yield buffer.pop()


POOL = 64
"""Batches whose rows are sorted by length together, so that little is padding."""


def batches_by_length(
    lengths: Mapping[int, int], *, max_tokens: int, max_rows: int | None = None
) -> Iterator[list[int]]:
    """Yield rows in batches of similar length, longest first.

    Args:
        lengths: tokens of every row, by its number.
        max_tokens: tokens of a batch, padding included; a longer row is a batch of its own.
        max_rows: rows of a batch.
    """
    batch: list[int] = []
    for row in sorted(lengths, key=lambda row: (-lengths[row], row)):
        is_full = max_rows is not None and len(batch) >= max_rows
        if batch and (is_full or lengths[batch[0]] * (len(batch) + 1) > max_tokens):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def shuffle_by_length(
    lengths: Sequence[int], *, rows: int, draw: np.random.Generator
) -> Iterator[list[int]]:
    """Yield every row once, in batches of similar length, shuffled.

    Args:
        lengths: tokens of every row.
        rows: rows of a batch; one may have fewer.
        draw: shuffles rows before they are sorted, pool by pool, and batches after.
    """
    order = draw.permutation(len(lengths)).tolist()
    pools = [order[at : at + POOL * rows] for at in range(0, len(order), POOL * rows)]
    order = [row for pool in pools for row in sorted(pool, key=lengths.__getitem__)]
    for batch in draw.permutation(-(-len(order) // rows)):
        yield order[batch * rows : (batch + 1) * rows]

"""Group sentence pairs of similar length, so that batches have little padding.

Batches depend only on lengths, seed, epoch and group, so a resumed run reads the same batches.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.random import make_generator
from nmt_core.data.settings import BucketBatching, TokenBatching

Lengths = NDArray[np.integer]
"""Source and target length of every pair, in tokens, (pairs, 2)."""

Numbers = NDArray[np.integer]

Batches = list[Numbers]
"""The pair numbers of each batch."""


def batches_of_epoch(
    lengths: Lengths,
    config: TokenBatching | BucketBatching,
    *,
    seed: int,
    epoch: int,
    group: int = 0,
) -> Batches:
    """Return the shuffled batches of an epoch or group; every pair is in exactly one batch.

    A pair longer than ``max_tokens`` is a batch of its own.
    """
    place = name_group(epoch, group)
    if isinstance(config, BucketBatching):
        return list(_buckets(lengths, config, make_generator(seed, "buckets", *place)))
    draw = make_generator(seed, "batches", *place)
    order = draw.permutation(len(lengths))
    pool = _pool_size(lengths, config)
    batches = [
        batch
        for start in range(0, len(order), pool)
        for batch in _cut_into_batches(
            _sort_by_length(lengths, order[start : start + pool]), lengths, config.max_tokens
        )
    ]
    return [batches[number] for number in draw.permutation(len(batches))]


def name_group(epoch: int, group: int) -> tuple[int, ...]:
    """Return the names of a group's random draws: the epoch, and the group unless it is 0."""
    return (epoch, group) if group else (epoch,)


def batches_in_order(lengths: Lengths, *, max_tokens: int) -> Batches:
    """Return batches for validation: sorted by length, never shuffled."""
    return list(
        _cut_into_batches(_sort_by_length(lengths, np.arange(len(lengths))), lengths, max_tokens)
    )


def split_evenly(lengths: Lengths, parts: int, draw: np.random.Generator) -> Batches:
    """Return ``parts`` batches of pairs with similar lengths, in random order."""
    numbers = _sort_by_length(lengths, np.arange(len(lengths)))
    longest = int(lengths.max()) + 1
    sizes = range(longest, longest * len(lengths) + 1)

    def fits(size: int) -> bool:
        return len(list(_cut_into_batches(numbers, lengths, size))) <= parts

    batches = list(_cut_into_batches(numbers, lengths, sizes[bisect_left(sizes, True, key=fits)]))
    while len(batches) < parts:
        batches.sort(key=len)
        batches += np.array_split(batches.pop(), 2)
    return [batches[number] for number in draw.permutation(parts)]


def _pool_size(lengths: Lengths, config: TokenBatching) -> int:
    mean = max(1.0, float(lengths.max(axis=1).mean())) if len(lengths) else 1.0
    return max(1, int(config.pool_batches * config.max_tokens / mean))


def _sort_by_length(lengths: Lengths, numbers: Numbers) -> Numbers:
    """Sort by source length in steps of two, then by target length, up and down alternately.

    So neighbours have similar lengths on both sides, also at the border of two steps.
    """
    source, target = lengths[numbers, 0], lengths[numbers, 1]
    step = source // 2
    signed = np.where(step % 2 == 0, target, -target)
    return numbers[np.lexsort((signed, step))]


def _cut_into_batches(numbers: Numbers, lengths: Lengths, max_tokens: int) -> Iterator[Numbers]:
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
    for number in _shuffle_in_buffer(len(lengths), config.shuffle_pairs, draw.integers):
        bucket = buckets.setdefault(int(sides[number]), [])
        bucket.append(number)
        if len(bucket) == config.batch_size:
            yield np.array(bucket)
            bucket.clear()
    for bucket in buckets.values():
        if bucket:
            yield np.array(bucket)


def _shuffle_in_buffer(count: int, size: int, draw: Callable[[int], np.integer]) -> Iterator[int]:
    """Yield 0 to ``count`` - 1, shuffled as by ``tf.data.Dataset.shuffle(size)``."""
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
"""Batches per pool; the rows of a pool are sorted by length to reduce padding."""


def shuffle_by_length(
    lengths: Sequence[int], *, rows: int, draw: np.random.Generator
) -> Iterator[list[int]]:
    """Yield every row once, in shuffled batches of similar length.

    Args:
        lengths: number of tokens of each row.
        rows: rows per batch; one batch may have fewer.
        draw: shuffles the rows before they are sorted within pools, then the batches.
    """
    order = draw.permutation(len(lengths)).tolist()
    pools = [order[at : at + POOL * rows] for at in range(0, len(order), POOL * rows)]
    order = [row for pool in pools for row in sorted(pool, key=lengths.__getitem__)]
    for batch in draw.permutation(-(-len(order) // rows)):
        yield order[batch * rows : (batch + 1) * rows]

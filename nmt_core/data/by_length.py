"""Batches of rows of similar length: in order, or to learn from in an order of chance."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

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

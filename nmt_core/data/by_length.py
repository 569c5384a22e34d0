"""Batches of rows of similar length, where nothing is learnt."""

from collections.abc import Iterator, Mapping


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

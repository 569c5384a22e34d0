"""Sentence pairs as padded tensors."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Generic, Self, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor
from typing_extensions import override

from nmt_core.base.config import Config
from nmt_core.base.random import make_generator
from nmt_core.data.batching import (
    Batches,
    batches_in_order,
    batches_of_epoch,
    name_place,
    split_evenly,
)
from nmt_core.data.mixture import Mixture
from nmt_core.data.settings import BatchingConfig, BucketBatching
from nmt_core.data.shards import ShardDataset
from nmt_core.text.vocabulary import BOS, EOS, PAD

LONGEST = 512
"""Tokens of a sentence that are read outside training, as many as a translator reads."""

MEASURED_TOKENS, MEASURED_LOGITS = 2048, 2**25
"""Padded tokens per batch outside training, and tokens by vocabulary."""

TokenNumbers = Sequence[int] | np.ndarray

NumberedPair = tuple[TokenNumbers, TokenNumbers]
"""Source and target."""

Sample = Callable[[int, int], NumberedPair]
"""Returns the tokens that the pair of a number has in an epoch."""

_Rows = tuple[np.ndarray, list[NumberedPair], int]
"""The pairs of a batch by their numbers, what one of several processes reads of them, and the
target tokens of all."""


@dataclass(frozen=True)
class TensorBatch:
    """Tensors of several rows."""

    def map(self, change: Callable[[Any], object], kind: type[object] = Tensor) -> Self:
        """Change every tensor, or every value of another kind."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return replace(self, **{n: change(v) for n, v in values if isinstance(v, kind)})

    def to(self, device: torch.device) -> Self:
        """Return the batch on another device."""
        return self.map(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Self:
        """Return the batch in memory from which a GPU takes it while the processor goes on."""
        return self.map(Tensor.pin_memory)

    @property
    def rows(self) -> int:
        """Number of rows that can be read apart."""
        return 1

    @property
    def size(self) -> int:
        """Number of padded tokens, a measure of memory."""
        return 0

    def take(self, first: int, step: int) -> Self:
        """Return every ``step``-th row from ``first`` on, without padding that none needs."""
        del first, step
        return self


@dataclass(frozen=True)
class Batch(TensorBatch):
    """Pairs side by side, padded at the end."""

    source: Int[Tensor, "B S"]
    """Source tokens, each sentence ended by EOS."""
    source_padding: Bool[Tensor, "B S"]
    target_input: Int[Tensor, "B T"]
    """What the decoder reads: BOS, then the target."""
    target_output: Int[Tensor, "B T"]
    """What it must predict: the target, then EOS."""
    target_places: Int[Tensor, " N"]
    """Places of tokens in ``target_output``, flattened; found before the batch goes to a GPU, since
    the processor would wait for its answer."""

    @property
    def target_tokens(self) -> int:
        """Tokens to predict, ends of sentences included."""
        return len(self.target_places)

    @property
    @override
    def rows(self) -> int:
        return len(self.source)

    @property
    @override
    def size(self) -> int:
        return self.source.numel() + self.target_output.numel()

    @override
    def take(self, first: int, step: int) -> "Batch":
        source, padding = self.source[first::step], self.source_padding[first::step]
        target, read = self.target_output[first::step], self.target_input[first::step]
        longest = int((~padding).sum(1).max())
        written = target != PAD
        width = int(written.sum(1).max())
        return Batch(
            source[:, :longest],
            padding[:, :longest],
            read[:, :width],
            target[:, :width],
            written[:, :width].flatten().nonzero().squeeze(1),
        )


def pad(rows: Sequence[TokenNumbers]) -> Int[Tensor, "B L"]:
    """Return rows of unequal length as one tensor, padded with PAD."""
    width = max((len(row) for row in rows), default=0)
    padded = np.full((len(rows), width), PAD, dtype=np.int64)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    return torch.from_numpy(padded)


def collate(
    pairs: Sequence[tuple[TokenNumbers, TokenNumbers]],
) -> Batch:
    """Return pairs of token numbers as a batch; BOS and EOS are added here."""
    source = pad([[*pair[0], EOS] for pair in pairs])
    target_output = pad([[*pair[1], EOS] for pair in pairs])
    return Batch(
        source,
        source == PAD,
        pad([[BOS, *pair[1]] for pair in pairs]),
        target_output,
        (target_output != PAD).flatten().nonzero().squeeze(1),
    )


def measured_batches(
    pairs: Iterable[tuple[TokenNumbers, TokenNumbers]], *, vocabulary: int
) -> tuple[list[Batch], int]:
    """Return all pairs as batches in a fixed order, and the number of pairs that were cut.

    Sides are cut to ``LONGEST`` tokens, which bounds memory: one line of validation or test text,
    which is not filtered, may be a whole document. ``vocabulary`` is the size of the target's.
    """
    whole = list(pairs)
    cut = [(source[:LONGEST], target[:LONGEST]) for source, target in whole]
    lengths = np.array([[len(side) for side in pair] for pair in cut], np.int64).reshape(-1, 2)
    tokens = min(MEASURED_TOKENS, MEASURED_LOGITS // vocabulary)
    batches = batches_in_order(lengths, max_tokens=tokens)
    too_long = sum(max(map(len, pair)) > LONGEST for pair in whole)
    return [collate([cut[number] for number in batch]) for batch in batches], too_long


class Position(Config):
    """A place in the endless sequence of batches: the next batch to read."""

    epoch: int = 0
    batch: int = 0
    """Of the group."""
    group: int = 0
    """Of an epoch that is planned in several."""

    @property
    def begins_epoch(self) -> bool:
        """Whether nothing of the epoch was read."""
        return self.group == 0 and self.batch == 0


BatchT = TypeVar("BatchT", bound=TensorBatch)


@dataclass(frozen=True)
class Share(Generic[BatchT]):
    """The part of a batch of one of several processes."""

    batch: BatchT
    """Without rows if the whole has fewer than there are processes."""
    predictions: int
    """Predictions of the whole batch, over which the loss is averaged."""
    target_tokens: int
    """Tokens of the whole batch, by which budgets and speed are counted."""
    after: Position
    """The place after the batch."""
    pairs: tuple[int, ...] = ()
    """Numbers of the pairs of the whole batch."""

    def split(self, passes: int) -> list[Self]:
        """Split the batch into parts, none without rows."""
        parts = min(passes, self.batch.rows)
        if parts <= 1:
            return [self]
        return [replace(self, batch=self.batch.take(n, passes)) for n in range(parts)]


@dataclass(frozen=True)
class TrainingBatches:
    """The endless sequence of training batches, readable from any place."""

    dataset: ShardDataset
    config: BatchingConfig
    seed: int
    sample: Sample | None = None
    """Draws the tokens of a pair in an epoch. Batches are planned by the lengths of the dataset;
    ``pool_batches`` at a time are made anew of pairs that were drawn with similar lengths."""
    mixture: Mixture | None = None
    """Chooses the pairs of an epoch, in groups; without, an epoch has all pairs once."""

    def in_epochs(self, epochs: int) -> int:
        """Estimate the batches of some epochs; an epoch may differ by a few."""
        return epochs * self._count_groups() * len(self.plan(Position()))

    def start_from(
        self, position: Position, *, rank: int = 0, size: int = 1
    ) -> Generator[Share[Batch], None, None]:
        """Yield batches without end: all rows, or every ``size``-th from number ``rank`` on."""
        at = position
        read = self._read if self.sample is None else partial(self._draw, self.sample)
        while True:
            batches = self.plan(at)
            for rows, mine, tokens in read(batches, at, rank, size):
                at = self._advance(at, len(batches))
                yield Share(
                    collate(mine),
                    predictions=tokens + len(rows),
                    target_tokens=tokens + len(rows),
                    pairs=tuple(rows.tolist()),
                    after=at,
                )
                if not at.batch:
                    break

    def plan(self, at: Position) -> Batches:
        """Return the batches of the group of a place."""
        rows = self.mixture.list_rows(at.epoch, at.group) if self.mixture else None
        lengths = self.dataset.measure(rows)
        batches = batches_of_epoch(
            lengths, self.config, seed=self.seed, epoch=at.epoch, group=at.group
        )
        return batches if rows is None else [rows[batch] for batch in batches]

    def _count_groups(self) -> int:
        return self.mixture.count_groups() if self.mixture else 1

    def _advance(self, at: Position, batches: int) -> Position:
        """Return the place after a batch: in its group, the next one or the next epoch."""
        if at.batch + 1 < batches:
            return at.model_copy(update={"batch": at.batch + 1})
        if at.group + 1 < self._count_groups():
            return at.model_copy(update={"group": at.group + 1, "batch": 0})
        return Position(epoch=at.epoch + 1)

    def _read(self, batches: Batches, position: Position, rank: int, size: int) -> Iterator[_Rows]:
        """Yield the batches from a place on."""
        for rows in batches[position.batch :]:
            mine: list[NumberedPair] = [self.dataset[int(row)] for row in rows[rank::size]]
            yield rows, mine, int(self.dataset.measure(rows)[:, 1].sum())

    def _draw(
        self, sample: Sample, batches: Batches, position: Position, rank: int, size: int
    ) -> Iterator[_Rows]:
        """Yield as many batches, from a place on, of pairs sorted by the lengths that they got."""
        together = 1 if isinstance(self.config, BucketBatching) else self.config.pool_batches
        for start in range(position.batch // together * together, len(batches), together):
            planned = batches[start : start + together]
            numbers = np.concatenate(planned)
            pairs = [sample(int(number), position.epoch) for number in numbers]
            lengths = np.array([[len(side) for side in pair] for pair in pairs])
            place = name_place(position.epoch, position.group)
            draw = make_generator(self.seed, "drawn batches", *place, start)
            for rows in split_evenly(lengths, len(planned), draw)[max(0, position.batch - start) :]:
                mine = [pairs[row] for row in rows[rank::size]]
                yield numbers[rows], mine, int(lengths[rows, 1].sum())

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
    name_group,
    split_evenly,
)
from nmt_core.data.mixture import Mixture
from nmt_core.data.settings import BatchingConfig, BucketBatching
from nmt_core.data.shards import ShardDataset
from nmt_core.text.vocabulary import BOS, EOS, PAD

MAX_EVALUATION_TOKENS = 512
"""Maximum tokens per sentence outside training, the default limit of a translator too."""

MAX_BATCH_TOKENS, MAX_BATCH_LOGITS = 2048, 2**25
"""Maximum padded tokens of a batch outside training, and maximum tokens times vocabulary size."""

TokenNumbers = Sequence[int] | np.ndarray

NumberedPair = tuple[TokenNumbers, TokenNumbers]
"""Token IDs of source and target."""

DrawPair = Callable[[int, int], NumberedPair]
"""Takes the number of a pair and an epoch; returns the pair's tokens in this epoch."""

_Rows = tuple[np.ndarray, list[NumberedPair], int]
"""The numbers of a batch's pairs, the pairs that this process reads, and the number of target
tokens of the whole batch."""


@dataclass(frozen=True)
class TensorBatch:
    """Tensors that share their rows."""

    def map(self, change: Callable[[Any], object], kind: type[object] = Tensor) -> Self:
        """Return the batch with ``change`` applied to every field of type ``kind``."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return replace(self, **{n: change(v) for n, v in values if isinstance(v, kind)})

    def to(self, device: torch.device) -> Self:
        """Return the batch on another device."""
        return self.map(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Self:
        """Return the batch in pinned memory, from which copies to a GPU are asynchronous."""
        return self.map(Tensor.pin_memory)

    @property
    def rows(self) -> int:
        """Number of rows that ``take`` can select from."""
        return 1

    @property
    def size(self) -> int:
        """Number of padded tokens, a measure of memory."""
        return 0

    def take(self, first: int, step: int) -> Self:
        """Return every ``step``-th row from ``first`` on, without superfluous padding."""
        del first, step
        return self


@dataclass(frozen=True)
class Batch(TensorBatch):
    """Sentence pairs, padded at the end."""

    source: Int[Tensor, "B S"]
    """Source tokens; each sentence ends with EOS."""
    source_padding: Bool[Tensor, "B S"]
    target_input: Int[Tensor, "B T"]
    """Input of the decoder: BOS, then the target."""
    target_output: Int[Tensor, "B T"]
    """Labels: the target, then EOS."""
    target_places: Int[Tensor, " N"]
    """Indices of the tokens in the flattened ``target_output``. They are computed on the CPU,
    because ``nonzero`` on a GPU would synchronize."""

    @property
    def target_tokens(self) -> int:
        """Number of tokens to predict, EOS included."""
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
        labels, inputs = self.target_output[first::step], self.target_input[first::step]
        source_width = int((~padding).sum(1).max())
        is_token = labels != PAD
        target_width = int(is_token.sum(1).max())
        return Batch(
            source[:, :source_width],
            padding[:, :source_width],
            inputs[:, :target_width],
            labels[:, :target_width],
            is_token[:, :target_width].flatten().nonzero().squeeze(1),
        )


def pad(rows: Sequence[TokenNumbers]) -> Int[Tensor, "B L"]:
    """Return rows of unequal length as one tensor, padded with PAD at the end."""
    width = max((len(row) for row in rows), default=0)
    padded = np.full((len(rows), width), PAD, dtype=np.int64)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    return torch.from_numpy(padded)


def collate(pairs: Sequence[tuple[TokenNumbers, TokenNumbers]]) -> Batch:
    """Return pairs of token IDs as a batch, with BOS and EOS added."""
    source = pad([[*pair[0], EOS] for pair in pairs])
    target_output = pad([[*pair[1], EOS] for pair in pairs])
    return Batch(
        source,
        source == PAD,
        pad([[BOS, *pair[1]] for pair in pairs]),
        target_output,
        (target_output != PAD).flatten().nonzero().squeeze(1),
    )


def build_evaluation_batches(
    pairs: Iterable[tuple[TokenNumbers, TokenNumbers]], *, vocabulary: int
) -> tuple[list[Batch], int]:
    """Return all pairs as batches in a fixed order, and the number of pairs that were truncated.

    Both sides are truncated to ``MAX_EVALUATION_TOKENS``, because validation and test text are not
    filtered, so a line may be a document. ``vocabulary`` is the size of the target vocabulary.
    """
    limit = MAX_EVALUATION_TOKENS
    whole = list(pairs)
    truncated = [(source[:limit], target[:limit]) for source, target in whole]
    lengths = np.array([[*map(len, pair)] for pair in truncated], np.int64).reshape(-1, 2)
    tokens = min(MAX_BATCH_TOKENS, MAX_BATCH_LOGITS // vocabulary)
    batches = batches_in_order(lengths, max_tokens=tokens)
    too_long = sum(max(map(len, pair)) > limit for pair in whole)
    return [collate([truncated[number] for number in batch]) for batch in batches], too_long


class Position(Config):
    """The next batch to read in the endless sequence of batches."""

    epoch: int = 0
    batch: int = 0
    """Index of the batch within the group."""
    group: int = 0
    """Index of the group within the epoch; see ``Mixture``."""

    @property
    def begins_epoch(self) -> bool:
        """Whether the next batch is the first of its epoch."""
        return self.group == 0 and self.batch == 0


BatchT = TypeVar("BatchT", bound=TensorBatch)


@dataclass(frozen=True)
class Share(Generic[BatchT]):
    """The rows of a batch that one process reads."""

    batch: BatchT
    """These rows; empty if the whole batch has fewer rows than there are processes."""
    predictions: int
    """Number of predictions in the whole batch; the loss is averaged over them."""
    target_tokens: int
    """Number of target tokens in the whole batch, for budgets and speed."""
    after: Position
    """The position after the batch."""
    pairs: tuple[int, ...] = ()
    """Numbers of the pairs in the whole batch."""

    def split(self, passes: int) -> list[Self]:
        """Split the rows for at most ``passes`` passes, each with at least one row."""
        count = min(passes, self.batch.rows)
        if count <= 1:
            return [self]
        return [replace(self, batch=self.batch.take(n, passes)) for n in range(count)]


@dataclass(frozen=True)
class TrainingBatches:
    """The endless sequence of training batches, readable from any position."""

    dataset: ShardDataset
    config: BatchingConfig
    seed: int
    sample: DrawPair | None = None
    """Draws the tokens of a pair in an epoch. Lengths in the dataset determine batches; then the
    drawn lengths regroup ``pool_batches`` batches at a time."""
    mixture: Mixture | None = None
    """Chooses the pairs of each epoch; without a mixture, an epoch has every pair once."""

    def estimate_batches(self, epochs: int) -> int:
        """Return the number of batches in some epochs; each epoch may differ by a few."""
        return epochs * self._count_groups() * len(self.plan(Position()))

    def start_from(
        self, position: Position, *, rank: int = 0, size: int = 1
    ) -> Generator[Share[Batch], None, None]:
        """Yield batches without end, each with every ``size``-th row from row ``rank`` on."""
        at = position
        read = self._read if self.sample is None else partial(self._draw, self.sample)
        while True:
            batches = self.plan(at)
            for rows, pairs, tokens in read(batches, at, rank, size):
                at = self._advance(at, len(batches))
                yield Share(
                    collate(pairs),
                    predictions=tokens + len(rows),
                    target_tokens=tokens + len(rows),
                    pairs=tuple(rows.tolist()),
                    after=at,
                )
                if not at.batch:
                    break

    def plan(self, at: Position) -> Batches:
        """Return the batches of the group at a position, as arrays of pair numbers."""
        rows = self.mixture.list_rows(at.epoch, at.group) if self.mixture else None
        lengths = self.dataset.measure(rows)
        batches = batches_of_epoch(
            lengths, self.config, seed=self.seed, epoch=at.epoch, group=at.group
        )
        return batches if rows is None else [rows[batch] for batch in batches]

    def _count_groups(self) -> int:
        return self.mixture.count_groups() if self.mixture else 1

    def _advance(self, at: Position, batches: int) -> Position:
        """Return the position after a batch of a group that has ``batches`` batches."""
        if at.batch + 1 < batches:
            return at.model_copy(update={"batch": at.batch + 1})
        if at.group + 1 < self._count_groups():
            return at.model_copy(update={"group": at.group + 1, "batch": 0})
        return Position(epoch=at.epoch + 1)

    def _read(self, batches: Batches, position: Position, rank: int, size: int) -> Iterator[_Rows]:
        """Yield the batches from a position on."""
        for rows in batches[position.batch :]:
            pairs: list[NumberedPair] = [self.dataset[int(row)] for row in rows[rank::size]]
            yield rows, pairs, int(self.dataset.measure(rows)[:, 1].sum())

    def _draw(
        self, sample: DrawPair, batches: Batches, position: Position, rank: int, size: int
    ) -> Iterator[_Rows]:
        """Yield as many batches from a position on, regrouped by the lengths that were drawn."""
        pool = 1 if isinstance(self.config, BucketBatching) else self.config.pool_batches
        for start in range(position.batch // pool * pool, len(batches), pool):
            planned = batches[start : start + pool]
            numbers = np.concatenate(planned)
            pairs = [sample(int(number), position.epoch) for number in numbers]
            lengths = np.array([[len(side) for side in pair] for pair in pairs])
            place = name_group(position.epoch, position.group)
            draw = make_generator(self.seed, "drawn batches", *place, start)
            for rows in split_evenly(lengths, len(planned), draw)[max(0, position.batch - start) :]:
                own = [pairs[row] for row in rows[rank::size]]
                yield numbers[rows], own, int(lengths[rows, 1].sum())

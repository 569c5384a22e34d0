"""Sentence pairs as padded tensors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from nmt_core.data.batching import batches_of_epoch
from nmt_core.data.settings import BatchingConfig
from nmt_core.data.shards import ShardDataset
from nmt_core.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class Batch:
    """Pairs side by side, padded at the end."""

    source: Int[Tensor, "B S"]
    """Source tokens, each sentence ended by EOS."""
    source_padding: Bool[Tensor, "B S"]
    target_input: Int[Tensor, "B T"]
    """What the decoder reads: BOS, then the target."""
    target_output: Int[Tensor, "B T"]
    """What it must predict: the target, then EOS."""

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on another device."""
        moved = {f.name: getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)}
        return Batch(**moved)

    @property
    def target_tokens(self) -> int:
        """Tokens to predict, ends of sentences included."""
        return int((self.target_output != PAD).sum())


def pad(rows: Sequence[Sequence[int] | np.ndarray]) -> Int[Tensor, "B L"]:
    """Return rows of unequal length as one tensor, padded with PAD."""
    width = max((len(row) for row in rows), default=0)
    padded = np.full((len(rows), width), PAD, dtype=np.int64)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    return torch.from_numpy(padded)


def collate(
    pairs: Sequence[tuple[Sequence[int] | np.ndarray, Sequence[int] | np.ndarray]],
) -> Batch:
    """Return pairs of token numbers as a batch; BOS and EOS are added here."""
    source = pad([[*pair[0], EOS] for pair in pairs])
    target = [list(pair[1]) for pair in pairs]
    return Batch(
        source,
        source == PAD,
        pad([[BOS, *tokens] for tokens in target]),
        pad([[*tokens, EOS] for tokens in target]),
    )


@dataclass(frozen=True)
class Position:
    """A place in the endless sequence of batches: the next batch to read."""

    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True)
class Share:
    """What one of several processes reads of a batch."""

    batch: Batch
    """Without rows if the whole has fewer than there are processes."""
    sentences: int
    """Of the whole batch; so are the tokens."""
    target_tokens: int
    after: Position
    """The place after the batch."""


@dataclass(frozen=True)
class TrainingBatches:
    """The endless sequence of training batches, readable from any place."""

    dataset: ShardDataset
    config: BatchingConfig
    seed: int

    def in_epochs(self, epochs: int) -> int:
        """Return about how many batches so many epochs have; an epoch may differ by a few."""
        first = batches_of_epoch(self.dataset.lengths, self.config, seed=self.seed, epoch=0)
        return epochs * len(first)

    def start_from(self, position: Position, *, rank: int = 0, size: int = 1) -> Iterator[Share]:
        """Yield batches without end: all rows, or every ``size``-th from number ``rank`` on."""
        epoch, first = position.epoch, position.batch
        while True:
            batches = batches_of_epoch(
                self.dataset.lengths, self.config, seed=self.seed, epoch=epoch
            )
            for number in range(first, len(batches)):
                last = number + 1 == len(batches)
                after = Position(epoch + 1, 0) if last else Position(epoch, number + 1)
                yield self._share(batches[number], rank, size, after)
            epoch, first = epoch + 1, 0

    def _share(self, pairs: np.ndarray, rank: int, size: int, after: Position) -> Share:
        return Share(
            collate([self.dataset[int(pair)] for pair in pairs[rank::size]]),
            sentences=len(pairs),
            target_tokens=int(self.dataset.lengths[pairs, 1].sum()) + len(pairs),
            after=after,
        )

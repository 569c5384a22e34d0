"""How long the sentences are that a model will read and write."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nmt_core.data.batching import batches_of_epoch
from nmt_core.data.shards import ShardDataset
from stages import paths
from stages.params import TrainParams
from stages.planning.updates import Epoch

OVERRUN = 1.2
"""Steps of a search for each token of a reference: a batch goes on until its longest ends, and beam
search until no other can win."""

LOST_UPDATES = 500
"""After so many, half of a search's time goes into sentences that a model does not find the end of:
after none, all of it does."""

GREEDY_FACTOR, GREEDY_OFFSET = 2, 10
"""Tokens at most that training's greedy search writes, by those of the source and in addition."""


@dataclass(frozen=True)
class Lengths:
    """Of the pairs that a calibration has read, but for those that are too long."""

    read: int
    """Pairs of train, those that are too long included."""
    epoch: Epoch
    """One pass over them."""
    growth: float
    """Target tokens to a source token, ends of sentences counted."""
    validation_pairs: int
    greedy_share: float
    """Share of greedy search's steps, each sentence to its limit, that a trained model takes."""


def share_lost(updates: float) -> float:
    """Return the share of a search, from 0 to 1, in which a model after so many goes in circles."""
    return LOST_UPDATES / (LOST_UPDATES + updates)


def read_lengths(folder: Path, params: TrainParams, *, read: int) -> Lengths:
    """Return the lengths of the pairs in a project's shards, for which so many were read."""
    train = ShardDataset(folder / paths.SHARDS / "train").lengths + 1
    validation = ShardDataset(folder / paths.SHARDS / "validation").lengths + 1
    batches = batches_of_epoch(train - 1, params.batching, seed=params.seed, epoch=0)
    source, target = (int(tokens) for tokens in train.sum(axis=0, dtype=np.int64))
    growth = target / source
    first = validation[: params.training.validation_sentences, 0]
    limits = GREEDY_FACTOR * first + GREEDY_OFFSET
    return Lengths(
        read=read,
        epoch=Epoch(len(batches), target),
        growth=growth,
        validation_pairs=len(validation),
        greedy_share=float(np.minimum(limits, OVERRUN * growth * first).sum() / limits.sum()),
    )

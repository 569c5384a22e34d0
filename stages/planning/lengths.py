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

GREEDY_FACTOR, GREEDY_OFFSET = 2, 10
"""Tokens at most that training's greedy search writes, by those of the source and in addition."""


@dataclass(frozen=True)
class Lengths:
    """Of the pairs that a calibration has read."""

    pairs: int
    """Of train, that are not too long."""
    epoch: Epoch
    """One pass over them."""
    growth: float
    """Target tokens to a source token, ends of sentences counted."""
    validation_pairs: int
    greedy_share: float
    """Share of greedy search's steps, each sentence to its limit, that a trained model takes."""


def read_lengths(folder: Path, params: TrainParams) -> Lengths:
    """Return the lengths of the pairs in a project's shards."""
    train = ShardDataset(folder / paths.SHARDS / "train").lengths + 1
    validation = ShardDataset(folder / paths.SHARDS / "validation").lengths + 1
    batches = batches_of_epoch(train - 1, params.batching, seed=params.seed, epoch=0)
    source, target = (int(tokens) for tokens in train.sum(axis=0, dtype=np.int64))
    growth = target / source
    first = validation[: params.training.validation_sentences, 0]
    limits = GREEDY_FACTOR * first + GREEDY_OFFSET
    return Lengths(
        pairs=len(train),
        epoch=Epoch(len(batches), target),
        growth=growth,
        validation_pairs=len(validation),
        greedy_share=float(np.minimum(limits, OVERRUN * growth * first).sum() / limits.sum()),
    )

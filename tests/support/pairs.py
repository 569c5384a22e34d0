"""Pairs of made-up words; the target is the reversed source."""

from nmt_core.base.random import make_generator
from nmt_core.data.shards import Block, ShardDataset, write_shards
from tests.support.presets import TARGET_SIZE


def write_pairs(folder, *, longest, count=60):
    """Write pairs with at most a number of words; return them."""
    draw = make_generator(0, "pairs")

    def pairs():
        for _ in range(count):
            words = draw.integers(4, TARGET_SIZE, draw.integers(1, longest + 1)).tolist()
            yield (words, words[::-1])

    write_shards([Block.of(pairs())], folder, pairs_per_shard=25)
    return ShardDataset(folder)

"""Text for trainings of twelve updates."""

from collections.abc import Iterator

import pytest

from nmt_core.data.shards import Block, IdPair, ShardDataset, write_shards
from nmt_core.random import make_generator
from tests.support.presets import TARGET_SIZE


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    draw = make_generator(0, "pairs")
    folder = tmp_path_factory.mktemp("data") / "train"

    def pairs() -> Iterator[IdPair]:
        for _ in range(60):
            words = draw.integers(4, TARGET_SIZE, draw.integers(1, 7)).tolist()
            yield IdPair(words, words[::-1])

    write_shards([Block.of(pairs())], folder, pairs_per_shard=25)
    return ShardDataset(folder)

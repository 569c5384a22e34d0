"""Shards return the written pairs in order, and report changes."""

import json
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import BundleError
from nmt_core.data.shards import Block, ShardDataset, read_index, write_shards

ids = st.lists(st.integers(0, 2**31 - 1), max_size=6)
pairs = st.lists(st.tuples(ids, ids), max_size=30)


@given(st.lists(pairs, max_size=4), st.integers(1, 12))
@settings(max_examples=25)
def test_pairs_are_returned_in_order(tmp_path_factory, lists, pairs_per_shard):
    """For any order of blocks, shards have the configured size."""
    folder = tmp_path_factory.mktemp("shards") / "train"
    written = write_shards(map(Block.of, lists), folder, pairs_per_shard=pairs_per_shard)
    pairs = list(chain.from_iterable(lists))
    sizes = [shard.pairs for shard in read_index(folder).shards]
    found = [(source.tolist(), target.tolist()) for source, target in ShardDataset(folder)]

    assert pairs == found
    assert len(pairs) == written["pairs"]
    assert len(sizes) == written["shards"]
    assert all(size == pairs_per_shard for size in sizes[:-1])
    assert all(0 < size <= pairs_per_shard for size in sizes)
    assert sum(len(target) for _, target in pairs) == written["target_tokens"]


def test_more_than_ten_shards_stay_in_numeric_order(tmp_path):
    pairs = Block.of(([n], [n]) for n in range(12))
    write_shards([pairs], tmp_path / "a", pairs_per_shard=1)

    assert list(range(12)) == [int(source[0]) for source, _ in ShardDataset(tmp_path / "a")]


def test_equal_pairs_give_equal_bytes(tmp_path):
    for name in ("a", "b"):
        write_shards([Block.of([([4, 5], [6])])], tmp_path / name, pairs_per_shard=9)

    assert (tmp_path / "a/index.json").read_text() == (tmp_path / "b/index.json").read_text()


@pytest.fixture
def folder(tmp_path):
    write_shards([Block.of([([4, 5], [6])])], tmp_path / "train", pairs_per_shard=9)
    return tmp_path / "train"


def test_altered_shard_is_reported(folder):
    path = folder / "00000.tokens.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    with pytest.raises(BundleError) as error:
        ShardDataset(folder)

    assert f"{path} was altered since it was written; run shard again" == str(error.value)


def test_missing_shard_is_reported(folder):
    (folder / "00000.lengths.npy").unlink()

    with pytest.raises(BundleError, match=r"00000.lengths.npy is missing; run the shard stage"):
        ShardDataset(folder)


def test_another_format_is_an_error(folder):
    index = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps(index | {"format": 99}))

    with pytest.raises(BundleError, match="has format 99, this version reads 1; run shard again"):
        ShardDataset(folder)


def change(key, value):
    return lambda index: index | {key: value}


def change_shard(key, value):
    return lambda index: index | {"shards": [index["shards"][0] | {key: value}]}


@pytest.mark.parametrize(
    "alter",
    [
        lambda _: [],
        lambda _: {},
        lambda index: {"shards": index["shards"]},
        change("shards", None),
        change("corpora", "x"),
        change("corpora", [-1]),
        change("corpora", [10**6]),
        change_shard("sha256", {}),
        change_shard("name", "../00000"),
        change_shard("pairs", 10**6),
    ],
)
def test_index_is_checked_by_a_schema(folder, alter):
    index = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps(alter(index)))

    with pytest.raises(BundleError):
        ShardDataset(folder)


@pytest.mark.parametrize(
    ("kind", "array"),
    [
        ("lengths", [[-5, 5]] * 3),
        ("lengths", [[1, 2**30]] * 3),
        ("lengths", [1, 2, 3]),
        ("tokens", [[1], [2]]),
        ("tokens", [0.5]),
    ],
)
def test_arrays_must_match_their_index(folder, kind, array):
    np.save(folder / f"00000.{kind}.npy", np.array(array))

    with pytest.raises(BundleError, match="is damaged; run shard again"):
        ShardDataset(folder, verify=False)

"""Batches partition the corpus, respect their budget, and depend only on seed and epoch."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt_core.base.random import make_generator
from nmt_core.data.batch import (
    MAX_EVALUATION_TOKENS,
    Position,
    TrainingBatches,
    build_evaluation_batches,
    collate,
)
from nmt_core.data.batching import batches_in_order, batches_of_epoch, split_evenly
from nmt_core.data.settings import BucketBatching, TokenBatching
from nmt_core.data.shards import Block, ShardDataset, write_shards
from nmt_core.search.engine import batches_by_length
from nmt_core.text.vocabulary import BOS, EOS, PAD

length = st.integers(0, 60)
lengths = st.lists(st.tuples(length, length), max_size=80).map(
    lambda pairs: np.array(pairs, dtype=np.int32).reshape(-1, 2)
)
token_configs = st.builds(
    TokenBatching, max_tokens=st.integers(1, 400), pool_batches=st.integers(1, 9)
)
bucket_configs = st.builds(
    BucketBatching, batch_size=st.integers(1, 9), shuffle_pairs=st.integers(1, 30)
)
configs = st.one_of(token_configs, bucket_configs)
seeds = st.integers(0, 2**40)


@given(lengths, configs, seeds, st.integers(0, 5))
def test_epoch_is_a_partition(lengths, config, seed, epoch):
    """Every pair is in exactly one batch."""
    batches = batches_of_epoch(lengths, config, seed=seed, epoch=epoch)

    assert list(range(len(lengths))) == sorted(int(n) for batch in batches for n in batch)
    first = batches_of_epoch(lengths, config, seed=seed, epoch=epoch, group=0)
    assert [batch.tolist() for batch in batches] == [batch.tolist() for batch in first]


@given(lengths, token_configs, seeds)
@example(np.array([[4, 4], [4, 4]], dtype=np.int32), TokenBatching(max_tokens=8), 0)
def test_batches_of_several_pairs_respect_the_budget(lengths, config, seed):
    """Including padding and ends, no side of a batch has more than max_tokens tokens."""
    for batch in batches_of_epoch(lengths, config, seed=seed, epoch=0):
        assert len(batch) == 1 or len(batch) * (lengths[batch].max() + 1) <= config.max_tokens


@given(lengths.filter(len), st.data(), seeds)
def test_even_splits_partition_without_empty_parts(lengths, data, seed):
    """The seed changes only the order of the parts."""
    parts = data.draw(st.integers(1, len(lengths)))
    found, other = (
        split_evenly(lengths, parts, make_generator(number)) for number in (seed, seed + 1)
    )

    assert len(found) == parts
    assert list(range(len(lengths))) == sorted(int(n) for batch in found for n in batch)
    assert all(map(len, found))
    assert {tuple(batch) for batch in found} == {tuple(batch) for batch in other}


@given(lengths, bucket_configs, seeds)
def test_bucket_has_lengths_of_one_range(lengths, config, seed):
    """Sources of a batch are between the same boundaries, and all batches but the last are full."""
    batches = batches_of_epoch(lengths, config, seed=seed, epoch=0)
    ranges = [set(np.searchsorted(config.boundaries, lengths[b, 0], side="right")) for b in batches]
    short = [batch for batch in batches if len(batch) < config.batch_size]

    assert all(len(found) == 1 for found in ranges)
    assert len(short) <= len({min(found) for found in ranges})


@given(
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 2000)), max_size=20),
    st.integers(5, 10**6),
)
@settings(max_examples=25)
def test_validation_batches_have_bounded_size(lengths, vocabulary):
    """Every pair is read once, up to the maximum length, in batches of bounded size."""
    pairs = [(np.full(s, 5 + n), np.full(t, 5 + n)) for n, (s, t) in enumerate(lengths)]
    batches, cut = build_evaluation_batches(iter(pairs), vocabulary=vocabulary)
    found = []
    for batch in batches:
        rows, longest = len(batch.source), max(batch.source.size(1), batch.target_output.size(1))
        assert longest <= MAX_EVALUATION_TOKENS + 1
        assert rows == 1 or rows * longest <= 2048
        assert rows == 1 or rows * longest * vocabulary <= 2**25
        for sides in zip(batch.source, batch.target_input, batch.target_output, strict=True):
            words = [side[(side != PAD) & (side != EOS) & (side != BOS)] for side in sides]
            numbers = {int(number) for side in words for number in side}
            assert len(words[1]) == len(words[2])
            found.append((len(words[0]), len(words[1]), *numbers))

    expected = [
        (min(s, MAX_EVALUATION_TOKENS), min(t, MAX_EVALUATION_TOKENS), *({5 + n} if s or t else ()))
        for n, (s, t) in enumerate(lengths)
    ]
    assert sorted(expected) == sorted(found)
    assert cut == sum(max(pair) > MAX_EVALUATION_TOKENS for pair in lengths)


@pytest.mark.parametrize("config", [TokenBatching(max_tokens=40), BucketBatching()])
def test_order_is_a_function_of_seed_and_epoch(config):
    pairs = np.array([(n % 7 + 1, n % 5 + 1) for n in range(200)], dtype=np.int32)

    def order(seed, epoch):
        return [b.tolist() for b in batches_of_epoch(pairs, config, seed=seed, epoch=epoch)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


@pytest.mark.parametrize("config", [TokenBatching(max_tokens=40), BucketBatching()])
def test_epochs_have_the_predicted_number_of_batches(config):
    """The number is exact for the first epoch, and approximate for several."""
    pairs = np.array([(n % 7 + 1, n % 5 + 1) for n in range(200)], dtype=np.int32)
    batches = TrainingBatches(SimpleNamespace(measure=lambda _: pairs), config, seed=7)
    read = [len(batches_of_epoch(pairs, config, seed=7, epoch=epoch)) for epoch in range(5)]

    assert batches.estimate_batches(1) == read[0]
    assert batches.estimate_batches(5) == pytest.approx(sum(read), rel=0.05)


def test_pairs_in_a_batch_are_sorted():
    """Sorted by source length in steps of two; within a step by target length, up or down."""
    pairs = np.array([(3, 9), (2, 4), (1, 7), (0, 2), (5, 5), (4, 6), (3, 1)], dtype=np.int32)
    [batch] = batches_in_order(pairs, max_tokens=1000)

    assert pairs[batch].tolist() == [[0, 2], [1, 7], [3, 9], [2, 4], [3, 1], [5, 5], [4, 6]]


def test_sorting_leaves_little_padding():
    """With realistic lengths, 90 % of a batch are words."""
    draw = np.random.default_rng(0)
    source = draw.poisson(14, 5000) + 1
    pairs = np.stack([source, np.maximum(1, source + draw.integers(-3, 4, 5000))], axis=1)
    batches = batches_of_epoch(pairs, TokenBatching(max_tokens=1024), seed=1, epoch=0)
    padded = sum((pairs[b].max(axis=0) + 1).sum() * len(b) for b in batches)

    assert (pairs + 1).sum() / padded > 0.9


def test_sentences_have_start_and_end():
    batch = collate([([5, 6], [7]), ([8], [9, 10])])

    assert [[5, 6, EOS], [8, EOS, PAD]] == batch.source.tolist()
    assert [[False, False, False], [False, False, True]] == batch.source_padding.tolist()
    assert [[BOS, 7, PAD], [BOS, 9, 10]] == batch.target_input.tolist()
    assert [[7, EOS, PAD], [9, 10, EOS]] == batch.target_output.tolist()
    assert [0, 1, 3, 4, 5] == batch.target_places.tolist()
    assert batch.target_tokens == 5


@given(
    st.dictionaries(st.integers(0, 99), st.integers(1, 50), max_size=40),
    st.integers(1, 120),
    st.integers(0, 9),
)
def test_batches_by_length_partition_within_the_budget(lengths, max_tokens, most):
    """A line longer than the budget is a batch of its own."""
    found = list(batches_by_length(lengths, max_tokens=max_tokens, max_rows=most))

    assert sorted(lengths) == sorted(row for batch in found for row in batch)
    for batch in found:
        padded = len(batch) * max(lengths[row] for row in batch)

        assert len(batch) == 1 or (padded <= max_tokens and len(batch) <= most)


@given(st.integers(0, 60))
@settings(max_examples=25)
def test_reading_from_any_position_continues_the_sequence(tmp_path_factory, skipped):
    """The batches after a position are those of an uninterrupted run, over several epochs."""
    folder = tmp_path_factory.mktemp("shards") / "train"
    pairs = Block.of(([4] * (n % 5), [5] * (n % 3)) for n in range(40))
    write_shards([pairs], folder, pairs_per_shard=9)
    batches = TrainingBatches(ShardDataset(folder), TokenBatching(max_tokens=12), 7)
    stream = batches.start_from(Position())
    place = Position()
    for _ in range(skipped):
        place = next(stream).after
    continued = batches.start_from(place)

    for _ in range(5):
        expected, got = next(stream), next(continued)
        assert expected.batch.source.tolist() == got.batch.source.tolist()
        assert expected.after == got.after

"""The order of several corpora is a function of seed, epoch and position, in given shares."""

from collections import Counter
from dataclasses import replace
from itertools import takewhile
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.data.batch import Position, TrainingBatches
from nmt_core.data.drawn_pairs import AugmentedPairs, TaggedPairs
from nmt_core.data.mixture import GROUP_PAIRS, Mixture
from nmt_core.data.settings import AugmentationConfig, BucketBatching, MixtureConfig, TokenBatching
from nmt_core.text.side import Side
from nmt_core.text.tokenizer import Words
from nmt_core.text.vocabulary import SPECIALS, Vocabulary
from tests.support.pairs import write_pairs
from tests.support.presets import TARGET_SIZE
from tests.support.slow_cases import mark_slow
from tests.support.trainings import STEPS, Log, PowerCut, trainer, untimed, weights

NAMES = ("one", "two", "three", "four", "five")

corpora = st.lists(
    st.tuples(st.integers(1, 400), st.sampled_from([0.0, 0.5, 1.0, 1.0, 3.0, 10.0])),
    min_size=1,
    max_size=5,
).filter(lambda given: any(weight for _, weight in given))


def mix(sizes, weight, *, temperature=1.0, seed=3, names=NAMES, group_pairs=GROUP_PAIRS):
    ends = np.cumsum([0, *sizes]).tolist()
    ranges = {name: range(*ends[n : n + 2]) for n, name in enumerate(names[: len(sizes)])}
    settings = MixtureConfig(temperature=temperature)
    return Mixture(ranges, dict(zip(ranges, weight, strict=True)), settings, seed, group_pairs)


def read_epoch(mixture, epoch=0):
    """Return the rows of an epoch by group."""
    return [mixture.list_rows(epoch, n) for n in range(mixture.count_groups())]


def count(mixture, rows):
    """Return the number of rows of each corpus."""
    return {name: sum(row in numbers for row in rows) for name, numbers in mixture.ranges.items()}


def test_corpora_of_a_direction_share_its_temperature():
    """Splitting the text of a direction into corpora does not change the share of the direction."""
    whole = mix([100, 900], [1.0, 1.0], temperature=2.0).compute_shares()
    parts = mix([100, 300, 600], [1.0] * 3, temperature=2.0)
    directions = {"one": "de-en", "two": "fr-en", "three": "fr-en"}
    shares = replace(parts, directions=directions).compute_shares()

    assert shares["one"] == pytest.approx(whole["one"])
    assert shares["three"] == pytest.approx(2 * shares["two"])


@given(given=corpora, temperature=st.sampled_from([1.0, 2.0, 5.0]), epoch=st.integers(0, 9))
def test_shares_are_exact_to_the_pair(given, temperature, epoch):
    sizes, weight = zip(*given, strict=True)
    mixture = mix(sizes, weight, temperature=temperature)
    rows = mixture.list_rows(epoch)
    wanted = {
        n: (w * s) ** (1 / temperature) for n, s, w in zip(NAMES, sizes, weight, strict=False)
    }
    total = sum(size for size, one in given if one)
    if rows is None:
        assert len(set(weight)) == 1
        return
    assert len(rows) == pytest.approx(total, abs=len(given))
    for name, taken in count(mixture, rows.tolist()).items():
        assert taken == pytest.approx(total * wanted[name] / sum(wanted.values()), abs=1.001)


@given(given=corpora, epochs=st.integers(1, 6), group_pairs=st.sampled_from([GROUP_PAIRS, 70, 300]))
@settings(max_examples=25)
def test_pairs_of_a_corpus_are_read_equally_often(given, epochs, group_pairs):
    sizes, weight = zip(*given, strict=True)
    mixture = mix(sizes, weight, group_pairs=group_pairs)
    read = Counter()
    for epoch in range(epochs):
        for rows in read_epoch(mixture, epoch):
            read.update(range(sum(sizes)) if rows is None else rows.tolist())
    for name, numbers in mixture.ranges.items():
        times = {read[number] for number in numbers}
        assert max(times) - min(times) <= 1
        assert max(times) == 0 or mixture.weights[name]


@given(sizes=st.lists(st.integers(1, 90), min_size=1, max_size=4), weight=st.floats(0.5, 5))
def test_equal_weights_change_nothing(sizes, weight):
    assert mix(sizes, [weight] * len(sizes)).list_rows(3) is None


def test_names_do_not_affect_draws_but_seeds_do():
    given = ([50, 70], [1.0, 3.0])
    rows = mix(*given).list_rows(2).tolist()
    assert rows == mix(*given, names=("eins", "zwei")).list_rows(2).tolist()
    assert rows != mix(*given, seed=4).list_rows(2).tolist()
    assert rows != mix(*given).list_rows(3).tolist()


@given(given=corpora, group_pairs=st.integers(40, 300), epoch=st.integers(0, 3))
@settings(max_examples=25)
def test_each_group_has_the_shares_of_its_epoch(given, group_pairs, epoch):
    sizes, weight = zip(*given, strict=True)
    mixture = mix(sizes, weight, group_pairs=group_pairs)
    groups = read_epoch(mixture, epoch)
    total = sum(size for size, one in given if one)
    assert len(groups) == -(-total // group_pairs)
    for rows in groups if len(groups) > 1 else ():
        assert len(rows) == pytest.approx(total / len(groups), abs=1 + 2 * len(given))
        for name, taken in count(mixture, rows.tolist()).items():
            wanted = mixture.compute_shares().get(name, 0) * total / len(groups)
            assert taken == pytest.approx(wanted, abs=2.001)


@given(
    sizes=st.lists(st.integers(1, 400), min_size=1, max_size=4),
    group_pairs=st.integers(1, 200),
    epoch=st.integers(0, 3),
)
@settings(max_examples=30)
def test_groups_of_equal_weights_have_each_pair_once(sizes, group_pairs, epoch):
    groups = read_epoch(mix(sizes, [2.0] * len(sizes), group_pairs=group_pairs), epoch)
    if groups[0] is not None:
        assert sorted(np.concatenate(groups).tolist()) == [*range(sum(sizes))]


def test_long_corpus_is_shuffled_by_pieces():
    """The pieces differ in each epoch, so that groups have other pairs."""
    mixture = mix([1000], [1.0], group_pairs=160)
    first, again = (read_epoch(mixture, epoch)[0].tolist() for epoch in (0, 1))
    assert set(first) != set(again)
    assert first[:10] != sorted(first[:10])
    pieces = {row // 10 for row in first}
    assert len(pieces) <= 17
    assert pieces != set(range(min(pieces), max(pieces) + 1))


@pytest.mark.parametrize("batching", [TokenBatching(max_tokens=90), BucketBatching(batch_size=4)])
@pytest.mark.parametrize("group_pairs", [GROUP_PAIRS, 30])
def test_batches_repeat_rows_like_the_mixture(batching, group_pairs):
    mixture = mix([20, 30, 40], [1.0, 3.0, 0.5], group_pairs=group_pairs)
    lengths = np.random.default_rng(1).integers(1, 30, (90, 2))
    batches = TrainingBatches(Numbered(lengths), batching, 1, None, mixture)
    read = takewhile(lambda s: s.after.epoch < 2, batches.start_from(Position(epoch=1)))
    found = Counter(pair for share in read for pair in share.pairs)
    last = Counter(np.concatenate(read_epoch(mixture, 1)).tolist()) - found
    assert last.total() <= 12  # of the last batch, before the next epoch
    assert not found - Counter(np.concatenate(read_epoch(mixture, 1)).tolist())


def mixed_batches(group_pairs=GROUP_PAIRS):
    mixture = mix([20, 30, 40], [1.0, 2.0, 0.5], group_pairs=group_pairs)
    dataset = Numbered(np.random.default_rng(1).integers(1, 30, (90, 2)))
    return TrainingBatches(dataset, TokenBatching(max_tokens=60), 7, None, mixture)


class Numbered(SimpleNamespace):
    def __init__(self, lengths):
        super().__init__(lengths=lengths)

    def measure(self, rows=None):
        return self.lengths if rows is None else self.lengths[rows]

    def __getitem__(self, number):
        source, target = self.lengths[number]
        return [4] * source, [5] * target


@given(st.integers(0, 50), st.sampled_from([GROUP_PAIRS, 25]))
@settings(max_examples=25)
def test_reading_from_any_position_continues_the_mixture(skipped, group_pairs):
    batches = mixed_batches(group_pairs=group_pairs)
    stream, place = batches.start_from(Position()), Position()
    for _ in range(skipped):
        place = next(stream).after
    continued = batches.start_from(place)
    for _ in range(5):
        expected, got = next(stream), next(continued)
        assert (expected.pairs, expected.after) == (got.pairs, got.after)


def test_processes_read_the_mixture_together():
    alone = mixed_batches().start_from(Position())
    ranks = [mixed_batches().start_from(Position(), rank=rank, size=2) for rank in range(2)]
    for _ in range(40):
        whole, *parts = (next(stream) for stream in (alone, *ranks))
        assert {(part.pairs, part.after) for part in parts} == {(whole.pairs, whole.after)}
        assert sum(part.batch.rows for part in parts) == whole.batch.rows


def draw_merged(dataset):
    """Return a function that draws pairs, some of which have a second pair."""
    side = Side(Words("whitespace"), Vocabulary([*SPECIALS, *"abcdefgh"[: TARGET_SIZE - 4]]))
    config = AugmentationConfig(merged=0.3, typing_errors=0.3)
    return AugmentedPairs(dataset, (side, side), [("de", "en")], config, seed=2)


@pytest.mark.parametrize(
    "name", mark_slow(["transformer", "convs2s", "rnn_plain"], but=["rnn_plain"])
)
def test_resuming_with_five_corpora_is_continuing(tmp_path, name):
    """An epoch of all corpora has two groups."""
    dataset = write_pairs(tmp_path / "pairs", longest=6)
    weight = [1.0, 3.0, 0.0, 1.0, 9.0]
    mixture = mix([5, 10, 15, 20, 10], weight, group_pairs=30)
    tags = [(TARGET_SIZE,), (), (), (TARGET_SIZE + 1,), (TARGET_SIZE,)]
    read = draw_merged(dataset).draw
    tagged = TaggedPairs(read, [*mixture.ranges.values()], tags, untagged=0.3, seed=9)
    assert {tag for own in tags for tag in own} == {
        int(tagged.draw(number, 0)[0][0]) for number in range(60)
    } - {*range(TARGET_SIZE)}
    more = {"mixture": mixture, "sample": tagged.draw, "words": TARGET_SIZE + 2}
    whole = trainer(dataset, tmp_path / "whole", Log(), name=name, **more)
    whole.fit()
    for cut_at in range(1, STEPS, 3):
        folder = tmp_path / str(cut_at)
        with pytest.raises(PowerCut):
            trainer(dataset, folder, Log(cut_at), name=name, **more).fit()
        again = trainer(dataset, folder, Log(), name=name, **more)
        again.fit()
        assert weights(whole.model) == weights(again.model)
        assert untimed(whole.progress) == untimed(again.progress)

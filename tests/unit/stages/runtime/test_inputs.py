"""What stages read of each other: drawn lines and pairs, and what a run has taken."""

import os
from socket import create_server
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.languages import Languages
from nmt_core.base.random import draw_line_numbers
from nmt_core.data.settings import AugmentationConfig, MixtureConfig
from nmt_core.text.side import Side
from nmt_core.text.subword_sampling import SubwordSampling
from nmt_core.text.vocabulary import SPECIALS, Vocabulary
from stages.runtime import usage
from stages.runtime.checkout import check_port
from stages.runtime.drawn_pairs import draw_pairs, number_tags, read_tagged
from tests.support.subword_pairs import subwords, write_lines


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5))
@settings(max_examples=50)
def test_lines_are_drawn_once_in_order_as_many_as_there_are(total, count, seed):
    chosen = draw_line_numbers(total, count, seed)
    assert len({*chosen}) == len(chosen) == min(total, count)
    assert chosen == sorted(chosen)
    assert {*chosen} <= {*range(total)}
    assert chosen == draw_line_numbers(total, count, seed)
    assert {*draw_line_numbers(total, count // 2, seed)} <= {*chosen}


def test_every_line_is_drawn_by_some_seed():
    assert {line for seed in range(60) for line in draw_line_numbers(12, 3, seed)} == {*range(12)}


@pytest.mark.parametrize("sides", ["source", "target", "both"])
def test_subwords_are_drawn_anew_on_the_sides_that_are_asked_for(tmp_path, sides):
    dataset = write_lines(tmp_path / "shards", "bpe_dropout")
    own = subwords("bpe")
    side = Side(own, own.vocabulary)
    params = SimpleNamespace(
        augmentation=AugmentationConfig(),
        subword_sampling=SubwordSampling(kind="bpe_dropout", dropout=0.5, sides=sides),
        mixture=MixtureConfig(),
        seed=3,
    )
    draw = draw_pairs(
        params, dataset, {"source": side, "target": side}, Languages(source="de", target="en")
    )
    changed = [False, False]
    for number in range(len(dataset)):
        for at, (drawn, plain) in enumerate(zip(draw(number, 1), dataset[number], strict=True)):
            assert side.text(drawn) == side.text(plain)
            changed[at] |= [*drawn] != [*plain]
    assert changed == [sides in {"source", "both"}, sides in {"target", "both"}]


def test_words_have_no_subwords_to_draw(tmp_path):
    dataset = write_lines(tmp_path / "shards", "bpe_dropout")
    own = subwords("bpe")
    side = Side(own, own.vocabulary)
    params = SimpleNamespace(
        augmentation=AugmentationConfig(),
        subword_sampling=SubwordSampling(kind="unigram"),
        mixture=MixtureConfig(),
        seed=3,
    )
    with pytest.raises(ConfigError, match="'unigram' needs a tokenizer of model_type"):
        draw_pairs(
            params,
            dataset,
            dict.fromkeys(("source", "target"), side),
            Languages(source="de", target="en"),
        )


def test_tags_are_numbers_of_the_vocabulary():
    vocabulary = Vocabulary([*SPECIALS, "a"]).with_tags(["news", "own"])
    side = Side(subwords("bpe"), vocabulary)
    assert number_tags(side, ["own", "", "news"]) == [6, None, 5]


class Pairs:
    """Three pairs of two corpora, and who asked for which."""

    corpora = (range(1), range(1, 3))

    def __init__(self):
        self.asked = []

    def __len__(self):
        return 3

    def draw(self, number, epoch):
        self.asked.append((number, epoch))
        return np.array([4, number]), np.array([number])


def test_each_pair_of_validation_is_read_once_in_order_with_its_tag():
    side = Side(subwords("bpe"), Vocabulary([*SPECIALS, "a"]).with_tags(["own"]))
    for tags, begins in (
        (("", "own"), [[], [5], [5]]),
        (("own", ""), [[5], [], []]),
        ((), [[]] * 3),
    ):
        pairs = Pairs()
        read = [[*map(list, pair)] for pair in read_tagged(pairs, side, tags)]
        assert read == [[[*begin, 4, at], [at]] for at, begin in enumerate(begins)]
        assert [number for number, _ in pairs.asked] == [0, 1, 2]


# usage


@pytest.mark.parametrize(
    ("text", "peak"),
    [
        ("VmPeak:\t 99 kB\nVmHWM:\t   1234 kB\nVmRSS:\t 5 kB\n", 1234),
        ("VmPeak:\t 99 kB\n", 7),
        (None, 7),
    ],
)
def test_the_peak_is_the_systems_own_where_it_tells_one(tmp_path, monkeypatch, text, peak):
    monkeypatch.setattr(usage, "STATUS", tmp_path / "status")
    if text is not None:
        (tmp_path / "status").write_text(text)
    assert usage.find_peak(7) == peak


def test_seconds_are_counted_from_the_start_of_the_process(monkeypatch):
    started = psutil.Process(os.getpid()).create_time()
    monkeypatch.setattr(usage.time, "time", lambda: started + 7)
    monkeypatch.setattr(usage.sys, "platform", "darwin")
    assert usage.count_seconds() == pytest.approx(7)
    monkeypatch.undo()
    first = usage.count_seconds()
    assert 0 <= usage.count_seconds() - first < 5


def test_a_port_that_is_free_stays_free():
    with create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NmtError, match=rf"port {port} .*: PORT={port + 1}$"):
            check_port(port)
    check_port(port)
    check_port(port)

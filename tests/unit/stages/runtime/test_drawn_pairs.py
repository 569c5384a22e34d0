"""Line numbers, training pairs and tags as they are drawn."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.base.random import draw_line_numbers
from nmt_core.data.settings import AugmentationConfig, MixtureConfig
from nmt_core.text.side import Side
from nmt_core.text.subword_sampling import SubwordSampling
from nmt_core.text.vocabulary import SPECIALS, Vocabulary
from stages.runtime.drawn_pairs import draw_pairs, read_tagged
from tests.support.subword_pairs import subwords, write_lines


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5))
def test_each_line_is_drawn_once_in_order(total, count, seed):
    chosen = draw_line_numbers(total, count, seed)
    assert len({*chosen}) == len(chosen) == min(total, count)
    assert chosen == sorted(chosen)
    assert {*chosen} <= {*range(total)}
    assert chosen == draw_line_numbers(total, count, seed)
    assert {*draw_line_numbers(total, count // 2, seed)} <= {*chosen}


def test_every_line_is_drawn_by_some_seed():
    assert {line for seed in range(60) for line in draw_line_numbers(12, 3, seed)} == {*range(12)}


def make_draw(folder, augmentation=AugmentationConfig(), **sampling):  # noqa: B008 - frozen
    """Return a dataset, its side, and a draw with the given subword sampling."""
    dataset = write_lines(folder, "bpe_dropout")
    side = Side(subwords("bpe"), subwords("bpe").vocabulary)
    params = SimpleNamespace(
        augmentation=augmentation,
        subword_sampling=SubwordSampling(**sampling),
        mixture=MixtureConfig(),
        seed=3,
    )
    languages, sides = Languages(source="de", target="en"), {"source": side, "target": side}
    return dataset, side, draw_pairs(params, dataset, sides, [languages])


@pytest.mark.parametrize("sides", ["source", "target", "both"])
def test_subwords_are_sampled_on_the_chosen_sides(tmp_path, sides):
    dataset, side, draw = make_draw(tmp_path, kind="bpe_dropout", dropout=0.5, sides=sides)
    changed = [False, False]
    for number in range(len(dataset)):
        for at, (drawn, plain) in enumerate(zip(draw(number, 1), dataset[number], strict=True)):
            assert side.text(drawn) == side.text(plain)
            changed[at] |= [*drawn] != [*plain]
    assert changed == [sides in {"source", "both"}, sides in {"target", "both"}]


def test_augmented_pairs_are_sampled(tmp_path):
    mistyped = AugmentationConfig(typing_errors=1.0)
    dataset, side, draw = make_draw(tmp_path, mistyped, kind="bpe_dropout", dropout=0.5)
    drawn = [draw(number, 1)[0].tolist() for number in range(len(dataset))]
    texts = [side.text(ids) for ids in drawn]

    assert texts != [side.text(source) for source, _ in dataset]
    assert drawn != [side.vocabulary.encode(side.tokenizer.encode(text)) for text in texts]


def test_sampling_requires_a_subword_tokenizer(tmp_path):
    with pytest.raises(ConfigError, match="'unigram' needs a tokenizer of model_type"):
        make_draw(tmp_path, kind="unigram")


class Pairs:
    """Three pairs of two corpora, and the corpus of each."""

    corpora = (range(1), range(1, 3))

    def __init__(self):
        self.asked = []

    def __len__(self):
        return 3

    def draw(self, number, epoch):
        self.asked.append((number, epoch))
        return np.array([4, number]), np.array([number])


def test_each_validation_pair_is_read_with_its_tag():
    side = Side(subwords("bpe"), Vocabulary([*SPECIALS, "a"]).with_tags(["own"]))
    for tags, begins in (
        (((), ("own",)), [[], [5], [5]]),
        ((("own",), ()), [[5], [], []]),
        ((), [[]] * 3),
    ):
        pairs = Pairs()
        read = [[*map(list, pair)] for pair in read_tagged(pairs, side, tags)]
        assert read == [[[*begin, 4, at], [at]] for at, begin in enumerate(begins)]
        assert [number for number, _ in pairs.asked] == [0, 1, 2]

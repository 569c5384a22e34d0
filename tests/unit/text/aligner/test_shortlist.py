"""Shortlists of tokens, learnt from numbered pairs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.text.aligner import learning
from nmt_core.text.aligner.learning import learn_shortlist
from nmt_core.text.aligner.pieces import ShortlistConfig

SIZE = 12
SOURCE = [f"s{number}" for number in range(SIZE)]
TARGET = [f"t{number}" for number in range(SIZE)]
FEW = ShortlistConfig(translations=2, frequent=3)


def number(*pairs):
    return [tuple(np.array(side, np.int64) for side in pair) for pair in pairs]


def draw_pairs(count=300, *, seed=0):
    """Return pairs in which each source token's translation has the same number."""
    draw = np.random.default_rng(seed)
    rows = [draw.choice(SIZE - 1, draw.integers(1, 6), replace=False) for _ in range(count)]
    return number(*((row, draw.permutation(row)) for row in rows))


def test_a_token_allows_its_translations():
    shortlist = learn_shortlist(draw_pairs(), (SOURCE, TARGET), FEW)

    for token in range(SIZE - 1):
        assert shortlist.translations[token][0] == token
    assert SIZE - 1 not in shortlist.translations or not shortlist.translations[SIZE - 1]


def test_frequent_tokens_are_always_allowed():
    pairs = number(([0], [1] * 5), ([1], [2] * 4), ([2], [3, 3, 3]), ([3], [4, 4, 5, 5]))
    assert learn_shortlist(pairs, (SOURCE, TARGET), FEW).always == [1, 2, 3]


def test_letters_digits_and_equal_spellings_are_allowed():
    source, target = ["ab", "x", "cd"], ["x", "cd", "7", "é", "yz"]
    shortlist = learn_shortlist([], (source, target), FEW)

    assert shortlist.always == [0, 2]
    assert shortlist.translations == {1: [0], 2: [1]}


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(*[st.lists(st.integers(0, SIZE - 1), max_size=5)] * 2), min_size=1, max_size=20
    ),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_lists_are_short_and_name_known_tokens(pairs, translations, frequent):
    config = ShortlistConfig(translations=translations, frequent=frequent)
    alike = [*TARGET[:3], *SOURCE[3:6], *TARGET[6:]]
    shortlist = learn_shortlist(number(*pairs), (SOURCE, alike), config)
    met = {(one, other) for source, target in pairs for one in source for other in target}
    met |= {(one, one) for one in range(3, 6)}

    assert len(shortlist.always) <= frequent
    for token, several in shortlist.translations.items():
        assert len(several) == len({*several}) <= translations
        assert {(token, other) for other in several} <= met


def test_too_long_pairs_are_skipped():
    long = number(([1] * 101, [2]), ([1], [2] * 101), ([], [2]), ([1], []))
    shortlist = learn_shortlist(long, (SOURCE, TARGET), FEW)

    assert (shortlist.always, shortlist.translations) == ([], {})
    [pair] = number(([1] * 100, [2] * 100))
    assert learn_shortlist([pair], (SOURCE, TARGET), FEW).translations == {1: [2]}


@pytest.mark.parametrize(("most", "step"), [(10**9, 1), (600, None), (1, None)])
def test_long_text_is_sampled_evenly(monkeypatch, most, step):
    monkeypatch.setattr(learning, "MAX_TOKEN_CELLS", most)
    pairs = draw_pairs()
    places = sum(len(source) * len(target) for source, target in pairs)
    step = step or math.ceil(places / most)
    found = learn_shortlist(pairs, (SOURCE, TARGET), FEW)
    monkeypatch.setattr(learning, "MAX_TOKEN_CELLS", 10**9)

    assert found == learn_shortlist(pairs[::step], (SOURCE, TARGET), FEW)

"""Links as text, and those that two directions agree on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.text.aligner.aligner import (
    choose_likely,
    fill_gaps,
    format_links,
    link_words,
)

link_sets = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12)


def swap(links):
    return frozenset((target, source) for source, target in links)


def test_links_are_written_by_source_and_target():
    assert "0-1 2-0 2-10" == format_links({(2, 10), (2, 0), (0, 1)})


@given(st.integers(0, 999), st.floats(0.05, 0.95))
def test_likely_links_are_the_same_from_either_side(seed, threshold):
    forward, backward = np.random.default_rng(seed).uniform(0, 1, (2, 3, 4))

    assert choose_likely(forward, backward, threshold) == swap(
        choose_likely(backward.T, forward.T, threshold)
    )


def test_likely_links_have_a_mean_above_the_threshold():
    forward, backward = np.array([[0.9, 0.4]]), np.array([[0.4, 0.1]])

    assert {(0, 0)} == choose_likely(forward, backward, 0.5)
    assert frozenset() == choose_likely(forward, backward, 0.61)
    assert {(0, 0), (0, 1)} == choose_likely(forward, backward, 0.19)


@pytest.mark.parametrize(
    ("links", "filled"),
    [
        ([0, -1, -1, 0, 1], [0, 0, 0, 0, 1]),
        ([0, -1, 1, -1, 0], [0, -1, 1, -1, 0]),
        ([-1, 0, -1], [-1, 0, -1]),
        ([], []),
    ],
)
def test_gaps_inside_one_translation_belong_to_it(links, filled):
    assert fill_gaps(links) == filled


def test_pieces_bring_their_links_to_their_words():
    assert {(0, 0), (1, 0)} == link_words(frozenset({(0, 0), (1, 1), (2, 1)}), [0, 0, 1], [0, 0])

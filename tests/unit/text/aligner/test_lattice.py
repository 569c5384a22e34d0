"""Forward and backward sums against the enumeration of all alignments."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.text.aligner.lexicon import start_jumps, sum_alignments, weigh_jumps


def draw_lattice(seed, sizes):
    """Return a lattice of sentence pairs of (source, target) words, and its jumps."""
    random = np.random.default_rng(seed)
    source, target = (np.array(side) for side in zip(*sizes, strict=True))
    jumps = random.uniform(0.1, 1, 5)
    emissions = np.zeros((target.max(), source.max() + 1, len(sizes)))
    nulls = np.zeros((target.max(), len(sizes)))
    for row, (one, other) in enumerate(sizes):
        own = np.random.default_rng([seed, one, other])
        emissions[:other, 1 : one + 1, row] = own.uniform(0.01, 1, (other, one))
        nulls[:other, row] = own.uniform(0.01, 1, other)
    return (0.7 * emissions, 0.3 * nulls, *weigh_jumps(jumps, source), target), jumps


def enumerate_alignments(lattice, jumps, source, target, row):
    """Yield (probability, links) of every alignment of one pair, one path after another."""
    linked, none, *_ = lattice

    def weigh(old, new):
        return jumps[np.clip(new - old, -2, 2) + 2]

    for path in product(range(source + 1), repeat=target):
        place, probability = 0, 1.0
        for word, position in enumerate(path):
            if position == 0:
                probability *= none[word, row]
                continue
            norm = sum(weigh(place, k) for k in range(1, source + 1))
            probability *= linked[word, position, row] * weigh(place, position) / norm
            place = position
        yield probability, path


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 999),
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=3),
)
def test_sums_are_those_of_all_alignments(seed, sizes):
    lattice, jumps = draw_lattice(seed, sizes)
    explained, log_likelihood = sum_alignments(*lattice)
    for row, (source, target) in enumerate(sizes):
        every = list(enumerate_alignments(lattice, jumps, source, target, row))
        total = sum(probability for probability, _ in every)
        links = np.zeros_like(explained[..., row])
        for probability, path in every:
            for word, position in enumerate(path):
                links[word, position] += (position > 0) * probability / total

        assert log_likelihood[row] == pytest.approx(np.log(total))
        np.testing.assert_allclose(explained[..., row], links, atol=1e-12)


@given(
    st.integers(0, 999),
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=2, max_size=4),
)
@settings(max_examples=15, deadline=None)
def test_a_pair_depends_on_no_other_to_the_last_bit(seed, sizes):
    together, _ = sum_alignments(*draw_lattice(seed, sizes)[0])
    for row, size in enumerate(sizes):
        alone, _ = sum_alignments(*draw_lattice(seed, [size])[0])

        assert (together[: size[1], : size[0] + 1, row] == alone[..., 0]).all()
        assert not together[size[1] :, :, row].any()


def test_far_jumps_share_a_weight():
    matrix, norms = weigh_jumps(np.array([1.0, 2.0, 3.0]), np.array([3, 1]))

    assert matrix.tolist() == [[0, 3, 3, 3], [0, 2, 3, 3], [0, 1, 2, 3], [0, 1, 1, 2]]
    assert norms.T.tolist() == [[9, 8, 6, 4], [3, 2, 1, 1]]


def test_the_next_position_is_the_most_likely():
    jumps = start_jumps(8)

    assert len(jumps) == 17
    assert jumps.argmax() == 9
    assert jumps[8] == jumps[10] > jumps[7] > jumps[0] > 0

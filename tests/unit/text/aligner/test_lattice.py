"""Forward and backward sums against the enumeration of all alignments."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.text.aligner.hmm import Jumps, sum_alignments


def draw_lattice(seed, sizes, width=2):
    """Return a lattice of sentence pairs of (source, target) words, and its jumps."""
    random = np.random.default_rng(seed)
    source, target = (np.array(side) for side in zip(*sizes, strict=True))
    jumps = Jumps(random.uniform(0.1, 1, 2 * width + 1))
    emissions = np.zeros((target.max(), source.max() + 1, len(sizes)))
    nulls = np.zeros((target.max(), len(sizes)))
    for row, (one, other) in enumerate(sizes):
        own = np.random.default_rng([seed, one, other])
        emissions[:other, 1 : one + 1, row] = own.uniform(0.01, 1, (other, one))
        nulls[:other, row] = own.uniform(0.01, 1, other)
    matrix, norms = jumps.matrix(source.max() + 1), jumps.norms(source)
    return (0.7 * emissions, 0.3 * nulls, matrix, norms, target), jumps


def enumerate_alignments(lattice, jumps, source, target, row):
    """Yield (probability, links, jumps) of every alignment of one pair, one path after another."""
    linked, none, *_ = lattice
    width = len(jumps.weights) // 2

    def weigh(old, new):
        return jumps.weights[np.clip(new - old, -width, width) + width]

    for path in product(range(source + 1), repeat=target):
        place, probability, moves = 0, 1.0, []
        for word, position in enumerate(path):
            if position == 0:
                probability *= none[word, row]
                continue
            norm = sum(weigh(place, k) for k in range(1, source + 1))
            probability *= linked[word, position, row] * weigh(place, position) / norm
            moves.append((place, position))
            place = position
        yield probability, path, moves


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 999),
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=3),
)
def test_sums_are_those_of_all_alignments(seed, sizes):
    lattice, jumps = draw_lattice(seed, sizes)
    found = sum_alignments(*lattice)
    for row, (source, target) in enumerate(sizes):
        every = list(enumerate_alignments(lattice, jumps, source, target, row))
        total = sum(probability for probability, *_ in every)
        links, moved = np.zeros_like(found.links[..., row]), np.zeros_like(found.jumps[..., row])
        for probability, path, moves in every:
            for word, position in enumerate(path):
                links[word, position] += (position > 0) * probability / total
            for old, new in moves:
                moved[old, new] += probability / total

        assert found.log_likelihood[row] == pytest.approx(np.log(total))
        np.testing.assert_allclose(found.links[..., row], links, atol=1e-12)
        np.testing.assert_allclose(found.jumps[..., row], moved, atol=1e-12)


@given(
    st.integers(0, 999),
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=2, max_size=4),
)
@settings(max_examples=15, deadline=None)
def test_a_pair_depends_on_no_other_to_the_last_bit(seed, sizes):
    together = sum_alignments(*draw_lattice(seed, sizes)[0])
    for row, size in enumerate(sizes):
        alone = sum_alignments(*draw_lattice(seed, [size])[0])
        inner = together.links[: size[1], : size[0] + 1, row]

        assert (inner == alone.links[..., 0]).all()
        assert not together.links[size[1] :, :, row].any()


@given(st.integers(0, 999), st.integers(1, 8), st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_jumps_only_become_more_probable(seed, longest, width):
    """Each MM step raises the likelihood of jumps from sentences of several lengths."""
    random = np.random.default_rng(seed)
    jumps = Jumps(random.uniform(0.1, 1, 2 * width + 1))
    seen = random.uniform(0, 5, (longest + 1, longest + 1, longest + 1))  # length, from, to
    for length in range(longest + 1):
        seen[length, length + 1 :] = seen[length, :, length + 1 :] = 0
    seen[:, :, 0] = 0

    def rate(one):
        matrix, norms = one.matrix(longest + 1), one.norms(np.arange(1, longest + 1))
        likely = sum(
            (seen[n] * np.log(np.maximum(matrix, 1e-300) / norms[:, n - 1, None])).sum()
            for n in range(1, longest + 1)
        )
        return likely + np.log(one.weights / one.weights.sum()).sum()  # one of each kind

    counts = sum(jumps.sum_widths(seen[n]) for n in range(1, longest + 1))
    better = jumps.improve(counts, seen.sum(axis=2), 1.0)

    assert better.weights.sum() == pytest.approx(1)
    assert rate(better) >= rate(jumps) - 1e-9


def test_far_jumps_share_a_weight():
    matrix = Jumps(np.array([1.0, 2.0, 3.0])).matrix(4)

    assert matrix.tolist() == [[0, 3, 3, 3], [0, 2, 3, 3], [0, 1, 2, 3], [0, 1, 1, 2]]

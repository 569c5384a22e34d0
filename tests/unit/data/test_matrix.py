"""The rows of tokens without a vector of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nmt_core.base.errors import CorpusError
from nmt_core.base.random import make_generator
from nmt_core.data.vectors import COMPOSED, FOUND, MISSING, WordVectors, build_embedding_matrix
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK

ORIGINS = st.lists(st.sampled_from([MISSING, FOUND, COMPOSED]), min_size=1, max_size=20).filter(any)


@st.composite
def word_vectors(draw):
    origin = np.array([MISSING] * len(SPECIALS) + draw(ORIGINS), dtype=np.uint8)
    numbers = st.floats(-100, 100, width=32)
    weight = draw(arrays(np.float32, (len(origin), draw(st.integers(1, 8))), elements=numbers))
    weight[origin == MISSING] = 0
    return WordVectors(weight, origin)


@given(word_vectors())
def test_words_keep_their_vectors(vectors):
    weight = build_embedding_matrix(vectors, make_generator(1), name="source")

    has_vector = vectors.origin != MISSING
    mean = np.mean(vectors.weight[has_vector], axis=0, dtype=np.float64).astype(np.float32)
    missing = np.flatnonzero(~has_vector)[len(SPECIALS) :]
    assert weight.dtype == np.float32
    np.testing.assert_array_equal(vectors.weight[has_vector], weight[has_vector])
    assert not weight[PAD].any()
    for row in (UNK, *missing):
        np.testing.assert_allclose(mean, weight[row], rtol=1e-5, atol=1e-6)


def test_start_and_end_are_as_long_as_words():
    spread = 0.3 + np.arange(1000) / 1000
    words = np.random.default_rng(1).normal(0.2, spread, size=(50, 1000)).astype(np.float32)
    weight = np.concatenate([np.zeros((4, 1000), dtype=np.float32), words])
    origin = np.array([MISSING] * 4 + [FOUND] * 50, dtype=np.uint8)

    made = build_embedding_matrix(WordVectors(weight, origin), make_generator(1), name="source")

    length = np.sqrt(np.square(words).sum(axis=1).mean())
    np.testing.assert_allclose(length, np.linalg.norm(made[[BOS, EOS]], axis=1), rtol=0.1)
    assert not np.allclose(made[BOS], made[EOS])


def test_only_start_and_end_depend_on_the_seed():
    origin = np.array([MISSING] * 4 + [FOUND, MISSING], dtype=np.uint8)
    vectors = WordVectors(np.diag(origin).astype(np.float32), origin)

    first, same, other = (
        build_embedding_matrix(vectors, make_generator(seed), name="source") for seed in (1, 1, 2)
    )

    np.testing.assert_array_equal(first, same)
    differing = (first != other).any(axis=1)
    assert np.flatnonzero(differing).tolist() == [BOS, EOS]


def test_vectors_without_any_known_word_are_refused():
    vectors = WordVectors(np.zeros((6, 2), dtype=np.float32), np.zeros(6, dtype=np.uint8))

    with pytest.raises(CorpusError, match="none of the 6 target tokens has a vector"):
        build_embedding_matrix(vectors, make_generator(1), name="target")

"""The weights of an embedding layer, from the vectors of words."""

import numpy as np
from jaxtyping import Float32

from nmt_core.base.errors import CorpusError
from nmt_core.data.embeddings.vectors import MISSING, WordVectors
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK


def build_embedding_matrix(
    vectors: WordVectors, random: np.random.Generator, *, name: str
) -> Float32[np.ndarray, "V D"]:
    """Return one row per token of the vocabulary, those without a vector included.

    PAD is zeros. UNK is the mean of the words' vectors, and so is every word that has none. BOS and
    EOS are normal with mean 0 and the root mean square of the words' numbers as deviation: their
    expected squared length is the mean squared length of the words' vectors.

    Args:
        vectors: at least one.
        random: draws BOS and EOS.
        name: whose vectors these are, for messages, such as ``"source"``.

    Raises:
        CorpusError: if no word at all has a vector.
    """
    has_vector = vectors.origin != MISSING
    known = int(has_vector.sum())
    if known == 0:
        raise CorpusError(
            f"none of the {len(has_vector)} {name} tokens has a vector; check that vectors and "
            f"text are of one language, and both of lower-cased words or both of subwords"
        )
    # Rows without a vector are zeros, which neither sum notices.
    mean = vectors.weight.sum(axis=0, dtype=np.float64) / known
    squares = np.einsum("vd,vd->", vectors.weight, vectors.weight, dtype=np.float64)
    deviation = np.sqrt(squares / (known * vectors.dimensions))

    weight = vectors.weight.copy()
    weight[~has_vector] = mean
    weight[[BOS, EOS]] = random.normal(0.0, deviation, size=(2, vectors.dimensions))
    weight[PAD] = 0.0
    assert not has_vector[UNK]
    return weight

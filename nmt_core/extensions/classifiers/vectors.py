"""Embeddings to start from, out of a file of word vectors."""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nmt_core.base.errors import CorpusError
from nmt_core.base.random import make_generator
from nmt_core.data.embeddings.vectors import build_embedding_matrix, read_vectors
from nmt_core.extensions.classifiers.words import HashedWords


def read_embeddings(path: Path, words: HashedWords, *, seed: int) -> Float[Tensor, "V D"]:
    """Return a row for every number of a word; buckets are as far from nothing as words are.

    Raises:
        CorpusError: if the file is missing or damaged, or has none of the words.
    """
    if not path.is_file():
        raise CorpusError(f"{path} is no file; name word vectors, .vec or .vec.gz")
    vectors = read_vectors(path, words.vocabulary)
    if not np.isfinite(vectors.weight).all():
        raise CorpusError(f"{path} holds numbers that are not finite; fetch it again")
    draw = make_generator(seed, "embeddings")
    matrix = build_embedding_matrix(vectors, draw, name="classifier's")
    size = float(np.sqrt(np.mean(vectors.weight[vectors.origin > 0] ** 2)))
    buckets = draw.normal(0.0, size, size=(words.size - len(words.vocabulary), vectors.dimensions))
    return torch.from_numpy(np.concatenate([matrix, buckets.astype(np.float32)]))

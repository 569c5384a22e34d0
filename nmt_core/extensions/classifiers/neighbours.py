"""Nearest neighbours of words, before and after learning."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from torch import Tensor

from nmt_core.base.errors import CorpusError
from nmt_core.extensions.classifiers.text_classifier import TextClassifier
from nmt_core.text.vocabulary import SPECIALS


class Neighbour(NamedTuple):
    """A word, and the cosine of the angle between it and another."""

    word: str
    similarity: float


@dataclass(frozen=True)
class Neighbourhood:
    """The neighbours of a word, nearest first."""

    word: str
    before: tuple[Neighbour, ...]
    after: tuple[Neighbour, ...]


def find_neighbours(
    classifier: TextClassifier, words: Sequence[str], *, count: int
) -> list[Neighbourhood]:
    """Return the words of the vocabulary that are nearest to each of some, by cosine.

    Args:
        classifier: whose embeddings.
        words: what is looked up, as the classifier reads it.
        count: neighbours of each.

    Raises:
        CorpusError: if a word is none of the vocabulary's.
    """
    vocabulary = classifier.words.vocabulary
    rows = [find_row(classifier, word) for word in words]
    before, after = (
        normalize_rows(weight[: len(vocabulary)])
        for weight in (classifier.initial, classifier.model.embedding.weight.detach().cpu())
    )
    return [
        Neighbourhood(
            vocabulary.tokens[row],
            _nearest(before, row, vocabulary.tokens, count),
            _nearest(after, row, vocabulary.tokens, count),
        )
        for row in rows
    ]


def find_row(classifier: TextClassifier, word: str) -> int:
    """Return the row of a word.

    Raises:
        CorpusError: if it has none of its own.
    """
    pieces = classifier.words.split(word)
    if len(pieces) != 1 or pieces[0] not in classifier.words.vocabulary:
        raise CorpusError(
            f"{word!r} is none of the {len(classifier.words.vocabulary) - len(SPECIALS):,} words "
            f"that have an embedding of their own; name a more frequent word"
        )
    return classifier.words.number(pieces[0])


def normalize_rows(weight: Tensor) -> Float[np.ndarray, "V D"]:
    """Return rows of length 1, but for rows of zeros."""
    matrix = weight.double().numpy()
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)


def project_on_plane(rows: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N 2"]:
    """Return rows on the plane in which they differ most: their two principal components.

    The sign of each axis, which the decomposition leaves open, makes its largest value positive.
    """
    centred = rows - rows.mean(axis=0)
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(rows), 2))
    known = min(2, len(scale))
    points[:, :known] = left[:, :known] * scale[:known]
    largest = np.abs(points).argmax(axis=0)
    return points * np.where(points[largest, [0, 1]] < 0, -1.0, 1.0)


def _nearest(
    rows: Float[np.ndarray, "V D"], row: int, tokens: Sequence[str], count: int
) -> tuple[Neighbour, ...]:
    similarity = rows @ rows[row]
    similarity[[*range(len(SPECIALS)), row]] = -np.inf
    order = np.argsort(-similarity, kind="stable")[: min(count, len(tokens) - len(SPECIALS) - 1)]
    return tuple(Neighbour(tokens[index], float(similarity[index])) for index in order)

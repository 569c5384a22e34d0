"""Nearest neighbours of words and of sums of words, before and after learning."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from torch import Tensor

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.extensions.classifiers.text_classifier import TextClassifier
from nmt_core.text.vocabulary import SPECIALS


class Neighbour(NamedTuple):
    """A word, and the cosine of the angle between it and another."""

    word: str
    similarity: float


@dataclass(frozen=True)
class Neighbourhood:
    """The neighbours of a word or a sum of words, nearest first."""

    expression: str
    rows: tuple[int, ...]
    """Rows of its words in the vocabulary."""
    before: tuple[Neighbour, ...]
    after: tuple[Neighbour, ...]


def find_neighbours(
    classifier: TextClassifier, expressions: Sequence[str], *, count: int
) -> list[Neighbourhood]:
    """Return the ``count`` words of the vocabulary that are nearest to each expression, by cosine.

    An expression is a word, or a sum such as ``king - man + woman`` of vectors of length 1 (Mikolov
    et al. 2013, *Linguistic Regularities in Continuous Space Word Representations*).

    Raises:
        ConfigError: if a sum lacks a word or a sign.
        CorpusError: if a word is not in the vocabulary.
    """
    tokens = classifier.words.vocabulary.tokens
    sums = [read_sum(expression) for expression in expressions]
    rows = [[find_row(classifier, word) for _, word in terms] for terms in sums]
    signs = [[sign for sign, _ in terms] for terms in sums]
    before, after = (
        normalize_rows(weight[: len(tokens)])
        for weight in (classifier.initial, classifier.model.embedding.weight.detach().cpu())
    )
    return [
        Neighbourhood(
            expression,
            tuple(own),
            *(_find_nearest(vectors, own, weights, tokens, count) for vectors in (before, after)),
        )
        for expression, own, weights in zip(expressions, rows, signs, strict=True)
    ]


def read_sum(expression: str) -> list[tuple[int, str]]:
    """Return the sign and the word of each term.

    Raises:
        ConfigError: if a word or a sign is missing.
    """
    terms = ["+", *expression.split()]
    if len(terms) % 2 or not {*terms[::2]} <= {"+", "-"}:
        raise ConfigError(f"{expression!r} is not a sum of words, such as 'king - man + woman'")
    return [(1 if sign == "+" else -1, word) for sign, word in zip(*[iter(terms)] * 2, strict=True)]


def find_row(classifier: TextClassifier, word: str) -> int:
    """Return the row of a word.

    Raises:
        CorpusError: if it has none of its own.
    """
    pieces = classifier.words.split(word)
    if len(pieces) != 1 or pieces[0] not in classifier.words.vocabulary:
        raise CorpusError(
            f"{word!r} is not one of the {len(classifier.words.vocabulary) - len(SPECIALS):,} "
            f"words with their own embedding; name a more frequent word"
        )
    return classifier.words.number(pieces[0])


def normalize_rows(weight: Tensor) -> Float[np.ndarray, "V D"]:
    """Return rows of length 1, but for rows of zeros."""
    matrix = weight.double().numpy()
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)


def project_on_plane(rows: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N 2"]:
    """Return the two principal components of rows; the largest value of each is positive."""
    centred = rows - rows.mean(axis=0)
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(rows), 2))
    known = min(2, len(scale))
    points[:, :known] = left[:, :known] * scale[:known]
    largest = np.abs(points).argmax(axis=0)
    return points * np.where(points[largest, [0, 1]] < 0, -1.0, 1.0)


def _find_nearest(
    vectors: Float[np.ndarray, "V D"],
    rows: Sequence[int],
    signs: Sequence[int],
    tokens: Sequence[str],
    count: int,
) -> tuple[Neighbour, ...]:
    total = np.array(signs) @ vectors[rows]
    similarity = vectors @ (total / max(float(np.linalg.norm(total)), 1e-12))
    excluded = {*range(len(SPECIALS)), *rows}
    similarity[[*excluded]] = -np.inf
    order = np.argsort(-similarity, kind="stable")[: min(count, len(tokens) - len(excluded))]
    return tuple(Neighbour(tokens[index], float(similarity[index])) for index in order)

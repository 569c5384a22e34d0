"""Nearest neighbours of words and of sums of words, before and after learning.

A sum such as *king - man + woman* adds vectors of length 1 (Mikolov et al. 2013, *Linguistic
Regularities in Continuous Space Word Representations*).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
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


class SignedWord(NamedTuple):
    """A word of a sum, and whether it is added (1) or subtracted (-1)."""

    sign: int
    word: str


SIGNS = {"+": 1, "-": -1}


@dataclass(frozen=True)
class Neighbourhood:
    """The neighbours of a sum of words, nearest first."""

    terms: tuple[SignedWord, ...]
    before: tuple[Neighbour, ...]
    after: tuple[Neighbour, ...]

    def __str__(self) -> str:
        first, *others = self.terms
        return " ".join([first.word, *(f"{'-+'[sign > 0]} {word}" for sign, word in others)])


def read_sums(arguments: Sequence[str]) -> list[list[SignedWord]]:
    """Return words that stand alone, and those between which + or - stands as one sum.

    Raises:
        ConfigError: if a sign does not stand between two words.
    """
    are_signs = [True, *(argument in SIGNS for argument in arguments), True]
    if any(map(all, pairwise(are_signs))):
        raise ConfigError("+ and - stand between two words, as in: king - man + woman")
    sums: list[list[SignedWord]] = []
    for before, argument in pairwise(["", *arguments]):
        if before in SIGNS:
            sums[-1].append(SignedWord(SIGNS[before], argument))
        elif argument not in SIGNS:
            sums.append([SignedWord(1, argument)])
    return sums


def find_neighbours(
    classifier: TextClassifier, sums: Sequence[Sequence[SignedWord]], *, count: int
) -> list[Neighbourhood]:
    """Return the words of the vocabulary that are nearest to each of some sums, by cosine.

    Args:
        classifier: whose embeddings.
        sums: what is looked up, words as the classifier reads them.
        count: neighbours of each.

    Raises:
        CorpusError: if a word is none of the vocabulary's.
    """
    vocabulary = classifier.words.vocabulary
    signed = [[(sign, find_row(classifier, word)) for sign, word in terms] for terms in sums]
    before, after = (
        normalize_rows(weight[: len(vocabulary)])
        for weight in (classifier.initial, classifier.model.embedding.weight.detach().cpu())
    )
    return [
        Neighbourhood(
            tuple(SignedWord(sign, vocabulary.tokens[row]) for sign, row in rows),
            _nearest(before, rows, vocabulary.tokens, count),
            _nearest(after, rows, vocabulary.tokens, count),
        )
        for rows in signed
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
    vectors: Float[np.ndarray, "V D"],
    signed: Sequence[tuple[int, int]],
    tokens: Sequence[str],
    count: int,
) -> tuple[Neighbour, ...]:
    total = sum(sign * vectors[row] for sign, row in signed)
    similarity = vectors @ (total / max(float(np.linalg.norm(total)), 1e-12))
    asked = {*range(len(SPECIALS)), *(row for _, row in signed)}
    similarity[[*asked]] = -np.inf
    order = np.argsort(-similarity, kind="stable")[: min(count, len(tokens) - len(asked))]
    return tuple(Neighbour(tokens[index], float(similarity[index])) for index in order)

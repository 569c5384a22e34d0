"""A language model of characters, as small and as fast as its counts in one table.

Interpolated trigrams of the most frequent characters (Jelinek and Mercer 1980, with the weights of
Witten and Bell 1991), all others being one class. The models of
:mod:`nmt_core.extensions.language_models` are not for the library's lower rooms, and need torch.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nmt_core.corpora.screening.flat_text import Array, FlatLines, Numbers, read_code_points

CLASSES = 96
"""Kinds of characters: a line's edge, all rare characters, and the most frequent ones."""

EDGE, RARE = 0, 1
CODES = 0x110000
DIGIT = ord("0")


class CharacterModel:
    """Probabilities of a character after the two before it.

    Args:
        alphabet: code points of the characters that are told apart.
        surprisals: negative natural logarithms, (classes, classes, classes), the last one given the
            two others.
    """

    def __init__(self, alphabet: Numbers, surprisals: NDArray[np.float32]) -> None:
        self.alphabet = alphabet
        self.surprisals = surprisals
        self._classes = np.full(CODES, RARE, np.int64)
        self._classes[alphabet] = np.arange(len(alphabet)) + RARE + 1

    @classmethod
    def count(cls, lines: Sequence[str]) -> Self:
        """Count the characters of lines."""
        codes, counts = np.unique(_fold(lines).values, return_counts=True)
        alphabet = np.sort(codes[np.argsort(-counts, kind="stable")][: CLASSES - RARE - 1])
        model = cls(alphabet, np.zeros((1, 1, 1), np.float32))
        trigrams = np.bincount(model._cells(_fold(lines))[0], minlength=CLASSES**3)
        counted = trigrams.reshape(CLASSES, CLASSES, CLASSES).astype(np.float64)
        likely = np.full(CLASSES, 1 / CLASSES)
        for shorter in (counted.sum((0, 1)), counted.sum(0), counted):
            total = shorter.sum(-1, keepdims=True)
            kinds = np.maximum((shorter > 0).sum(-1, keepdims=True), 1)
            likely = (shorter + kinds * likely) / (total + kinds)
        model.surprisals = (-np.log(likely)).astype(np.float32)
        return model

    def measure(self, lines: Sequence[str]) -> tuple[Array, Array]:
        """Return the surprisal of each line in nats, its end included, and its characters."""
        cells, owners = self._cells(_fold(lines))
        sums = np.bincount(owners, self.surprisals.ravel()[cells], len(lines)).astype(np.float64)
        return sums, np.bincount(owners, minlength=len(lines)).astype(np.float64)

    def _cells(self, text: FlatLines) -> tuple[Numbers, Numbers]:
        """Return the place in the table of each trigram, and its line."""
        padded = text.lengths + 3  # two edges before a line, one after it
        classes = np.full(int(padded.sum()), EDGE, np.int64)
        owners = np.repeat(np.arange(len(padded)), padded)
        starts = np.cumsum(padded) - padded
        place = np.arange(len(classes)) - starts[owners]
        inside = (place > 1) & (place < padded[owners] - 1)
        classes[inside] = self._classes[text.values]
        cells = (classes[:-2] * CLASSES + classes[1:-1]) * CLASSES + classes[2:]
        whole = place[2:] > 1
        return cells[whole], owners[2:][whole]


def _fold(lines: Sequence[str]) -> FlatLines:
    """Return the characters of lines in lower case, every digit being one of a kind."""
    text = read_code_points([line.strip().lower() for line in lines])
    digits = (text.values >= DIGIT) & (text.values < DIGIT + 10)
    return FlatLines(np.where(digits, DIGIT, text.values), text.lengths)

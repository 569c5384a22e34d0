"""Words as numbers that both sides share, and what can be told of them alone."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from nmt_core.corpora.screening.flat_text import Array, FlatLines, flatten_lines
from nmt_core.text.aligner.words import REMEMBERED, cut_word, is_sign

STEM_LETTERS = 6
"""First letters of a word that it is known by, as an aligner knows it."""

MOST_WORDS = 300_000
"""Words that are remembered at a time."""

LONGEST_UNIT = 8
"""Words of a run that is looked for again right behind it."""


class WordNumbers:
    """Numbers words: first the known ones, then others as they come.

    Args:
        known: words, whose numbers are their places.
    """

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._known = {word: number for number, word in enumerate(known)}
        self._forget()

    def read(self, lines: Sequence[str]) -> FlatLines:
        """Return the numbers of lines' words; signs have none."""
        cut = self._cut
        return flatten_lines(
            [
                [number for word in line.split() for number in cut.get(word) or self._learn(word)]
                for line in lines
            ]
        )

    def forget_many(self) -> None:
        """Forget the words that are not known if there are too many; their numbers are void."""
        if len(self._cut) > MOST_WORDS:
            self._forget()

    def _forget(self) -> None:
        self._numbers = dict(self._known)
        self._cut: dict[str, tuple[int, ...]] = {}

    def _learn(self, word: str) -> tuple[int, ...]:
        numbers = tuple(
            self._numbers.setdefault(piece, len(self._numbers)) for piece in cut_stems(word)
        )
        self._cut[word] = numbers
        return numbers


@lru_cache(REMEMBERED)
def cut_stems(word: str) -> tuple[str, ...]:
    """Return the pieces of a word without signs, as stems in lower case."""
    return tuple(
        piece.casefold()[:STEM_LETTERS]
        for piece in cut_word(word)
        if not (len(piece) == 1 and is_sign(piece))
    )


def measure_repetition(lines: FlatLines) -> Array:
    """Return how many words of each line say the run of words before them again."""
    most = np.zeros(len(lines.lengths))
    owners = lines.owners
    for size in range(1, LONGEST_UNIT + 1):
        if len(owners) <= size:
            break
        same = (lines.values[size:] == lines.values[:-size]) & (owners[size:] == owners[:-size])
        edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
        begins, runs = edges[::2], edges[1::2] - edges[::2]
        whole = runs >= size
        np.maximum.at(most, owners[begins[whole]], runs[whole].astype(np.float64))
    return most

"""Lines as one flat array of code points or word numbers, so that NumPy measures them together."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_core.text.aligner.words import REMEMBERED, cut_word, is_sign

Numbers = NDArray[np.int64]
Array = NDArray[np.float64]

STEM_LETTERS = 6
"""Length of a stem, which represents a word."""

MAX_WORDS = 300_000
"""Maximum number of words in the cache of a :class:`WordNumbers`."""

MAX_UNIT = 8
"""Longest run of words whose repetition is measured."""

USUAL_SHARE = 0.02
"""Share of letters from which a script is a usual one."""


class FlatLines(NamedTuple):
    """Lines one after another, each a sequence of numbers."""

    values: Numbers
    """Of all lines, (values,)."""
    lengths: Numbers
    """Number of values of each line, (lines,)."""

    @property
    def owners(self) -> Numbers:
        """The line of each value."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def starts(self) -> Numbers:
        """The place of each line's first value."""
        return np.cumsum(self.lengths) - self.lengths

    def add_up(self, measured: NDArray[np.floating] | NDArray[np.bool_]) -> Array:
        """Return the sum over each line of a measure of its values."""
        return np.bincount(self.owners, measured, len(self.lengths)).astype(np.float64)

    def keep(self, wanted: NDArray[np.bool_]) -> "FlatLines":
        """Return the lines with marked values only."""
        return FlatLines(self.values[wanted], self.add_up(wanted).astype(np.int64))


def flatten_lines(lines: Sequence[Sequence[int]]) -> FlatLines:
    """Return lines of numbers as one array."""
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    flat = [number for line in lines for number in line]
    return FlatLines(np.array(flat, np.int64), lengths)


def read_code_points(lines: Sequence[str]) -> FlatLines:
    """Return the code points of lines."""
    data = "".join(lines).encode("utf-32-le", errors="surrogatepass")
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    return FlatLines(np.frombuffer(data, np.uint32).astype(np.int64), lengths)


@lru_cache(maxsize=70_000)
def name_script(code: int) -> str:
    """Return the script of a letter, the first word of its Unicode name; empty for other signs.

    Full-width and other forms of a letter have the name of that letter.
    """
    character = chr(code)
    if not character.isalpha():
        return ""
    name = unicodedata.name(unicodedata.normalize("NFKC", character)[0], "")
    return name.partition(" ")[0].partition("-")[0]


def find_usual_scripts(lines: Sequence[str]) -> list[str]:
    """Return the scripts of lines, without those of a few foreign words."""
    codes, counts = np.unique(read_code_points(lines).values, return_counts=True)
    letters: dict[str, int] = {}
    for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
        if script := name_script(code):
            letters[script] = letters.get(script, 0) + count
    least = USUAL_SHARE * sum(letters.values())
    return sorted(script for script, count in letters.items() if count >= least)


def measure_foreign_letters(lines: Sequence[str], usual: Sequence[str]) -> Array:
    """Return the share of each line's letters in other than usual scripts; 0 without letters."""
    text = read_code_points(lines)
    codes, places = np.unique(text.values, return_inverse=True)
    names = [name_script(code) for code in codes.tolist()]
    letters = np.array([bool(name) for name in names], np.bool_)[places]
    foreign = np.array([bool(name) and name not in usual for name in names], np.bool_)[places]
    return text.add_up(foreign) / np.maximum(text.add_up(letters), 1)


class WordNumbers:
    """Numbers words: first the known ones, then others as they occur.

    Args:
        known: words whose numbers are their places.
    """

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._known = {word: number for number, word in enumerate(known)}
        self._forget()

    def read(self, lines: Sequence[str]) -> FlatLines:
        """Return the numbers of lines' words, without punctuation."""
        cut = self._cut
        return flatten_lines(
            [
                [number for word in line.split() for number in cut.get(word) or self._learn(word)]
                for line in lines
            ]
        )

    def forget_many(self) -> None:
        """Forget words that are not known if there are too many; their numbers become invalid."""
        if len(self._cut) > MAX_WORDS:
            self._forget()

    def _forget(self) -> None:
        self._numbers = dict(self._known)
        self._cut: dict[str, tuple[int, ...]] = {}

    def _learn(self, word: str) -> tuple[int, ...]:
        numbers = self._numbers
        self._cut[word] = tuple(numbers.setdefault(stem, len(numbers)) for stem in cut_stems(word))
        return self._cut[word]


@lru_cache(REMEMBERED)
def cut_stems(word: str) -> tuple[str, ...]:
    """Return the pieces of a word without punctuation, as stems in lower case."""
    return tuple(
        piece.casefold()[:STEM_LETTERS]
        for piece in cut_word(word)
        if not (len(piece) == 1 and is_sign(piece))
    )


def measure_repetition(lines: FlatLines) -> Array:
    """Return the number of words of each line that repeat the run of words before them."""
    most = np.zeros(len(lines.lengths))
    owners = lines.owners
    for size in range(1, MAX_UNIT + 1):
        if len(owners) <= size:
            break
        same = (lines.values[size:] == lines.values[:-size]) & (owners[size:] == owners[:-size])
        edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
        begins, runs = edges[::2], edges[1::2] - edges[::2]
        whole = runs >= size
        np.maximum.at(most, owners[begins[whole]], runs[whole].astype(np.float64))
    return most


def measure_copied(source: FlatLines, target: FlatLines) -> Array:
    """Return the share of words on both sides, smoothed by three words on one side."""
    size = int(max(source.values.max(initial=0), target.values.max(initial=0))) + 1
    rows = len(source.lengths)
    seen = [np.unique(lines.owners * size + lines.values) for lines in (source, target)]
    shared = np.intersect1d(seen[0], seen[1], assume_unique=True)
    most = np.maximum(*(np.bincount(side // size, minlength=rows) for side in seen))
    return np.bincount(shared // size, minlength=rows) / (most + 3.0)

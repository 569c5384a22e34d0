"""Word vectors: fastText's ``.vec`` format, and initial weights of an embedding layer.

The first line is ``rows dimensions``; every other line is a word and its vector, with spaces.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, UInt8

from nmt_core.base.errors import CorpusError
from nmt_core.base.raw_lines import read_raw_lines
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary

MAX_DIMENSIONS = 10_000

_HEADER = re.compile(rb"(\d{1,12}) (\d{1,12})\s*")

Row = tuple[str, bytes]
"""A word and its numbers, separated by single spaces."""


def open_vectors(path: Path) -> tuple[int, int, Iterator[bytes | None]]:
    """Open a ``.vec`` file of any program and read its header.

    Returns:
        The number of rows and of dimensions in the header, and an iterator of the raw rows without
        line ends, with None for a row that is too long. The file may have fewer rows.

    Raises:
        CorpusError: if the file cannot be read, or has no valid header.
    """
    lines = read_raw_lines(path)
    line = next(lines, b"") or b""
    match = _HEADER.fullmatch(line)
    if match is None or not 0 < int(match[2]) <= MAX_DIMENSIONS:
        raise CorpusError(
            f"{path} must begin with a line 'rows dimensions', got "
            f"{line[:40].decode('utf-8', errors='replace')!r}; "
            f"use a .vec file in fastText's text format"
        )
    return int(match[1]), int(match[2]), lines


def read_downloaded_vectors(path: Path) -> tuple[int, Iterator[Row]]:
    """Return the number of dimensions and the rows of a file that the download stage wrote.

    Raises:
        CorpusError: if the file is missing, or, while the rows are read, truncated.
    """
    if not path.exists():
        raise CorpusError(
            f"{path} does not exist; set download.vectors.kind to 'download' or 'file', and run "
            f"the download stage"
        )
    expected, dimensions, lines = open_vectors(path)
    return dimensions, _read_rows(path, expected, lines)


def _read_rows(path: Path, expected: int, lines: Iterator[bytes | None]) -> Iterator[Row]:
    rows = 0
    for line in lines:
        word, _, numbers = (line or b"").partition(b" ")
        yield word.decode(), numbers
        rows += 1
    if rows < expected:
        raise CorpusError(
            f"{path} is truncated: its header counts {expected} rows, but it has {rows}; run the "
            f"download stage again"
        )


MISSING, FOUND, COMPOSED = range(3)
"""Origin of a word's vector: no vector, trained for the word, composed of subwords."""


@dataclass(frozen=True)
class WordVectors:
    """The vectors of a vocabulary's tokens."""

    weight: Float32[np.ndarray, "V D"]
    """One row per token; zeros for a token without a vector."""

    origin: UInt8[np.ndarray, " V"]
    """MISSING, FOUND or COMPOSED for each token; the reserved tokens are MISSING."""

    @property
    def dimensions(self) -> int:
        """The number of dimensions of a vector."""
        return self.weight.shape[1]

    def counts(self) -> dict[str, int]:
        """Return the number of tokens, and of words by the origin of their vector."""
        missing, found, composed = np.bincount(self.origin, minlength=3).tolist()
        return {
            "vocabulary": len(self.origin),
            "found": found,
            "composed": composed,
            "missing": missing - len(SPECIALS),
        }


def read_vectors(path: Path, vocabulary: Vocabulary) -> WordVectors:
    """Read the vectors of a vocabulary's words; memory holds these and one line of the file.

    Vectors of the reserved tokens, such as fastText's ``</s>``, are ignored.
    """
    rows_of = {word: row for row, word in enumerate(vocabulary.tokens) if row >= len(SPECIALS)}
    dimensions, rows = read_downloaded_vectors(path)
    weight = np.zeros((len(vocabulary), dimensions), dtype=np.float32)
    origin = np.zeros(len(vocabulary), dtype=np.uint8)
    try:
        for word, numbers in rows:
            row = rows_of.get(word)
            if row is not None:
                weight[row] = np.array(numbers.split(b" "), dtype=np.float32).reshape(dimensions)
                origin[row] = FOUND
    except ValueError as error:
        raise CorpusError(f"{path} is damaged ({error}); run the download stage again") from None
    return WordVectors(weight, origin)


def build_embedding_matrix(
    vectors: WordVectors, random: np.random.Generator, *, name: str
) -> Float32[np.ndarray, "V D"]:
    """Return the initial weights of an embedding layer, one row per token.

    PAD is zeros. UNK and every word without a vector get the mean of the words' vectors. BOS and
    EOS are drawn from a normal distribution with mean 0, so that their expected squared length is
    the mean squared length of the words' vectors. ``name`` is the side, for error messages.

    Raises:
        CorpusError: if no word has a vector.
    """
    has_vector = vectors.origin != MISSING
    count = int(has_vector.sum())
    if count == 0:
        raise CorpusError(
            f"none of the {len(has_vector)} {name} tokens has a vector; use vectors of the same "
            f"language, letter case and kind of token (words or subwords) as the text"
        )
    # Rows without a vector are zeros and do not change the sums.
    mean = vectors.weight.sum(axis=0, dtype=np.float64) / count
    squares = np.einsum("vd,vd->", vectors.weight, vectors.weight, dtype=np.float64)
    deviation = np.sqrt(squares / (count * vectors.dimensions))

    weight = vectors.weight.copy()
    weight[~has_vector] = mean
    weight[[BOS, EOS]] = random.normal(0.0, deviation, size=(2, vectors.dimensions))
    weight[PAD] = 0.0
    assert not has_vector[UNK]
    return weight

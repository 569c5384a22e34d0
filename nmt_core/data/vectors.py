"""Word vectors: fastText's text format, a vocabulary's rows, the weights of an embedding layer.

The first line is ``rows dimensions``; every other is a word and its numbers, separated by spaces.
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
"""A word and its numbers, parted by single spaces."""


def open_vectors(path: Path) -> tuple[int, int, Iterator[bytes | None]]:
    """Read the header of a ``.vec`` file of any program.

    Returns:
        The rows and dimensions that it states, and the rows as they are, without the ends of lines;
        None for one that is too long. The file may have fewer.

    Raises:
        CorpusError: if the file cannot be read, or does not begin as it must.
    """
    lines = read_raw_lines(path)
    line = next(lines, b"") or b""
    match = _HEADER.fullmatch(line)
    if match is None or not 0 < int(match[2]) <= MAX_DIMENSIONS:
        raise CorpusError(
            f"{path} must begin with a line 'rows dimensions', got "
            f"{line[:40].decode('utf-8', errors='replace')!r}; "
            f"give a .vec file as fastText writes it"
        )
    return int(match[1]), int(match[2]), lines


def read_sound_rows(path: Path) -> tuple[int, Iterator[Row]]:
    """Return the dimensions and the rows of a file that the download stage wrote.

    Raises:
        CorpusError: if the file is not there; while the rows are read, if its end is lost.
    """
    if not path.exists():
        raise CorpusError(
            f"{path} does not exist; set download.vectors.kind to 'download' or 'file', and run "
            f"the download stage"
        )
    promised, dimensions, lines = open_vectors(path)
    return dimensions, _read_rows(path, promised, lines)


def _read_rows(path: Path, promised: int, lines: Iterator[bytes | None]) -> Iterator[Row]:
    rows = 0
    for line in lines:
        word, _, numbers = (line or b"").partition(b" ")
        yield word.decode(), numbers
        rows += 1
    if rows < promised:
        raise CorpusError(
            f"{path} promises {promised} rows and holds {rows}, so its end is lost; run the "
            f"download stage again"
        )


MISSING, FOUND, COMPOSED = range(3)
"""Origin of a word's vector: none, the vectors themselves, its subwords."""


@dataclass(frozen=True)
class WordVectors:
    """Vectors for the rows of a vocabulary, as far as there are any."""

    weight: Float32[np.ndarray, "V D"]
    """One row per token; zeros where there is no vector."""

    origin: UInt8[np.ndarray, " V"]
    """MISSING, FOUND or COMPOSED, per row; the reserved tokens are MISSING."""

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        return self.weight.shape[1]

    def counts(self) -> dict[str, int]:
        """Return the tokens, and how many words have a vector, a composed one, and none."""
        missing, known, composed = np.bincount(self.origin, minlength=3).tolist()
        return {
            "vocabulary": len(self.origin),
            "found": known,
            "composed": composed,
            "missing": missing - len(SPECIALS),
        }


def read_vectors(path: Path, vocabulary: Vocabulary) -> WordVectors:
    """Read the vectors of a vocabulary's words; memory holds these and one line of the file.

    Rows of the reserved tokens, such as the ``</s>`` of fastText, are never used.
    """
    rows_of = {word: row for row, word in enumerate(vocabulary.tokens) if row >= len(SPECIALS)}
    dimensions, rows = read_sound_rows(path)
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
    """Return one row per token of the vocabulary, those without a vector included.

    PAD is zeros. UNK is the mean of the words' vectors, and so is every word that has none. BOS and
    EOS are normal with mean 0 and the root mean square of the words' numbers as deviation: their
    expected squared length is the mean squared length of the words' vectors.

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

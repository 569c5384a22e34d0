"""Vectors of words: where they come from, and how they are read from fastText's text format.

The first line of a ``.vec`` file says ``rows dimensions``; every other is a word and its numbers,
parted by single spaces, the most frequent word first.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import Float32, UInt8

from nmt_core.errors import CorpusError
from nmt_core.text.vocabulary import SPECIALS, Vocabulary

MISSING, FOUND, COMPOSED = range(3)
"""Where the vector of a word comes from: nowhere, the vectors themselves, its subwords."""

MAX_DIMENSIONS = 10_000
MAX_LINE_BYTES = 2**20

_HEADER = re.compile(rb"(\d{1,12}) (\d{1,12})\s*")


@dataclass(frozen=True)
class WordVectors:
    """Vectors for the rows of a vocabulary, as far as there are any."""

    weight: Float32[np.ndarray, "V D"]
    """One row per token; zeros where there is no vector."""

    origin: UInt8[np.ndarray, " V"]
    """MISSING, FOUND or COMPOSED, per row; the reserved tokens are MISSING."""

    left_out: Mapping[str, int] = field(default_factory=dict)
    """Rows of the file that could not be used, by reason."""

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        return self.weight.shape[1]

    def counts(self) -> dict[str, int]:
        """Return the tokens, and how many words have a vector, a composed one, and none."""
        missing, found, composed = np.bincount(self.origin, minlength=3).tolist()
        return {
            "vocabulary": len(self.origin),
            "found": found,
            "composed": composed,
            "missing": missing - len(SPECIALS),
        }


def read_vectors(path: Path, vocabulary: Vocabulary) -> WordVectors:
    """Read the vectors of a vocabulary's words; memory holds these and one line of the file.

    A row that cannot be used is left out and counted: "wrong_length" has too few numbers,
    "space_in_word" too many fields; of the vocabulary's words alone, "duplicate_word" comes after
    the first of its word, and "not_finite" holds something else than finite numbers. Rows of the
    reserved tokens, such as the ``</s>`` of fastText, are never used.

    Raises:
        CorpusError: if the file or its header is missing, or it has fewer rows than promised.
    """
    rows_of = {word.encode(): row for row, word in _words(vocabulary)}
    left_out: Counter[str] = Counter()
    try:
        with path.open("rb") as file:
            promised, dimensions = _header(path, file.readline(MAX_LINE_BYTES))
            weight = np.zeros((len(vocabulary), dimensions), dtype=np.float32)
            origin = np.zeros(len(vocabulary), dtype=np.uint8)
            rows = 0
            for line in _lines(path, file):
                rows += 1
                fault = _length_fault(line, dimensions)
                if fault is None:
                    word, _, numbers = line.partition(b" ")
                    if word not in rows_of:
                        continue
                    fault = _read_row(numbers, rows_of[word], weight, origin)
                if fault is not None:
                    left_out[fault] += 1
    except FileNotFoundError:
        raise CorpusError(
            f"{path} does not exist; set download.vectors and run the download stage, "
            f"or let embeddings.vectors be of another kind"
        ) from None
    if rows < promised:
        raise CorpusError(
            f"{path} promises {promised} rows and holds {rows}, so its end is lost; "
            f"run the download stage again"
        )
    return WordVectors(weight, origin, dict(sorted(left_out.items())))


def _words(vocabulary: Vocabulary) -> Iterator[tuple[int, str]]:
    """Yield the row and the word of every token that is not reserved."""
    yield from enumerate(vocabulary.tokens[len(SPECIALS) :], start=len(SPECIALS))


def _header(path: Path, line: bytes) -> tuple[int, int]:
    found = _HEADER.fullmatch(line)
    if found is None or not 0 < int(found[2]) <= MAX_DIMENSIONS:
        start = line[:40].decode(errors="replace")
        raise CorpusError(
            f"{path} must begin with a line 'rows dimensions', got {start!r}; "
            f"give a .vec file as fastText writes it"
        )
    return int(found[1]), int(found[2])


def _lines(path: Path, file: BinaryIO) -> Iterator[bytes]:
    for line in iter(partial(file.readline, MAX_LINE_BYTES), b""):
        if len(line) == MAX_LINE_BYTES:
            raise CorpusError(
                f"{path} holds a line of {MAX_LINE_BYTES} bytes or more; "
                f"give a .vec file as fastText writes it"
            )
        yield line.rstrip()


def _length_fault(line: bytes, dimensions: int) -> str | None:
    spaces = line.count(b" ")
    if spaces == dimensions:
        return None
    return "wrong_length" if spaces < dimensions else "space_in_word"


def _read_row(
    numbers: bytes, row: int, weight: Float32[np.ndarray, "V D"], origin: UInt8[np.ndarray, " V"]
) -> str | None:
    if origin[row] == FOUND:
        return "duplicate_word"
    try:
        with np.errstate(over="ignore"):
            vector = np.array(numbers.split(b" "), dtype=np.float32)
    except ValueError:
        return "not_finite"
    if not np.isfinite(vector).all():
        return "not_finite"
    weight[row] = vector
    origin[row] = FOUND
    return None

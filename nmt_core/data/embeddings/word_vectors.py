"""Read word vectors in fastText's text format, plain or .gz.

The first line says ``rows dimensions``; every other is a word and its numbers, parted by single
spaces, the most frequent word first.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nmt_core.base.errors import CorpusError
from nmt_core.base.raw_lines import read_raw_lines

MAX_DIMENSIONS = 10_000

_HEADER = re.compile(rb"(\d{1,12}) (\d{1,12})\s*")


class VectorText(NamedTuple):
    """An open ``.vec`` file."""

    rows: int
    """As the first line promises; the file may have fewer."""
    dimensions: int
    lines: Iterator[bytes | None]
    """The rows as they are, without the ends of lines; None for one that is too long."""


class Row(NamedTuple):
    """A word and its numbers."""

    word: str
    numbers: bytes
    """Parted by single spaces."""


def open_vectors(path: Path) -> VectorText:
    """Read the header of a file of any program.

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
    return VectorText(int(match[1]), int(match[2]), lines)


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
    opened = open_vectors(path)
    return opened.dimensions, _rows(path, opened)


def _rows(path: Path, opened: VectorText) -> Iterator[Row]:
    rows = 0
    for rows, line in enumerate(opened.lines, 1):  # noqa: B007 - counted, and told below
        word, _, numbers = (line or b"").partition(b" ")
        yield Row(word.decode(), numbers)
    if rows < opened.rows:
        raise CorpusError(
            f"{path} promises {opened.rows} rows and holds {rows}, so its end is lost; "
            f"run the download stage again"
        )

"""Files of a person, a sentence a line, to translate."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nmt_core.base.errors import CorpusError
from nmt_core.base.raw_lines import read_raw_lines
from nmt_core.base.utf8 import BYTE_ORDER_MARK, decode_utf8
from nmt_core.corpora.formats.registered import PAIRS_NO_LINES, holds_both_sides


def read_texts(texts: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of files that hold something.

    Raises:
        CorpusError: if one is not there, holds pairs, is damaged, or a line is not UTF-8.
    """
    for path in texts:
        if not path.is_file():
            raise CorpusError(f"{path} is not there; text must name files with a sentence a line")
        if holds_both_sides(path):
            raise CorpusError(f"{path} {PAIRS_NO_LINES}")
    return (line for line in _read_lines(texts) if line.strip())


def _read_lines(texts: Sequence[Path]) -> Iterator[str]:
    """Yield all lines; one that is too long for text is empty."""
    for path in texts:
        for number, raw in enumerate(read_raw_lines(path), start=1):
            line = decode_utf8((raw or b"").removesuffix(b"\r"), path, line=number)
            yield line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line

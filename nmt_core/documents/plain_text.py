r"""Plain text: line ends, blank lines, indentation and list markers stay; the rest is translated.

A line is translated by itself, unless it was wrapped: if in a block of lines each next line's first
word would not have fitted into the width of the block, they are one passage, whose translation is
wrapped into as many lines.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmt_core.documents.passage import BREAK
from nmt_core.documents.pieces import Piece, TextDocument, Type, make_parts, write_plainly

LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""As ``str.splitlines`` has them."""

CELL_END = re.compile(r"\t+|[ ]{3,}")
"""What stands between cells, and is kept."""

MARKER = re.compile(
    r"\s*(?:>[>\s]*)?(?:(?:[-*+•‣◦▪·–—]|\[[ xX]\]|\(?\d{1,3}[.)]|\(?[a-z]\))\s+)*\s*"
)
"""What may stand before the text of a line: white space, marks of quotation, list markers."""

WRAPPED = range(50, 200)
"""Widths to which lines are wrapped; narrower ones are verses, addresses and lists."""


class Line(NamedTuple):
    """A line in parts: what stands before its text, the text, and what stands after it."""

    before: str
    text: str
    after: str
    """White space and the line end."""


def read_plain_text(text: str) -> TextDocument:
    """Read plain text; translated, it has as many line ends, in the same order."""
    return TextDocument(make_parts(list(_parse(text)), write_plainly))


def _parse(text: str) -> Iterator[Piece]:
    block: list[Line] = []
    for line in _split_lines(text):
        if block and not _continues(block, line):
            yield from _end(block)
            block = []
        block.append(line)
    yield from _end(block)


def _split_lines(text: str) -> Iterator[Line]:
    start = 0
    for end in [*(found.end() for found in LINE_END.finditer(text)), len(text)]:
        line = text[start:end]
        if line:
            marker = MARKER.match(line)
            assert marker
            before = line[: marker.end()]
            rest = line[marker.end() :]
            yield Line(before, rest.rstrip(), rest[len(rest.rstrip()) :])
        start = end


def _continues(block: Sequence[Line], line: Line) -> bool:
    """Tell whether a line may belong to the same block: no list item, and indented alike."""
    last = block[-1]
    return bool(
        line.text
        and last.text
        and LINE_END.search(last.after)
        and (not line.before.strip() or line.before == last.before)
        and not (line.before.strip(" \t>"))
    )


def _end(block: Sequence[Line]) -> Iterator[Piece]:
    """Yield the pieces of a block, which if it was wrapped is one passage."""
    wrapped = _is_wrapped(block)
    for number, line in enumerate(block):
        if not wrapped or number == 0:
            yield Piece(Type.WALL, line.before)
        if wrapped:
            yield Piece(Type.TEXT, line.text, line.text)
        else:
            yield from _split_cells(line.text)
        if wrapped and number + 1 < len(block):
            yield Piece(Type.LINE_END, line.after + block[number + 1].before, BREAK)
        else:
            yield Piece(Type.WALL, line.after)


def _split_cells(text: str) -> Iterator[Piece]:
    start = 0
    for found in CELL_END.finditer(text):
        yield Piece(Type.TEXT, text[start : found.start()], text[start : found.start()])
        yield Piece(Type.WALL, found[0])
        start = found.end()
    yield Piece(Type.TEXT, text[start:], text[start:])


def _is_wrapped(block: Sequence[Line]) -> bool:
    """Tell whether no line could have held the first word of the next."""
    if not block:
        return False
    widths = [len(line.before) + len(line.text) for line in block]
    width = max(widths)
    ends = {end for line in block for end in LINE_END.findall(line.after)}
    return (
        len(block) > 1
        and len(ends) == 1
        and width in WRAPPED
        and not any(CELL_END.search(line.text) for line in block)
        and all(
            length + 1 + len(following.text.split()[0]) > width
            for length, following in zip(widths, block[1:], strict=False)
        )
    )

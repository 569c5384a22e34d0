r"""Plain text: line ends, blank lines, indentation and list markers stay; the rest is translated.

A line is translated by itself, unless it was wrapped: if no line of a block had room for the first
word of the next, the block is one passage, and its translation is wrapped into as many lines.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmt_core.documents.document import TextDocument
from nmt_core.documents.segments import BREAK, Piece, Role, Written, make_parts, write_plainly

LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""As ``str.splitlines`` has them."""

CELL_END = re.compile(r"\t+|[ ]*(?<!\|)\|(?!\||[^][{}]{0,100}[]}])[ ]*|[ ]{3,}")
"""The space or line between cells, which is kept; programs write forms of a plural so, too."""

MARKER = re.compile(
    r"\s*(?:>[>\s]*)?(?:(?:[-*+•‣◦▪·–—]|\[[ xX]\]|\(?\d{1,3}[.)]|\(?[a-z]\))\s+)*\s*"
)
"""The start of a line before its text: white space, quotation marks, list markers."""

WRAPPED = range(50, 200)
"""Widths to which lines are wrapped; narrower ones are verses, addresses and lists."""


class _Line(NamedTuple):
    """A line in three parts: the start, the text, and the rest."""

    before: str
    text: str
    after: str
    """White space and the line end."""


def read_plain_text(text: str) -> TextDocument:
    """Read plain text; translated, it has as many line ends, in the same order."""
    return TextDocument(make_parts([*parse_plain_text(text)], write_plainly))


def parse_plain_text(text: str) -> Iterator[Piece]:
    """Yield the pieces of plain text."""
    block: list[_Line] = []
    for line in _split_lines(text):
        if block and not _continues(block, line):
            yield from _end(block)
            block = []
        block.append(line)
    yield from _end(block)


def _split_lines(text: str) -> Iterator[_Line]:
    start = 0
    for end in [*(match.end() for match in LINE_END.finditer(text)), len(text)]:
        line = text[start:end]
        if line:
            marker = MARKER.match(line)
            assert marker
            before = line[: marker.end()]
            rest = line[marker.end() :]
            yield _Line(before, rest.rstrip(), rest[len(rest.rstrip()) :])
        start = end


def _continues(block: Sequence[_Line], line: _Line) -> bool:
    """Tell whether a line may continue a block: not a list item, and with the same indent."""
    last = block[-1]
    return bool(
        line.text
        and last.text
        and LINE_END.search(last.after)
        and (not line.before.strip() or line.before == last.before)
        and not (line.before.strip(" \t>"))
    )


def _end(block: Sequence[_Line]) -> Iterator[Piece]:
    """Yield the pieces of a block; a wrapped one is one passage."""
    if len(block) == 1 and not block[0].text:
        yield Piece(Role.BLOCK, block[0].before + block[0].after)
        return
    wrapped = _is_wrapped(block)
    for number, line in enumerate(block):
        if not wrapped or number == 0:
            yield Piece(Role.BLOCK, line.before)
        if wrapped:
            yield Piece(Role.TEXT, line.text, line.text)
        else:
            yield from _split_cells(line.text)
        if wrapped and number + 1 < len(block):
            yield Piece(Role.LINE_END, line.after + block[number + 1].before, BREAK)
        else:
            yield Piece(Role.BLOCK, line.after)


def _split_cells(text: str) -> Iterator[Piece]:
    start = 0
    for match in CELL_END.finditer(text):
        yield Piece(Role.TEXT, text[start : match.start()], text[start : match.start()])
        yield Piece(Role.BLOCK, match[0])
        start = match.end()
    yield Piece(Role.TEXT, text[start:], text[start:])


def _is_wrapped(block: Sequence[_Line]) -> bool:
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


def drop_blank_lines(written: Sequence[Written]) -> list[Written]:
    """Return a translation without blank lines, of a source that had none."""
    parts: list[Written] = []
    is_blank = True  # nothing stands in the line so far
    for text, tag in written:
        if tag is not None:
            is_blank = is_blank and not text
            parts.append(Written(text, tag))
            continue
        joined, *lines = text.split(BREAK)
        is_blank = is_blank and not joined.strip()
        for line in lines:
            joined += line.lstrip() if is_blank else BREAK + line.lstrip()
            is_blank = not line.strip()
        parts.append(Written(joined))
    for number in range(len(parts) - 1, -1, -1):
        if parts[number].tag is not None:
            break
        parts[number] = Written(parts[number].text.rstrip(BREAK))
        if parts[number].text:
            break
    return parts

"""Plain text, and subtitles in SubRip (.srt) or WebVTT (.vtt).

In plain text, newlines, blank lines, indentation and list markers do not change. Each line is a
passage, unless text was wrapped: if no line of a block has room for the first word of the next, the
block is a passage, and its translation has the same number of lines. In subtitles, only speech is
translated; each subtitle is a passage, unless several people speak.
"""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from nmt_core.documents.document import Document, make_document
from nmt_core.documents.segments import BREAK, Piece, Role, Written, make_parts, write_plainly

LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""The line boundaries of ``str.splitlines``."""

CELL_END = re.compile(r"\t+|[ ]*(?<!\|)\|(?!\||[^][{}]{0,100}[]}])[ ]*|[ ]{3,}")
"""The space or line between cells, or between plural forms in some programs."""

MARKER = re.compile(
    r"\s*(?:>[>\s]*)?(?:(?:[-*+•‣◦▪·–—]|\[[ xX]\]|\(?\d{1,3}[.)]|\(?[a-z]\))\s+)*\s*"
)
"""The start of a line before its text: white space, quote marks, list markers."""

WRAPPED = range(50, 200)
"""Widths of wrapped text, in characters; narrower text may be verses, addresses or lists."""


class _Line(NamedTuple):
    """A line in three parts."""

    before: str
    """White space and markers."""
    text: str
    after: str
    """White space and the newline."""


def read_plain_text(text: str) -> Document[str]:
    """Return plain text as a document; its translation has the same newlines."""
    return make_document(make_parts([*parse_plain_text(text)], write_plainly))


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
            before, content = line[: marker.end()], line[marker.end() :]
            yield _Line(before, content.rstrip(), content[len(content.rstrip()) :])
        start = end


def _continues(block: Sequence[_Line], line: _Line) -> bool:
    """Return whether a line may continue a block: not a list item, with the same indentation."""
    last = block[-1]
    return bool(
        line.text
        and last.text
        and LINE_END.search(last.after)
        and (not line.before.strip() or line.before == last.before)
        and not (line.before.strip(" \t>"))
    )


def _end(block: Sequence[_Line]) -> Iterator[Piece]:
    """Yield the pieces of a block; a wrapped block is one passage."""
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
    """Return whether no line had room for the first word of the next line."""
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
    """Return the parts of a translation without blank lines."""
    parts: list[Written] = []
    is_blank = True  # the current line is empty so far
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


LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
TIMES = re.compile(r"\s*(?:\d+:)?\d+:\d+[,.]\d+\s*-->\s*(?:\d+:)?\d+:\d+[,.]\d+")
NOTES = "♩♪♫♬"
SPEAKER = re.compile(rf"((?:<[^<>\n]*>|\{{[^{{}}\n]*\}})*)([-–—]\s*|[{NOTES}]+\s*)")
"""The dash before another speaker, or notes before a song, with the tags before them."""

MARKUP = re.compile(
    rf"</?(?P<name>[a-zA-Z]++)[^<>\n]*>|<[\d:.]+>|\{{\\?[a-zA-Z][^{{}}\n]*\}}|[{NOTES}]+"
)
"""Tags, times of single words, commands of SubStation Alpha, and notes around a song."""

WEBVTT = "WEBVTT"
"""Beginning of a WebVTT file, whose text may contain character references."""

REPLACEMENTS = {"-->": "→", "<": "‹", "{": "("}
"""Replacements of signs that may begin markup, because SubRip has no escapes."""


def read_subtitles(text: str) -> Document[str]:
    """Return subtitles as a document."""
    pieces, write = [*_parse(text)], _avoid_markup
    if text.startswith(WEBVTT):
        write = partial(html.escape, quote=False)
        for piece in pieces:
            if piece.role is Role.TEXT:
                piece.text = html.unescape(piece.raw)
    return make_document(make_parts(pieces, partial(_escape, write=write)))


def _escape(_: str, written: Sequence[Written], *, write: Callable[[str], str]) -> list[str]:
    """Return the parts of a translation without blank lines, which would end the subtitle."""
    return [part.text if part.tag else write(part.text) for part in drop_blank_lines(written)]


def _avoid_markup(text: str) -> str:
    for markup, sign in REPLACEMENTS.items():
        text = text.replace(markup, sign)
    return text


def _parse(text: str) -> Iterator[Piece]:
    lines = [(match[1], match[2]) for match in LINE.finditer(text)]
    is_speech = False
    for number, (line, end) in enumerate(lines):
        following = [each for each, _ in lines[number + 1 : number + 3]]
        if TIMES.match(line) or not line.strip():
            is_speech = bool(line.strip())
            yield Piece(Role.BLOCK, line + end)
        elif not is_speech or _begins([line, *following]):
            yield Piece(Role.BLOCK, line + end)
        else:
            yield from _read_line(line, end, is_continued=_is_continued(line, following))


def _begins(lines: Sequence[str]) -> bool:
    """Return whether lines are the number and the time of a subtitle."""
    return len(lines) > 1 and lines[0].strip().isdecimal() and TIMES.match(lines[1]) is not None


def _is_continued(line: str, following: Sequence[str]) -> bool:
    """Return whether the next line of a subtitle may continue the sentence."""
    return bool(following and following[0].strip()) and not (
        SPEAKER.match(following[0])
        or TIMES.match(following[0])
        or _begins(following)
        or not line.strip()
    )


def _read_line(line: str, end: str, *, is_continued: bool) -> Iterator[Piece]:
    if speaker := SPEAKER.match(line):
        yield from _read_text(speaker[1])
        yield Piece(Role.BLOCK, speaker[2])
    yield from _read_text(line[speaker.end() if speaker else 0 :])
    yield Piece(Role.LINE_END if is_continued else Role.BLOCK, end, BREAK)


def _read_text(text: str) -> Iterator[Piece]:
    start = 0
    for match in MARKUP.finditer(text):
        yield Piece(Role.TEXT, text[start : match.start()], text[start : match.start()])
        role = Role.EMPTY
        if match["name"]:
            role = Role.CLOSE if match[0].startswith("</") else Role.OPEN
        yield Piece(role, match[0], name=(match["name"] or "").lower())
        start = match.end()
    yield Piece(Role.TEXT, text[start:], text[start:])

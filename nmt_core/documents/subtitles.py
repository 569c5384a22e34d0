"""Subtitles, SubRip (.srt) or WebVTT (.vtt): speech is translated, all else stays.

A subtitle is translated by itself. Its lines are one passage, and its translation is put into as
many lines, unless several people speak.
"""

import html
import re
from collections.abc import Iterator, Sequence

from nmt_core.documents.document import TextDocument
from nmt_core.documents.plain_text import drop_blank_lines
from nmt_core.documents.segments import BREAK, Piece, Role, Written, make_parts

LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
TIMES = re.compile(r"\s*(?:\d+:)?\d+:\d+[,.]\d+\s*-->\s*(?:\d+:)?\d+:\d+[,.]\d+")
NOTES = "♩♪♫♬"
SPEAKER = re.compile(rf"((?:<[^<>\n]*>|\{{[^{{}}\n]*\}})*)([-–—]\s*|[{NOTES}]+\s*)")
"""The dash before what another person says, or notes before what is sung, and tags before it."""

MARKUP = re.compile(
    rf"</?(?P<name>[a-zA-Z]++)[^<>\n]*>|<[\d:.]+>|\{{\\?[a-zA-Z][^{{}}\n]*\}}|[{NOTES}]+"
)
"""Tags, times of single words, commands of SubStation Alpha, and notes around what is sung."""

WEBVTT = "WEBVTT"
"""How a file of WebVTT begins, in which signs may be written as in HTML."""

NO_MARKUP = {"-->": "→", "<": "‹", "{": "("}
"""Replacements of signs that could begin markup: SubRip has no way to escape them."""


def read_subtitles(text: str) -> TextDocument:
    """Read subtitles."""
    pieces = list(_parse(text))
    if not text.startswith(WEBVTT):
        return TextDocument(make_parts(pieces, _escape))
    for piece in pieces:
        if piece.role is Role.TEXT:
            piece.text = html.unescape(piece.raw)
    return TextDocument(make_parts(pieces, _escape_webvtt))


def _escape(_: str, written: Sequence[Written]) -> list[str]:
    """Write a translation without blank lines, which end a subtitle, times and tags of its own."""
    return [
        part.text if part.tag else _avoid_markup(part.text) for part in drop_blank_lines(written)
    ]


def _escape_webvtt(_: str, written: Sequence[Written]) -> list[str]:
    return [
        part.text if part.tag else html.escape(part.text, quote=False)
        for part in drop_blank_lines(written)
    ]


def _avoid_markup(text: str) -> str:
    for markup, sign in NO_MARKUP.items():
        text = text.replace(markup, sign)
    return text


def _parse(text: str) -> Iterator[Piece]:
    lines = [(match[1], match[2]) for match in LINE.finditer(text)]
    said = False
    for number, (line, end) in enumerate(lines):
        following = [each for each, _ in lines[number + 1 : number + 3]]
        if TIMES.match(line) or not line.strip():
            said = bool(line.strip())
            yield Piece(Role.BLOCK, line + end)
        elif not said or _begins([line, *following]):
            yield Piece(Role.BLOCK, line + end)
        else:
            yield from _read_line(line, end, goes_on=_goes_on(line, following))


def _begins(lines: Sequence[str]) -> bool:
    """Tell whether lines begin a subtitle with its number, be it without a blank line before."""
    return len(lines) > 1 and lines[0].strip().isdecimal() and TIMES.match(lines[1]) is not None


def _goes_on(line: str, following: Sequence[str]) -> bool:
    """Tell whether the next line of a subtitle may continue a sentence."""
    return bool(following and following[0].strip()) and not (
        SPEAKER.match(following[0])
        or TIMES.match(following[0])
        or _begins(following)
        or not line.strip()
    )


def _read_line(line: str, end: str, *, goes_on: bool) -> Iterator[Piece]:
    if speaker := SPEAKER.match(line):
        yield from _read_text(speaker[1])
        yield Piece(Role.BLOCK, speaker[2])
    yield from _read_text(line[speaker.end() if speaker else 0 :])
    yield Piece(Role.LINE_END if goes_on else Role.BLOCK, end, BREAK)


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

"""Runs of text with properties, as PowerPoint and Excel write paragraphs.

Most of a paragraph looks alike; runs that look otherwise are pairs around text, and a translation
is written as runs anew.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from nmt_core.documents.passage import BREAK, HARD_BREAK, Kind
from nmt_core.documents.pieces import Part, Piece, Type, Written, join_raw, make_parts
from nmt_core.documents.xml_pieces import (
    XmlPiece,
    find_children,
    find_end,
    set_attribute,
    write_xml,
)

INVISIBLE = ("lang", "altLang", "dirty", "err", "noProof", "smtClean", "smtId")
"""Attributes of properties that do not change looks; a translation is in another language."""

CLOSED = "</>"
LINE_END = re.compile(r"((?:_x000D_)?(?:\r\n|\r|\n))")
"""That of a file of Windows which Excel has read is written so."""

SPACED = ' xml:space="preserve"'


class RunStyle(NamedTuple):
    """How a format writes runs."""

    run: str
    """Its element; all names are without their prefix."""
    properties: str
    kept: frozenset[str]
    """Elements beside runs that end a sentence, or stand before and after all of them."""
    spaced: bool = False
    """Whether an attribute says that space is kept."""
    bare: bool = False
    """Whether a text may stand outside of a run, if no other one stands in one."""


class _Run(NamedTuple):
    """A text with its properties."""

    before: str
    text: XmlPiece
    after: str
    properties: str


def read_runs(pieces: Sequence[XmlPiece], style: RunStyle) -> Iterator[Part]:
    """Yield the parts of a paragraph.

    Args:
        pieces: of its element, without its own tags.
        style: how its format writes runs.
    """
    runs = [*_find_runs(pieces, style)]
    lengths: Counter[str] = Counter()
    for run in runs:
        if isinstance(run, _Run):
            lengths[run.properties] += len(run.text.text)
    usual = lengths.most_common(1)[0][0] if lengths else ""
    prefix = next((piece.prefix for piece in pieces if piece.prefix), "")
    if any(piece.name == style.run for piece in pieces):
        style = style._replace(bare=False)
    write = partial(_write_runs, style=style, usual=usual, prefix=prefix)
    yield from make_parts([*_mark_runs(runs, usual, spaced=style.spaced)], write)


def _find_runs(pieces: Sequence[XmlPiece], style: RunStyle) -> Iterator[_Run | Piece]:
    """Yield the runs of a paragraph, and what stands between them."""
    at = 0
    while at < len(pieces):
        piece, end = pieces[at], find_end(pieces, at)
        raw = join_raw(pieces[at:end])
        if piece.type is Type.OPEN and piece.name in {style.run, "t"}:
            yield _read_run(pieces[at:end], style) or Piece(Type.POINT, raw)
        elif piece.name in style.kept or not piece.name:
            yield Piece(Type.WALL, raw)
        else:
            yield Piece(Type.POINT, raw)
        at = end


def _read_run(pieces: Sequence[XmlPiece], style: RunStyle) -> _Run | None:
    """Return a run, or a text outside of one; None if it holds anything else."""
    properties, at, end = "", 0, len(pieces)
    if pieces[0].name == style.run:
        for first, last in find_children(pieces, 0, len(pieces)):
            if pieces[first].name == style.properties:
                properties = _clean(join_raw(pieces[first:last]))
            elif pieces[first].name == "t" and at == 0:
                at, end = first, last
            elif pieces[first].text.strip() or pieces[first].name:
                return None
    match pieces[at:end]:
        case [opening, text, _] if opening.name == "t":
            before, after = join_raw(pieces[: at + 1]), join_raw(pieces[at + 2 :])
            return _Run(before, text, after, properties)
    return None


def _clean(properties: str) -> str:
    """Return properties without what does not change looks; nothing if that is all."""
    tag, end, inner = re.split(r"(/?>)", properties, maxsplit=1)
    for name in INVISIBLE:
        tag = set_attribute(f"{tag}>", name, None).removesuffix(">")
    return "" if not re.search(r"\s", tag.strip()) and end == "/>" else tag + end + inner


def _mark_runs(runs: Sequence[_Run | Piece], usual: str, *, spaced: bool) -> Iterator[Piece]:
    """Yield the pieces of a paragraph, with a pair around texts that look unlike most."""
    number = 0
    while number < len(runs):
        run = runs[number]
        number += 1
        if isinstance(run, Piece):
            yield run
            continue
        alike = [run]
        while number < len(runs):
            following = runs[number]
            if not isinstance(following, _Run) or following.properties != run.properties:
                break
            alike.append(following)
            number += 1
        if run.properties == usual:
            yield from _read_texts(alike, outside=True, spaced=spaced)
        else:
            shown = run.properties or CLOSED
            name = f"run {run.properties}"
            yield Piece(Type.OPEN, alike[0].before, name=name, rewritten=shown)
            yield from _read_texts(alike, outside=False, spaced=spaced)
            yield Piece(Type.CLOSE, alike[-1].after, name=name, rewritten=CLOSED)


def _read_texts(runs: Sequence[_Run], *, outside: bool, spaced: bool) -> Iterator[Piece]:
    """Yield the texts of runs that look alike, with their tags, or without the outer ones.

    Where space is kept, somebody has typed each line end; a sentence goes on in the next line if
    that begins with a small letter.
    """
    for number, run in enumerate(runs):
        before = run.before if outside or number else ""
        after = run.after if outside or number + 1 < len(runs) else ""
        lines = LINE_END.split(run.text.raw)
        values = LINE_END.split(run.text.text)
        full = [at for at, value in enumerate(values) if at % 2 == 0 and value.strip()]
        if len(values) != len(lines) or not full:
            text = run.text.text.replace(BREAK, HARD_BREAK)
            yield Piece(Type.TEXT, before + run.text.raw + after, text)
            continue
        for at in range(full[0], full[-1] + 1):
            if at % 2 == 0:  # blank lines before and after all text are part of it, with the tags
                start = 0 if at == full[0] else at
                end = len(lines) if at == full[-1] else at + 1
                raw = (
                    before * (start == 0) + "".join(lines[start:end]) + after * (end == len(lines))
                )
                text = "".join(HARD_BREAK if n % 2 else values[n] for n in range(start, end))
                yield Piece(Type.TEXT, raw, text)
            elif spaced and not values[at + 1].lstrip()[:1].islower():
                yield Piece(Type.TEXT, lines[at], HARD_BREAK)
            else:
                yield Piece(Type.LINE_END, lines[at], BREAK)


def _write_runs(
    _: str, written: Sequence[Written], *, style: RunStyle, usual: str, prefix: str
) -> list[str]:
    """Write a translation as runs, each text with the properties of the pair that it stands in."""
    current, parts = [usual], []
    for text, mark in written:
        if mark is None:
            parts.append(_write_run(text, current[-1], style, prefix) if text else "")
        elif mark.kind is Kind.POINT:
            parts.append(text)
        else:
            if mark.kind is Kind.OPEN:
                current.append("" if text == CLOSED else text)
            else:
                current.pop()
            parts.append("")
    return parts


def _write_run(text: str, properties: str, style: RunStyle, prefix: str) -> str:
    space = SPACED if style.spaced else ""
    written = "&#10;".join(map(write_xml, text.split(HARD_BREAK)))
    inner = f"<{prefix}t{space}>{written}</{prefix}t>"
    if style.bare:
        return inner
    return f"<{prefix}{style.run}>{properties}{inner}</{prefix}{style.run}>"

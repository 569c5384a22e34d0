"""Android's ``strings.xml``: strings, arrays and plurals of an app.

https://developer.android.com/guide/topics/resources/string-resource
"""

import html
import re
from collections.abc import Iterator, Sequence

from nmt_core.base.errors import DocumentError
from nmt_core.documents.messages import check_length
from nmt_core.documents.pieces import Piece, TextDocument, Type, Written, make_parts
from nmt_core.documents.units import Unit, UnitFile
from nmt_core.documents.xml_pieces import (
    COMMENT,
    XmlPiece,
    decode_xml,
    find_end,
    join_raw,
    scan_xml,
    split_text,
    write_xml,
)

STRINGS = ("string", "item")
KEPT = ("style", "integer-array", "declare-styleable")
"""Elements whose items are no strings."""

SPACE = re.compile(r"((?<!\\)\\[nt]|\A\s*\"|(?<!\\)\"\s*\Z)")
"""Space that is written, and quotes around all of a string, which keep the space in it."""

ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))|(\")", re.DOTALL)
SIGNS = {"n": "\n", "t": "\t"}
CODES = {sign: code for code, sign in SIGNS.items()}
TO_ESCAPE = re.compile(r"""[\\'"\n\t]|\A[@?]""")


def read_android_strings(data: bytes) -> UnitFile:
    """Read a file of strings; those with ``translatable="false"``, and references, stay.

    Raises:
        DocumentError: if it is no such file, or has too long a string.
    """
    file = decode_xml(data)
    pieces = scan_xml(file.text)
    root = next(piece for piece in pieces if piece.name not in ("", COMMENT))
    if root.name != "resources":
        raise DocumentError("this document has no <resources>; give a strings.xml of Android")
    return UnitFile([*_read_units(pieces)], file.encode)


def _read_units(pieces: Sequence[XmlPiece]) -> Iterator[str | Unit]:
    at = 0
    while at < len(pieces):
        piece, end = pieces[at], at + 1
        if piece.type is Type.OPEN and _is_kept(piece):
            end = find_end(pieces, at)
        elif piece.type is Type.OPEN and piece.name in STRINGS:
            end = find_end(pieces, at)
            yield piece.raw
            yield _make_unit(pieces[at + 1 : end - 1])
            yield pieces[end - 1].raw
            at = end
            continue
        yield join_raw(pieces[at:end])
        at = end


def _is_kept(piece: XmlPiece) -> bool:
    """Tell whether an element holds nothing to translate."""
    given = piece.attributes
    is_string = given.get("type", "string") == "string"
    return piece.name in KEPT or given.get("translatable") == "false" or not is_string


def _make_unit(pieces: Sequence[XmlPiece]) -> Unit:
    raw = join_raw(pieces)
    check_length(raw)
    is_reference = raw.lstrip().startswith(("@", "?"))
    text = TextDocument([] if is_reference else make_parts([*_read_inline(pieces)], _escape))
    return Unit(raw, [text], lambda translation: translation.texts[0])


def _read_inline(pieces: Sequence[XmlPiece]) -> Iterator[Piece]:
    """Yield the pieces of a string; what stands in ``xliff:g`` is a point."""
    at = 0
    while at < len(pieces):
        piece, end = pieces[at], at + 1
        if piece.type is Type.TEXT:
            yield from _read_text(piece)
        elif piece.type is Type.OPEN and piece.prefix:
            end = find_end(pieces, at)
            yield Piece(Type.POINT, join_raw(pieces[at:end]))
        else:
            yield Piece(piece.type, piece.raw, name=piece.name)
        at = end


def _read_text(piece: XmlPiece) -> Iterator[Piece]:
    r"""Yield a text in parts: what ``\n`` or ``\t`` parts is not one sentence."""
    if "<![CDATA[" in piece.raw:
        yield Piece(Type.TEXT, piece.raw, _unescape(piece.text))
        return
    for number, part in enumerate(SPACE.split(piece.raw)):
        if number % 2:
            yield Piece(Type.WALL, part)
        else:
            for each in split_text(XmlPiece(Type.TEXT, part, html.unescape(part))):
                each.text = _unescape(each.text)
                yield each


def _unescape(text: str) -> str:
    def read(match: re.Match[str]) -> str:
        code, sign, quote = match.groups()
        return "" if quote else chr(int(code, 16)) if code else SIGNS.get(sign, sign)

    return ESCAPED.sub(read, text)


def _escape(_: str, written: Sequence[Written]) -> list[str]:
    return [
        part.text if part.mark else write_xml(TO_ESCAPE.sub(_escape_sign, part.text))
        for part in written
    ]


def _escape_sign(match: re.Match[str]) -> str:
    return "\\" + CODES.get(match[0], match[0])

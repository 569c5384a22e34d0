"""Plurals of apps for Apple's systems, ``.stringsdict``: a property list in XML.

https://developer.apple.com/documentation/xcode/localizing-strings-that-contain-plurals
"""

import re
from collections.abc import Iterator, Sequence

from nmt_core.base.errors import DocumentError
from nmt_core.documents.apple_strings import read_value
from nmt_core.documents.pieces import Type
from nmt_core.documents.units import Unit, UnitFile
from nmt_core.documents.xml_pieces import (
    XmlPiece,
    decode_xml,
    find_end,
    join_raw,
    scan_xml,
    write_xml,
)

DOCUMENT_TYPE = re.compile(
    r"""(?P<before>\ufeff?\s*(?:<\?xml[^<>]*>)?\s*)"""
    r"""(?P<type><!DOCTYPE\s+plist\s+PUBLIC\s+"[^"<>]*"\s+"[^"<>]*"\s*>)"""
)
"""That of every property list, which defines no entity."""

KEPT = ("NSStringFormatSpecTypeKey", "NSStringFormatValueTypeKey")
"""Keys whose strings are of the format and not of the language."""


def read_apple_plurals(data: bytes) -> UnitFile:
    """Read a file of plurals; all strings are translated but those of the format.

    Raises:
        DocumentError: if it is no such file, or has too long a string.
    """
    file = decode_xml(data)
    text = file.text
    if found := DOCUMENT_TYPE.match(text):  # lines keep their numbers
        text = found["before"] + re.sub(r"\S", " ", found["type"]) + text[found.end() :]
    pieces = scan_xml(text)
    root = next((n for n, piece in enumerate(pieces) if piece.name == "plist"), None)
    if root is None:
        raise DocumentError("this document has no <plist>; give a .stringsdict of Xcode")
    head = file.text[: len(join_raw(pieces[:root]))]
    return UnitFile([head, *_read_units(pieces[root:])], file.encode)


def _read_units(pieces: Sequence[XmlPiece]) -> Iterator[str | Unit]:
    key, at = "", 0
    while at < len(pieces):
        piece, end = pieces[at], at + 1
        if piece.type is Type.OPEN and piece.name in ("key", "string"):
            end = find_end(pieces, at)
            inner = pieces[at + 1 : end - 1]
            if piece.name == "key":
                key = "".join(part.text for part in inner)
            elif key not in KEPT and [part.type for part in inner] == [Type.TEXT]:
                yield piece.raw
                yield read_value(inner[0].raw, inner[0].text, write_xml)
                at = end - 1
                continue
        yield join_raw(pieces[at:end])
        at = end

"""Messages within XML: HTML that stands escaped or in CDATA sections, and choices of ICU.

The text of XML is decoded, read as any other message, and encoded again. Inline elements of XML
stand in it as characters that XML does not have.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from nmt_core.documents.messages import parse_message
from nmt_core.documents.pieces import (
    Group,
    Output,
    Piece,
    Role,
    Segment,
    join_raw,
    make_parts,
)
from nmt_core.documents.xml_pieces import CDATA, NO_XML, write_xml

CODE = re.compile("\uffff([0-9]+)\uffff")
"""The number of an inline element, between characters that XML forbids."""

CDATA_END = "]]>"


def read_embedded(pieces: Sequence[Piece]) -> Group | None:
    """Read a message that is the content of an element.

    Args:
        pieces: texts, decoded, and inline elements.

    Returns:
        The message; None if it stays as it is.
    """
    elements = [piece for piece in pieces if not piece.is_text]
    codes = [f"\uffff{number}\uffff" for number in range(len(elements))]
    following = iter(codes)
    text = "".join([piece.text if piece.is_text else next(following) for piece in pieces])
    parsed = parse_message(text, lambda text: [Piece(Role.TEXT, text, text)])
    if parsed is None:
        return None
    stand_ins = [replace(element, raw=code) for element, code in zip(elements, codes, strict=True)]
    parts = make_parts([*_cut_codes(parsed[0], stand_ins)], parsed[1])
    raws = [element.raw for element in elements]
    return Group([*parts], partial(_encode, raw=join_raw(pieces), text=text, codes=raws))


def _cut_codes(pieces: Sequence[Piece], elements: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the pieces of a message, with inline elements as pieces of their own."""
    for piece in pieces:
        if piece.role is not Role.TEXT:
            if any(
                isinstance(part, Segment) and CODE.search(part.passage.text) for part in piece.parts
            ):
                piece.parts = ()
            yield piece
            continue
        cuts = zip(CODE.split(piece.raw), CODE.split(piece.text), strict=True)
        for number, (raw, text) in enumerate(cuts):
            yield elements[int(raw)] if number % 2 else Piece(Role.TEXT, raw, text)


def _encode(output: Output, raw: str, text: str, codes: Sequence[str]) -> str:
    """Write a message with its inline elements into XML; unchanged, it stays as it was."""
    if output.raw == text:
        return raw
    encode = _write_cdata if CDATA in raw else write_xml
    return "".join(
        [
            codes[int(part)] if number % 2 else encode(part)
            for number, part in enumerate(CODE.split(output.raw))
        ]
    )


def _write_cdata(text: str) -> str:
    """Return a text as a CDATA section, without characters that XML forbids."""
    written = NO_XML.sub("", text).replace(CDATA_END, f"]]{CDATA_END}{CDATA}>")
    return f"{CDATA}{written}{CDATA_END}" if written.strip() else written

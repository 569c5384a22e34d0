"""Messages within XML: HTML that stands escaped or in CDATA sections, and choices by ICU.

The text of XML is decoded, read as any other message, and encoded again. Inline elements of XML
stand in it as characters that XML does not have.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from typing_extensions import override

from nmt_core.documents.messages import parse_message
from nmt_core.documents.pieces import (
    Group,
    Part,
    Piece,
    Segment,
    Translations,
    Type,
    join_raw,
    make_parts,
    write_all,
)
from nmt_core.documents.xml_pieces import CDATA, NO_XML, write_xml

CODE = re.compile("\uffff([0-9]+)\uffff")
"""The number of an inline element, between characters that XML forbids."""

CDATA_END = "]]>"


@dataclass(frozen=True, eq=False)
class EmbeddedMessage(Group):
    """A message that is the content of an element."""

    raw: str
    """As it was written; it stays if nothing changes."""
    text: str
    """Decoded, with numbers for inline elements."""
    parts: Sequence[Part]
    codes: Sequence[str]
    """The inline elements."""

    @override
    def write(self, translations: Translations, *, plain: bool) -> str:
        written = write_all(self.parts, translations, plain=plain)
        if written == self.text:
            return self.raw
        encode = _write_cdata if CDATA in self.raw else write_xml
        return "".join(
            self.codes[int(part)] if number % 2 else encode(part)
            for number, part in enumerate(CODE.split(written))
        )


def read_embedded(pieces: Sequence[Piece]) -> EmbeddedMessage | None:
    """Read a message.

    Args:
        pieces: texts, decoded, and inline elements.

    Returns:
        The message; None if it stays as it is.
    """
    elements = [piece for piece in pieces if not piece.is_text]
    codes = [f"\uffff{number}\uffff" for number in range(len(elements))]
    following = iter(codes)
    text = "".join(piece.text if piece.is_text else next(following) for piece in pieces)
    parsed = parse_message(text, _read_plainly)
    if parsed is None:
        return None
    stand_ins = [replace(element, raw=code) for element, code in zip(elements, codes, strict=True)]
    parts = make_parts([*_cut_codes(parsed.pieces, stand_ins)], parsed.escape)
    raws = [element.raw for element in elements]
    return EmbeddedMessage(join_raw(pieces), text, [*parts], raws)


def _read_plainly(text: str) -> Iterator[Piece]:
    """Yield a text as one piece: line ends in XML are mere space."""
    yield Piece(Type.TEXT, text, text)


def _cut_codes(pieces: Sequence[Piece], elements: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the pieces of a message, with inline elements as pieces of their own."""
    for piece in pieces:
        if piece.type is not Type.TEXT:
            if any(
                isinstance(part, Segment) and CODE.search(part.passage.text) for part in piece.parts
            ):
                piece.parts = ()
            yield piece
            continue
        for number, (raw, text) in enumerate(
            zip(CODE.split(piece.raw), CODE.split(piece.text), strict=True)
        ):
            if number % 2:
                yield elements[int(raw)]
            else:
                yield Piece(Type.TEXT, raw, text)


def _write_cdata(text: str) -> str:
    """Return a text as a CDATA section, without characters that XML forbids."""
    written = NO_XML.sub("", text).replace(CDATA_END, f"]]{CDATA_END}{CDATA}>")
    return f"{CDATA}{written}{CDATA_END}" if written.strip() else written

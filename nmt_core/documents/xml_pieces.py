"""XML as pieces that together are the file, so that what is not translated stays byte for byte.

Python's parser says where each piece begins. Nothing is built into a tree, and a document type,
which could define entities, is refused.
"""

import html
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from xml.parsers import expat

from nmt_core.base.errors import DocumentError
from nmt_core.documents.html import COMMENT, MOST_TAGS, escape_value, read_value
from nmt_core.documents.messages import escape_as_source, split_tags
from nmt_core.documents.segments import (
    Group,
    Output,
    Part,
    Piece,
    Role,
    Written,
    join_raw,
    make_parts,
)

NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
DESCRIPTION = re.compile(r"""\s(?:descr|title)=(?P<value>"[^"]+"|'[^']+')""")

CDATA, CDATA_END = "<![CDATA[", "]]>"
ADJACENT = re.compile(r"(?<!\])\]\]><!\[CDATA\[(?!>)")
"""The end of a CDATA section and the beginning of the next, where they do not split ``]]>``."""

MOST_DEPTH = 256
"""Maximum elements within each other; finding the end of each takes time."""

DEEPEST_NOTE = 10
"""Maximum notes and text boxes within each other that are translated."""


@dataclass
class XmlPiece(Piece):
    """A tag, a text, or something else of a file; the name is without its prefix."""

    attributes: Mapping[str, str] = field(default_factory=dict)
    """By their names as they are written."""
    prefix: str = ""
    """Of the name, with its colon."""


def escape_xml(_: str, written: Sequence[Written]) -> list[str]:
    """Write a translation where markup stays as it is, and text is escaped."""
    return [part.text if part.tag else write_xml(part.text) for part in written]


def write_xml(text: str) -> str:
    """Return a text as XML writes it, without characters that XML forbids."""
    escaped = html.escape(NO_XML.sub("", text), quote=False)
    return escaped.replace("\r", "&#13;")  # a parser reads it as a line end otherwise


def _write_cdata(text: str) -> str:
    """Return a text as a CDATA section, without characters that XML forbids."""
    written = NO_XML.sub("", text).replace(CDATA_END, f"]]{CDATA_END}{CDATA}>")
    return f"{CDATA}{written}{CDATA_END}" if written else ""


def read_embedded(pieces: Sequence[Piece]) -> Group:
    """Return the content of an element as a message, whose text may hold markup of its own.

    If a text of the source is in a CDATA section, all text of the translation is.
    """
    raw, texts = join_raw(pieces), join_raw([piece for piece in pieces if piece.is_text])
    write = _write_cdata if CDATA in texts else write_xml
    inner: list[Piece] = []
    for piece in pieces:
        parts = split_tags(piece.text) if piece.role is Role.TEXT else ()
        inner += [replace(part, raw=write(part.raw), plain=part.raw) for part in parts] or [piece]
    segments = make_parts(inner, partial(_escape_embedded, write=write))
    return Group([*segments], partial(_join_sections, raw=raw, cut=join_raw(inner)))


def _escape_embedded(
    raw: str, written: Sequence[Written], *, write: Callable[[str], str]
) -> list[str]:
    """Write a translation with the text escaped as in its source, and for XML."""
    escaped = escape_as_source(raw, written)
    return [text if part.tag else write(text) for text, part in zip(escaped, written, strict=True)]


def _join_sections(output: Output, *, raw: str, cut: str) -> str:
    """Return a content with adjacent CDATA sections as one; unchanged, it is as it was."""
    return raw if output.raw == cut else ADJACENT.sub("", output.raw)


def set_attribute(tag: str, name: str, value: str | None) -> str:
    """Return an opening tag with an attribute of another value, or without it."""
    attribute = rf"""(?<!\s)\s+{re.escape(name)}\s*=\s*(?:"[^"]*"|'[^']*')"""
    written = "" if value is None else f' {name}="{html.escape(value)}"'
    changed, count = re.subn(attribute, lambda _: written, tag, count=1)
    if count or value is None:
        return changed
    return re.sub(r"(?<!\s)\s*/?>\Z", lambda end: written + end[0], tag, count=1)


class _Scanner:
    """Notes where each piece of a file begins."""

    def __init__(self, data: bytes) -> None:
        self.pieces: list[tuple[int, XmlPiece]] = []
        self._depth = 0
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler = lambda name, given: self._note(Role.OPEN, name, given)
        parser.EndElementHandler = lambda name: self._note(Role.CLOSE, name)
        parser.CharacterDataHandler = lambda text: self._note(Role.TEXT, text=text)
        parser.StartCdataSectionHandler = lambda: self._note(Role.TEXT)
        parser.EndCdataSectionHandler = lambda: self._note(Role.TEXT)
        parser.CommentHandler = lambda _: self._note(Role.EMPTY, COMMENT)
        parser.ProcessingInstructionHandler = lambda *_: self._note(Role.EMPTY, COMMENT)
        parser.XmlDeclHandler = lambda *_: self._note(Role.BLOCK)
        parser.DefaultHandler = lambda _: self._note(Role.BLOCK)
        parser.StartDoctypeDeclHandler = self._refuse
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.errors.messages.get(error.code, "damaged")
            raise DocumentError(
                f"line {error.lineno} of this document is not well-formed XML ({reason}); "
                f"write the file anew, or repair it there"
            ) from None

    def _refuse(self, *_: object) -> None:
        raise DocumentError(
            "this document has a document type, which may define entities; write it without"
        )

    def _note(
        self, role: Role, name: str = "", given: Mapping[str, str] | None = None, text: str = ""
    ) -> None:
        self._depth += {Role.OPEN: 1, Role.CLOSE: -1}.get(role, 0)
        if self._depth > MOST_DEPTH:
            raise DocumentError("this document nests its elements too deeply; write it anew")
        if len(self.pieces) == MOST_TAGS:
            raise DocumentError(
                f"this document has more than {MOST_TAGS:,} tags and texts; cut it into parts"
            )
        prefix, colon, local = name.rpartition(":")
        last = self.pieces[-1][1] if self.pieces else None
        if role is Role.TEXT and last is not None and last.role is Role.TEXT:
            last.text += text
            return
        piece = XmlPiece(role, "", text, local, attributes=given or {}, prefix=prefix + colon)
        self.pieces.append((self._parser.CurrentByteIndex, piece))


def scan_xml(text: str) -> list[XmlPiece]:
    """Return the pieces of a file; together they are the file.

    A comment is as an empty element. A text is one piece with its references and CDATA sections.

    Raises:
        DocumentError: if it is not well-formed, has a document type, or more pieces than
            :data:`MOST_TAGS`.
    """
    data = text.encode()
    noted = _Scanner(data).pieces
    ends = [*(start for start, _ in noted[1:]), len(data)]
    pieces: list[XmlPiece] = []
    for (start, piece), end in zip(noted, ends, strict=True):
        piece.raw = data[start:end].decode()
        if not piece.raw:  # the end of an empty element
            pieces[-1].role = Role.EMPTY
        else:
            pieces.append(piece)
    return pieces


def find_end(pieces: Sequence[XmlPiece], first: int) -> int:
    """Return the number of the piece after an element, or another piece, that begins at one."""
    depth = 0
    for number in range(first, len(pieces)):
        depth += {Role.OPEN: 1, Role.CLOSE: -1}.get(pieces[number].role, 0)
        if depth <= 0:
            return number + 1
    return len(pieces)


def find_children(pieces: Sequence[XmlPiece], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield where each child of an element begins and ends; texts are children, too."""
    at = first + 1
    while at < last - 1:
        end = find_end(pieces, at)
        yield at, end
        at = end


def read_elements(
    pieces: Sequence[XmlPiece],
    is_wanted: Callable[[XmlPiece], bool],
    read: Callable[[Sequence[XmlPiece]], Iterator[Part]],
    kept: Container[str] = (),
    described: str = "",
) -> Iterator[Part]:
    """Yield the parts of a file: of elements what is read of their content, and all else.

    Args:
        pieces: of whole elements.
        is_wanted: tells by its tag whether an element is read.
        read: reads its content.
        kept: names of elements in which none is read.
        described: the name of elements that describe a picture in their attributes.
    """
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        is_kept = piece.role is Role.OPEN and piece.name in kept
        if is_kept or (piece.role is Role.OPEN and is_wanted(piece)):
            end = find_end(pieces, at)
            yield piece.raw
            inner = pieces[at + 1 : end - 1]
            yield from [join_raw(inner)] if is_kept else read(inner)
            yield pieces[end - 1].raw
            at = end
        else:
            yield from _read_descriptions(piece) if piece.name == described else [piece.raw]
            at += 1


def _read_descriptions(tag: XmlPiece) -> Iterator[Part]:
    start = 0
    for match in DESCRIPTION.finditer(tag.raw):
        yield tag.raw[start : match.start("value")]
        yield from make_parts([read_value(match["value"])], _escape_value)
        start = match.end("value")
    yield tag.raw[start:]


def _escape_value(raw: str, written: Sequence[Written]) -> list[str]:
    return [NO_XML.sub("", text) for text in escape_value(raw, written)]

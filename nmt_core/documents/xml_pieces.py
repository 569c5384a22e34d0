"""Split XML into pieces, so that text that is not translated stays identical, byte for byte.

Python's parser locates the pieces. No tree is serialized, and a DOCTYPE, which could define
entities, is rejected.
"""

import html
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from xml.parsers import expat

from nmt_core.base.errors import DocumentError
from nmt_core.documents.html import COMMENT, MAX_TAGS, escape_value, read_value
from nmt_core.documents.messages import escape_as_source, split_tags
from nmt_core.documents.segments import (
    Group,
    Part,
    Piece,
    Role,
    Written,
    join_raw,
    keep_unchanged,
    make_parts,
)

NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
DESCRIPTION = re.compile(r"""\s(?:descr|title)=(?P<value>"[^"]+"|'[^']+')""")

CDATA, CDATA_END = "<![CDATA[", "]]>"
ADJACENT = re.compile(r"(?<!\])\]\]><!\[CDATA\[(?!>)")
"""The end of a CDATA section and the beginning of the next, unless they split ``]]>``."""

MAX_DEPTH = 256
"""Maximum depth of nested elements, to bound the time."""

MAX_NOTE_DEPTH = 10
"""Maximum depth of nested notes and text boxes that are translated."""


@dataclass
class XmlPiece(Piece):
    """An element, a text, or other markup of a file.

    The role of an element is OPEN or, without content, EMPTY. Its ``raw`` is its opening tag, and
    its name has no prefix.
    """

    attributes: Mapping[str, str] = field(default_factory=dict)
    """Values of attributes, by name with prefix."""
    prefix: str = ""
    """Prefix of the name, with a colon."""
    children: "list[XmlPiece]" = field(default_factory=list)
    end: str = ""
    """The closing tag."""

    @property
    def whole(self) -> str:
        """The source text of the element with its content."""
        text = self.raw
        for child in self.children:  # one stack frame per level, because elements may be deep
            text += child.whole
        return text + self.end

    def walk(self) -> "Iterator[XmlPiece]":
        """Yield the piece and all of its descendants, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


def join_whole(pieces: Iterable[XmlPiece]) -> str:
    """Return the source text of pieces with their content."""
    return "".join([piece.whole for piece in pieces])


def read_text_of(pieces: Iterable[XmlPiece]) -> str:
    """Return the text of pieces and their descendants."""
    return "".join([each.text for piece in pieces for each in piece.walk()])


def write_xml(text: str) -> str:
    """Return a text escaped for XML, without forbidden characters."""
    escaped = html.escape(NO_XML.sub("", text), quote=False)
    return escaped.replace("\r", "&#13;")  # otherwise, a parser reads a newline


def _write_cdata(text: str) -> str:
    """Return a text as a CDATA section, without forbidden characters."""
    written = NO_XML.sub("", text).replace(CDATA_END, f"]]{CDATA_END}{CDATA}>")
    return f"{CDATA}{written}{CDATA_END}" if written else ""


def read_embedded(pieces: Sequence[Piece]) -> Group:
    """Return the content of an element as a message, whose text may contain escaped markup.

    If the source has a CDATA section, all text of the translation is in CDATA sections.
    """
    raw, texts = join_raw(pieces), join_raw([piece for piece in pieces if piece.is_text])
    write = _write_cdata if CDATA in texts else write_xml
    inner: list[Piece] = []
    for piece in pieces:
        tags = split_tags(piece.text) if piece.role is Role.TEXT else ()
        inner += [replace(each, raw=write(each.raw)) for each in tags] or [piece]

    def escape(raw: str, written: Sequence[Written]) -> list[str]:
        """Return the parts of a translation, escaped as in the source, and for XML."""
        source = raw if write is _write_cdata else html.unescape(raw)
        parts = zip(escape_as_source(source, written), written, strict=True)
        return [text if part.tag else write(text) for text, part in parts]

    parts = [*make_parts(inner, escape)]
    return keep_unchanged(parts, raw, join_raw(inner), partial(ADJACENT.sub, ""))


def set_attribute(tag: str, name: str, value: str | None) -> str:
    """Return an opening tag with a new value of an attribute; None removes the attribute."""
    attribute = rf"""(?<!\s)\s+{re.escape(name)}\s*=\s*(?:"[^"]*"|'[^']*')"""
    written = "" if value is None else f' {name}="{html.escape(value)}"'
    changed, count = re.subn(attribute, lambda _: written, tag, count=1)
    if count or value is None:
        return changed
    return re.sub(r"(?<!\s)\s*/?>\Z", lambda end: written + end[0], tag, count=1)


class _Scanner:
    """Records the start of each piece of a file."""

    def __init__(self, data: bytes) -> None:
        self.pieces: list[tuple[int, XmlPiece]] = []
        self._depth = 0
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler = lambda name, attrs: self._record(Role.OPEN, name, attrs)
        parser.EndElementHandler = lambda name: self._record(Role.CLOSE, name)
        parser.CharacterDataHandler = lambda text: self._record(Role.TEXT, text=text)
        parser.StartCdataSectionHandler = lambda: self._record(Role.TEXT)
        parser.EndCdataSectionHandler = lambda: self._record(Role.TEXT)
        parser.CommentHandler = lambda _: self._record(Role.EMPTY, COMMENT)
        parser.ProcessingInstructionHandler = lambda *_: self._record(Role.EMPTY, COMMENT)
        parser.XmlDeclHandler = lambda *_: self._record(Role.BLOCK)
        parser.DefaultHandler = lambda _: self._record(Role.BLOCK)
        parser.StartDoctypeDeclHandler = self._refuse
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.errors.messages.get(error.code, "damaged")
            raise DocumentError(
                f"line {error.lineno} of this document is not well-formed XML ({reason}); "
                f"save the file again, or correct this line"
            ) from None

    def _refuse(self, *_: object) -> None:
        raise DocumentError("this document has a DOCTYPE, which may define entities; remove it")

    def _record(
        self, role: Role, name: str = "", attrs: Mapping[str, str] | None = None, text: str = ""
    ) -> None:
        self._depth += {Role.OPEN: 1, Role.CLOSE: -1}.get(role, 0)
        if self._depth > MAX_DEPTH:
            raise DocumentError("this document nests its elements too deeply; simplify it")
        if len(self.pieces) == MAX_TAGS:
            raise DocumentError(
                f"this document has more than {MAX_TAGS:,} tags and texts; split it"
            )
        prefix, colon, local = name.rpartition(":")
        last = self.pieces[-1][1] if self.pieces else None
        if role is Role.TEXT and last is not None and last.role is Role.TEXT:
            last.text += text
            return
        piece = XmlPiece(role, "", text, local, attributes=attrs or {}, prefix=prefix + colon)
        self.pieces.append((self._parser.CurrentByteIndex, piece))


def scan_xml(text: str) -> list[XmlPiece]:
    """Return the pieces of a file; joined, they are the file.

    A comment is an empty element. A text with references and CDATA sections is one piece.

    Raises:
        DocumentError: if the file is not well-formed, has a DOCTYPE, or more than ``MAX_TAGS``
            pieces.
    """
    data = text.encode()
    recorded = _Scanner(data).pieces
    ends = [*(start for start, _ in recorded[1:]), len(data)]
    contents: list[list[XmlPiece]] = [[]]  # of the file, and of each open element
    for (start, piece), end in zip(recorded, ends, strict=True):
        piece.raw = data[start:end].decode()
        if piece.role is not Role.CLOSE:
            contents[-1].append(piece)
            if piece.role is Role.OPEN:
                contents.append(piece.children)
            continue
        contents.pop()
        element = contents[-1][-1]
        element.end = piece.raw
        if not piece.raw:  # a self-closing tag
            element.role = Role.EMPTY
    return contents[0]


def read_elements(
    pieces: Sequence[XmlPiece],
    is_read: Callable[[XmlPiece], bool],
    read: Callable[[Sequence[XmlPiece]], Iterable[Part]],
    kept: Container[str] = (),
    described: str = "",
) -> Iterator[Part]:
    """Yield the parts of a file; ``read`` returns the parts of the content of some elements.

    Elements in ``kept`` are not searched. ``described`` is the name of an element whose attributes
    describe a picture.
    """
    for piece in pieces:
        yield from _read_descriptions(piece) if piece.name == described else [piece.raw]
        if piece.role is not Role.OPEN:
            continue
        if piece.name in kept:
            yield join_whole(piece.children)
        elif is_read(piece):
            yield from read(piece.children)
        else:
            yield from read_elements(piece.children, is_read, read, kept, described)
        yield piece.end


def _read_descriptions(tag: XmlPiece) -> Iterator[Part]:
    start = 0
    for match in DESCRIPTION.finditer(tag.raw):
        yield tag.raw[start : match.start("value")]
        yield from make_parts([read_value(match["value"])], _escape_value)
        start = match.end("value")
    yield tag.raw[start:]


def _escape_value(raw: str, written: Sequence[Written]) -> list[str]:
    return [NO_XML.sub("", text) for text in escape_value(raw, written)]

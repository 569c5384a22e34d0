"""XML as pieces that together are the file, so that what is not translated stays byte for byte.

Python's parser says where each piece begins. Nothing is built into a tree, and a document type,
which could define entities, is refused.
"""

import html
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from xml.parsers import expat

from nmt_core.base.errors import DocumentError
from nmt_core.documents.html import COMMENT, MOST_TAGS, escape_value, read_value
from nmt_core.documents.messages import escape_as_source, split_tags
from nmt_core.documents.segments import (
    Group,
    Part,
    Piece,
    Role,
    Translations,
    Written,
    join_raw,
    make_parts,
    write_parts,
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
    """An element, a text, or something else of a file.

    The name of an element is without its prefix, its role is OPEN or, without content, EMPTY, and
    ``raw`` is its opening tag.
    """

    attributes: Mapping[str, str] = field(default_factory=dict)
    """By their names as they are written."""
    prefix: str = ""
    """Of the name, with its colon."""
    children: "list[XmlPiece]" = field(default_factory=list)
    end: str = ""
    """The closing tag."""

    @property
    def whole(self) -> str:
        """The element as it was written, with its content."""
        text = self.raw
        for child in self.children:  # one frame a level: elements may be deep
            text += child.whole
        return text + self.end

    def walk(self) -> "Iterator[XmlPiece]":
        """Yield this and all that it holds, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


def join_whole(pieces: Iterable[XmlPiece]) -> str:
    """Return pieces as they were written."""
    return "".join([piece.whole for piece in pieces])


def read_text_of(pieces: Iterable[XmlPiece]) -> str:
    """Return the text of pieces and of all that they hold."""
    return "".join([each.text for piece in pieces for each in piece.walk()])


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
        cut = split_tags(piece.text) if piece.role is Role.TEXT else ()
        inner += [replace(each, raw=write(each.raw), plain=each.raw) for each in cut] or [piece]
    parts = [*make_parts(inner, partial(_escape_embedded, write=write))]
    return keep_unchanged(parts, raw, join_raw(inner), partial(ADJACENT.sub, ""))


def keep_unchanged(
    parts: Sequence[Part], raw: str, cut: str, finish: Callable[[str], str] = str
) -> Group:
    """Return parts that stay ``raw`` unless they differ from ``cut``, and are finished then."""

    def write(translations: Translations) -> str:
        """Return the parts as they are written."""
        written = write_parts(parts, translations).raw
        return raw if written == cut else finish(written)

    return Group(parts, write)


def _escape_embedded(
    raw: str, written: Sequence[Written], *, write: Callable[[str], str]
) -> list[str]:
    """Write a translation with the text escaped as in its source, and for XML."""
    escaped = escape_as_source(raw, written)
    return [text if part.tag else write(text) for text, part in zip(escaped, written, strict=True)]


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
            ``MOST_TAGS``.
    """
    data = text.encode()
    noted = _Scanner(data).pieces
    ends = [*(start for start, _ in noted[1:]), len(data)]
    contents: list[list[XmlPiece]] = [[]]  # of the file, and of each open element
    for (start, piece), end in zip(noted, ends, strict=True):
        piece.raw = data[start:end].decode()
        if piece.role is not Role.CLOSE:
            contents[-1].append(piece)
            if piece.role is Role.OPEN:
                contents.append(piece.children)
            continue
        contents.pop()
        element = contents[-1][-1]
        element.end = piece.raw
        if not piece.raw:  # it was written as an empty one
            element.role = Role.EMPTY
    return contents[0]


def read_elements(
    pieces: Sequence[XmlPiece],
    is_wanted: Callable[[XmlPiece], bool],
    read: Callable[[Sequence[XmlPiece]], Iterable[Part]],
    kept: Container[str] = (),
    described: str = "",
) -> Iterator[Part]:
    """Yield the parts of a file: what is read of the content of wanted elements, and all else.

    None is read in elements of the names that are kept; those of the name that is described have
    descriptions of a picture in their attributes.
    """
    for piece in pieces:
        yield from _read_descriptions(piece) if piece.name == described else [piece.raw]
        if piece.role is not Role.OPEN:
            continue
        if piece.name in kept:
            yield join_whole(piece.children)
        elif is_wanted(piece):
            yield from read(piece.children)
        else:
            yield from read_elements(piece.children, is_wanted, read, kept, described)
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

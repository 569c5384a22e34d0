"""OpenDocument texts (.odt) and books (.epub).

In a text, paragraphs, headings, notes, text boxes and descriptions of pictures are translated; in a
book, pages, titles and tables of contents.
"""

import re
from collections.abc import Iterator, Sequence

from nmt_core.base.errors import DocumentError
from nmt_core.documents.archive import ArchiveKind, read_archive, read_archived
from nmt_core.documents.document import Document, LanguageMarks
from nmt_core.documents.html import split_html
from nmt_core.documents.segments import Part, Piece, Role, escape_by, make_parts
from nmt_core.documents.xml_pieces import (
    MAX_NOTE_DEPTH,
    XmlPiece,
    read_elements,
    read_embedded,
    read_text_of,
    scan_xml,
    write_xml,
)
from nmt_core.text.language_codes import LanguageCodes

TEXT = ArchiveKind(
    "OpenDocument text", ".odt", re.compile(r"(?:content|styles)\.xml"), required="content.xml"
)
PREFIX = "text:"
PARAGRAPHS = ("p", "h")
DESCRIPTIONS = ("title", "desc")
"""Elements with the description of a picture."""

PAIRS = ("span", "a", "meta")
BREAKS = ("line-break", "tab")
KEPT = ("tracked-changes", "annotation", "ruby", "bibliography-mark")
"""Elements whose paragraphs are not translated: deleted text, comments, and the like."""

RANGE = re.compile(r"(?P<kind>bookmark|change|[a-z-]+-mark)-(?P<side>start|end)")
NAMES = ("text:name", "text:id", "text:change-id")
"""The ends of a range, such as a bookmark or a change, and the attributes that both ends share."""

BOOK = ArchiveKind(
    "book",
    ".epub",
    re.compile(r"\A.*\.(?:xhtml|html|htm|ncx|opf)|META-INF/encryption\.xml", re.IGNORECASE),
    required="META-INF/container.xml",
)
ENCRYPTION = "META-INF/encryption.xml"
PACKAGE = ".opf"
TITLES, LANGUAGE = ("title", "description"), "language"
"""The suffix of the package file with a book's metadata, and its elements."""


def read_open_document(data: bytes, _: LanguageCodes | None = None) -> Document[bytes]:
    """Return an OpenDocument text."""
    files = read_archive(data, TEXT)
    return read_archived(data, files, lambda _, text: _read_paragraphs(scan_xml(text)))


def _read_paragraphs(pieces: Sequence[XmlPiece], depth: int = 0) -> Iterator[Part]:
    """Return the parts of elements that may contain paragraphs; ``depth`` counts outer notes."""

    def read(content: Sequence[XmlPiece]) -> Iterator[Part]:
        return make_parts([*_read_inline(content, depth)], escape_by(write_xml))

    return read_elements(pieces, _is_paragraph, read, KEPT)


def _is_paragraph(piece: XmlPiece) -> bool:
    is_description = piece.prefix == "svg:" and piece.name in DESCRIPTIONS
    return is_description or (piece.prefix == PREFIX and piece.name in PARAGRAPHS)


def _read_inline(pieces: Sequence[XmlPiece], depth: int) -> Iterator[Piece]:
    """Yield the pieces of a paragraph; notes and frames are empty tags with paragraphs inside."""
    for piece in pieces:
        name = piece.name if piece.prefix == PREFIX else ""
        if piece.role is Role.TEXT:
            yield piece
        elif name in PAIRS and piece.role is Role.OPEN:
            yield Piece(Role.OPEN, piece.raw, name=name)
            yield from _read_inline(piece.children, depth)
            yield Piece(Role.CLOSE, piece.end, name=name)
        elif name in BREAKS:
            yield Piece(Role.BLOCK, piece.whole)
        elif side := RANGE.fullmatch(name):
            key = " ".join([side["kind"], *(piece.attributes.get(name, "") for name in NAMES)])
            role = Role.OPEN if side["side"] == "start" else Role.CLOSE
            yield Piece(role, piece.whole, name=key)
        else:
            is_read = depth < MAX_NOTE_DEPTH and any(map(_is_paragraph, piece.walk()))
            parts = [*_read_paragraphs([piece], depth + 1)] if is_read else []
            yield Piece(Role.EMPTY, piece.whole, parts=parts)


def read_book(data: bytes, codes: LanguageCodes | None) -> Document[bytes]:
    """Return a book; the target language replaces the source language in its metadata."""
    files = read_archive(data, BOOK)
    encryption = files.pop(ENCRYPTION, b"")
    if any(name.rpartition("/")[2].encode() in encryption for name in files):
        raise DocumentError("this book is encrypted; use one without digital rights management")
    marks = LanguageMarks(codes)

    def read(name: str, text: str) -> Iterator[Part]:
        if not name.lower().endswith(PACKAGE):
            return split_html(text, marks)  # also the table of contents, which may have a DOCTYPE
        pieces = scan_xml(text)
        for element in (each for piece in pieces for each in piece.walk()):
            is_source = element.name == LANGUAGE and marks.is_source(read_text_of([element]))
            if codes and is_source:
                element.children[0].raw = codes[1]
        return read_elements(pieces, lambda tag: tag.name in TITLES, _read_title)

    return read_archived(data, files, read, marks.untranslated)


def _read_title(pieces: Sequence[XmlPiece]) -> list[Part]:
    inner = [piece if piece.is_text else Piece(Role.EMPTY, piece.whole) for piece in pieces]
    return [read_embedded(inner)]

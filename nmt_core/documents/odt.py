"""OpenDocument texts (.odt): paragraphs, headings, notes, text boxes, descriptions of pictures."""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from nmt_core.documents.archive import ArchiveKind, read_archive, read_archived
from nmt_core.documents.document import FileDocument, TextDocument
from nmt_core.documents.pieces import Part, Piece, Role, join_raw, make_parts
from nmt_core.documents.xml_pieces import (
    DEEPEST_NOTE,
    XmlPiece,
    escape_xml,
    find_end,
    read_elements,
    scan_xml,
)
from nmt_core.text.language_codes import LanguageCodes

TEXT = ArchiveKind(
    "OpenDocument text", ".odt", re.compile(r"(?:content|styles)\.xml"), needed="content.xml"
)
PARAGRAPHS = ("p", "h")
DESCRIPTIONS = ("title", "desc")
"""Elements that describe a picture."""

PAIRS = ("span", "a", "meta")
WALLS = ("line-break", "tab")
KEPT = ("tracked-changes", "annotation", "ruby", "bibliography-mark")
"""Elements whose paragraphs are not translated: what was deleted, and remarks."""

RANGE = re.compile(r"(?P<kind>bookmark|change|[a-z-]+-mark)-(?P<side>start|end)")
NAMES = ("text:name", "text:id", "text:change-id")
"""What a range in a text is, as a bookmark or a change, and what its two ends have in common."""

PREFIX = "text:"


def read_open_document(data: bytes, _: LanguageCodes | None = None) -> FileDocument:
    """Read a text.

    Raises:
        DocumentError: see :func:`read_archive`.
    """
    return read_archived(data, read_archive(data, TEXT), _read_content)


def _read_content(_: str, text: str) -> TextDocument:
    return TextDocument(_read_paragraphs(scan_xml(text)))


def _read_paragraphs(pieces: Sequence[XmlPiece], depth: int = 0) -> Iterator[Part]:
    """Yield the parts of what may hold paragraphs, and stands within some notes."""
    read = partial(_read_paragraph, depth=depth)
    yield from read_elements(pieces, _is_paragraph, read, KEPT)


def _is_paragraph(piece: XmlPiece) -> bool:
    is_description = piece.prefix == "svg:" and piece.name in DESCRIPTIONS
    return is_description or (piece.prefix == PREFIX and piece.name in PARAGRAPHS)


def _read_paragraph(pieces: Sequence[XmlPiece], depth: int) -> Iterator[Part]:
    yield from make_parts(_pair_ranges([*_read_inline(pieces, depth)]), escape_xml)


def _pair_ranges(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Make pairs of the ends of those ranges in which all else is nested; return all pieces."""
    opened: list[Piece] = []
    for piece in pieces:
        if piece.role is Role.BLOCK:
            opened.clear()
        elif piece.role is Role.CLOSE:
            while opened and opened.pop().role is not Role.OPEN:
                pass
        elif piece.role is Role.OPEN or (piece.name and piece.raw.split()[0].endswith("-start")):
            opened.append(piece)
        elif piece.name and opened and opened[-1].name == piece.name:
            opened.pop().role, piece.role = Role.OPEN, Role.CLOSE
    return pieces


def _name_range(piece: XmlPiece) -> str:
    """Return the same for both ends of a range, and nothing for all else."""
    found = RANGE.fullmatch(piece.name) if piece.prefix == PREFIX else None
    names = [piece.attributes.get(name, "") for name in NAMES]
    return " ".join([found["kind"], *names]) if found else ""


def _read_inline(pieces: Sequence[XmlPiece], depth: int) -> Iterator[Piece]:
    """Yield the pieces of a paragraph; notes and frames are points that hold others."""
    at = 0
    while at < len(pieces):
        piece, end = pieces[at], at + 1
        is_pair = piece.prefix == PREFIX and piece.name in PAIRS
        if piece.role in {Role.TEXT, Role.CLOSE} or (is_pair and piece.role is Role.OPEN):
            yield piece
        elif piece.prefix == PREFIX and piece.name in WALLS:
            yield Piece(Role.BLOCK, piece.raw)
        else:
            end = find_end(pieces, at)
            inner = pieces[at:end]
            is_read = depth < DEEPEST_NOTE and any(map(_is_paragraph, inner))
            parts = [*_read_paragraphs(inner, depth + 1)] if is_read else []
            yield Piece(Role.EMPTY, join_raw(inner), name=_name_range(piece), parts=parts)
        at = end

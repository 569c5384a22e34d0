"""Books (.epub): their pages, titles and tables of contents are translated."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from nmt_core.base.errors import DocumentError
from nmt_core.documents.archive import ArchiveKind, read_archive, read_archived
from nmt_core.documents.document import FileDocument, TextDocument
from nmt_core.documents.embedded import read_embedded
from nmt_core.documents.html import read_html
from nmt_core.documents.pieces import Part, Role, join_raw
from nmt_core.documents.xml_pieces import (
    XmlPiece,
    read_elements,
    scan_xml,
)
from nmt_core.text.language_codes import LanguageCodes, pick_code

BOOK = ArchiveKind(
    "book",
    ".epub",
    re.compile(r"\A.*\.(?:xhtml|html|htm|ncx|opf)|META-INF/encryption\.xml", re.IGNORECASE),
    needed="META-INF/container.xml",
)
ENCRYPTION = "META-INF/encryption.xml"
PACKAGE = ".opf"
TITLES, LANGUAGE = ("title", "description"), "language"
"""The file that says what is in the book, and its elements."""


def read_book(data: bytes, codes: LanguageCodes | None) -> FileDocument:
    """Read a book; the target takes the place of the source among its languages.

    Raises:
        DocumentError: see :func:`read_archive`.
    """
    files = read_archive(data, BOOK)
    hidden = files.pop(ENCRYPTION, b"")
    if any(name.rpartition("/")[2].encode() in hidden for name in files):
        raise DocumentError("this book is encrypted; give one without digital rights management")
    return read_archived(data, files, partial(_read_file, codes=codes))


def _read_file(name: str, text: str, *, codes: LanguageCodes | None) -> TextDocument:
    if not name.lower().endswith(PACKAGE):
        return read_html(text, codes)  # a table of contents, too, which may have a document type
    pieces = scan_xml(text)
    for tag, inner in pairwise(pieces):
        is_language = tag.role is Role.OPEN and tag.name == LANGUAGE
        if codes and is_language and pick_code([inner.text], codes[0]) is not None:
            inner.raw = codes[1]
    return TextDocument(read_elements(pieces, lambda tag: tag.name in TITLES, _read_title))


def _read_title(pieces: Sequence[XmlPiece]) -> Iterator[Part]:
    message = read_embedded(pieces)
    yield from [message] if message else [join_raw(pieces)]

"""Formats of documents by name: each is a file that reads it, and a line here.

This file imports none of them: names of files are checked before anything is translated.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.base.registry import Registry
from nmt_core.documents.encodings import read_text_file

if TYPE_CHECKING:
    from nmt_core.documents.document import Document
    from nmt_core.text.language_codes import LanguageCodes


class Format(NamedTuple):
    """A format of documents.

    Captions, each a line after a time, in a module ``captions`` that another package offers by an
    entry point of ``nmt.formats``, ``captions = captions:CAPTIONS``::

        CAPTIONS = Format((".cap",), "text/plain", "captions:read_captions")

        def read_captions(text):
            pieces = []
            for line in text.splitlines(keepends=True):
                time, space, words = line.partition(" ")
                pieces.append(Piece(Role.BLOCK, time + space))
                pieces.append(Piece(Role.TEXT, words, words))
            return TextDocument(make_parts(pieces, write_plainly))
    """

    suffixes: tuple[str, ...]
    """Of the names of its files."""
    mime_type: str
    reader: str
    """``module:function`` of the reader, which raises DocumentError for a damaged document."""
    is_text: bool = True
    """Whether the reader takes text; otherwise it takes bytes, and the codes of source and target
    or None."""
    takes_encoding: bool = True
    """Whether the user may name the encoding of a file that does not name its own."""

    def read(self, data: bytes, codes: "LanguageCodes | None" = None) -> "Document[bytes]":
        """Read a document; the codes are of source and target, if they are known.

        Raises:
            DocumentError: if it cannot be read, or is in other languages.
        """
        read = resolve_name(self.reader)
        document: Document[bytes] = (
            read_text_file(data, read) if self.is_text else read(data, codes)
        )
        return document


def _describe(
    suffixes: str, mime_type: str, reader: str, *, is_text: bool = False, encoding: bool = False
) -> Format:
    """Return a format that a module of this package reads."""
    reader = f"nmt_core.documents.{reader}"
    return Format((*suffixes.split(),), mime_type, reader, is_text, is_text or encoding)


OFFICE = "application/vnd.openxmlformats-officedocument"
SHEETS, SLIDES = f"{OFFICE}.spreadsheetml.sheet", f"{OFFICE}.presentationml.presentation"
TEXTS, OPEN_TEXTS = f"{OFFICE}.wordprocessingml.document", "application/vnd.oasis.opendocument.text"
XLIFF = ".xlf .xliff .sdlxliff .mqxliff .mxliff"

FORMATS = Registry(
    "a format",
    "nmt.formats",
    {
        "text": _describe(".txt", "text/plain", "plain_text:read_plain_text", is_text=True),
        "html": _describe(".html .htm .xhtml", "text/html", "html:read_html_file", encoding=True),
        "markdown": _describe(
            ".md .markdown", "text/markdown", "markdown:read_markdown", is_text=True
        ),
        "subtitles": _describe(".srt .vtt", "text/plain", "subtitles:read_subtitles", is_text=True),
        "po": _describe(".po", "text/x-gettext-translation", "catalogues:read_po_file"),
        "xliff": _describe(XLIFF, "application/xliff+xml", "xliff:read_xliff_file"),
        "json": _describe(".json", "application/json", "catalogues:read_json_strings"),
        "arb": _describe(".arb", "application/json", "catalogues:read_arb"),
        "xlsx": _describe(".xlsx", SHEETS, "ooxml:read_workbook"),
        "pptx": _describe(".pptx", SLIDES, "ooxml:read_presentation"),
        "odt": _describe(".odt", OPEN_TEXTS, "open_formats:read_open_document"),
        "epub": _describe(".epub", "application/epub+zip", "open_formats:read_book"),
        "docx": _describe(".docx", TEXTS, "docx:read_word_document"),
    },
)
"""The formats of documents by name."""


def list_suffixes() -> list[str]:
    """Return the endings of documents' names."""
    return [suffix for name in FORMATS for suffix in FORMATS.load(name).suffixes]


def find_format(name: str) -> str:
    """Return the format of a file by the end of its name.

    Raises:
        DocumentError: if no format has that ending.
    """
    for kind in FORMATS:
        if name.lower().endswith(FORMATS.load(kind).suffixes):
            return kind
    raise DocumentError(
        f"{name} is not in a format that can be translated; its name must end in "
        f"{', '.join(list_suffixes())}"
    )

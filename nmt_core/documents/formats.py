"""Formats of documents by name: each is a file that reads it, and a line here.

This file imports none of them: the names of files are looked at before anything is translated.
"""

from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.base.registry import Registry
from nmt_core.documents.encodings import Encoded, decode_text

if TYPE_CHECKING:
    from nmt_core.documents.passage import Item, Passage
    from nmt_core.documents.pieces import TextDocument
    from nmt_core.documents.plan import Document
    from nmt_core.documents.untranslated import Untranslated

REVIEW_BELOW = 0.5
"""The confidence below which a person must look at a unit, unless another one is set."""


class Format(NamedTuple):
    """A format of documents.

    Captions, each a line after a time, in a module ``captions`` that another package offers by an
    entry point of ``nmt.formats``, ``captions = captions:CAPTIONS``::

        CAPTIONS = Format((".cap",), "text/plain", "captions:read_captions")

        def read_captions(text):
            pieces = []
            for line in text.splitlines(keepends=True):
                time, space, words = line.partition(" ")
                pieces += [Piece(Type.WALL, time + space), Piece(Type.TEXT, words, words)]
            return TextDocument(make_parts(pieces, write_plainly))
    """

    suffixes: tuple[str, ...]
    """Of the names of its files."""
    mime_type: str
    reader: str
    """The reader, ``module:thing``; it takes text, and raises DocumentError on a wrong one."""
    binary: bool = False
    """Whether it is given bytes, as they are no text in UTF-8."""
    takes_encoding: bool = False
    """Whether somebody may say in which encoding a file is, which does not say so itself."""
    names_languages: bool = False
    """Whether its files name their languages: its reader is given bytes, too, and the codes of
    source and target, or None if nobody knows them."""

    def read(self, data: bytes, codes: tuple[str, str] | None = None) -> "Document[bytes]":
        """Read a document.

        Args:
            data: the file.
            codes: of source and target, if they are known.

        Raises:
            DocumentError: if it cannot be read, or is of other languages.
        """
        read = resolve_name(self.reader)
        if self.names_languages:
            named: Document[bytes] = read(data, codes)
            return named
        if self.binary:
            document: Document[bytes] = read(data)
            return document
        return read_text_file(data, read)


class TextFile(NamedTuple):
    """A document of text that is written as bytes."""

    document: "TextDocument"
    encoded: Encoded
    """As it was read."""

    @property
    def passages(self) -> "Sequence[Passage]":
        """The passages to translate."""
        return self.document.passages

    @property
    def untranslated(self) -> "Untranslated":
        """How many texts stay as they are."""
        return self.document.untranslated

    def write(self, translations: "Sequence[tuple[Item, ...]]") -> bytes:
        """Return the document with translations of its passages, at most once."""
        return self.encoded.encode(self.document.write(translations))


def read_text_file(data: bytes, read: "Callable[[str], TextDocument]") -> TextFile:
    """Read a document of text.

    Args:
        data: the file.
        read: reads its text, without a byte order mark.

    Raises:
        DocumentError: if it is not in UTF-8 or UTF-16, or ``read`` does.
    """
    encoded = decode_text(data)
    return TextFile(read(encoded.text), encoded)


FORMATS = Registry(
    "a format",
    "nmt.formats",
    {
        "text": Format(
            (".txt",),
            "text/plain",
            "nmt_core.documents.plain_text:read_plain_text",
            takes_encoding=True,
        ),
        "html": Format(
            (".html", ".htm", ".xhtml"),
            "text/html",
            "nmt_core.documents.html:read_html_file",
            takes_encoding=True,
            names_languages=True,
        ),
        "markdown": Format(
            (".md", ".markdown"),
            "text/markdown",
            "nmt_core.documents.markdown:read_markdown",
            takes_encoding=True,
        ),
        "subtitles": Format(
            (".srt", ".vtt"),
            "text/plain",
            "nmt_core.documents.subtitles:read_subtitles",
            takes_encoding=True,
        ),
        "po": Format(
            (".po",),
            "text/x-gettext-translation",
            "nmt_core.documents.gettext:read_po_file",
            names_languages=True,
        ),
        "xliff": Format(
            (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff"),
            "application/xliff+xml",
            "nmt_core.documents.xliff:read_xliff_file",
            names_languages=True,
        ),
        "json": Format(
            (".json",),
            "application/json",
            "nmt_core.documents.json_strings:read_json_strings",
            names_languages=True,
        ),
        "arb": Format(
            (".arb",),
            "application/json",
            "nmt_core.documents.json_strings:read_arb",
            names_languages=True,
        ),
        "xlsx": Format(
            (".xlsx",),
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "nmt_core.documents.xlsx:read_workbook",
            binary=True,
        ),
        "pptx": Format(
            (".pptx",),
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            "nmt_core.documents.pptx:read_presentation",
            binary=True,
        ),
        "odt": Format(
            (".odt",),
            "application/vnd.oasis.opendocument.text",
            "nmt_core.documents.odt:read_open_document",
            binary=True,
        ),
        "epub": Format(
            (".epub",),
            "application/epub+zip",
            "nmt_core.documents.epub:read_book",
            names_languages=True,
        ),
        "docx": Format(
            (".docx",),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "nmt_core.documents.docx:WordDocument",
            names_languages=True,
        ),
    },
)
"""The formats of documents by name."""


def list_suffixes() -> list[str]:
    """Return the endings of documents' names."""
    return [suffix for name in FORMATS for suffix in FORMATS.load(name).suffixes]


def find_format(name: str) -> str:
    """Return the format of a file by the end of its name.

    Raises:
        DocumentError: if it is of none that is translated.
    """
    for known in FORMATS:
        if name.lower().endswith(FORMATS.load(known).suffixes):
            return known
    raise DocumentError(
        f"{name} is of no kind that is translated; its name must end in "
        f"{', '.join(list_suffixes())}"
    )

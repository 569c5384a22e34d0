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
    """True if the user may name the encoding of a file that does not name its own."""
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
        """Number of texts that stay untranslated, by reason."""
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


def _describe(suffixes: str, mime_type: str, reader: str, **flags: bool) -> Format:
    """Return a format that a module of this package reads."""
    return Format((*suffixes.split(),), mime_type, f"nmt_core.documents.{reader}", **flags)


TEXT, CODED, BINARY = ({name: True} for name in ("takes_encoding", "names_languages", "binary"))
XLIFF = ".xlf .xliff .sdlxliff .mqxliff .mxliff"
OFFICE = "application/vnd.openxmlformats-officedocument."

FORMATS = Registry(
    "a format",
    "nmt.formats",
    {
        "text": _describe(".txt", "text/plain", "plain_text:read_plain_text", **TEXT),
        "html": _describe(".html .htm .xhtml", "text/html", "html:read_html_file", **TEXT, **CODED),
        "markdown": _describe(".md .markdown", "text/markdown", "markdown:read_markdown", **TEXT),
        "subtitles": _describe(".srt .vtt", "text/plain", "subtitles:read_subtitles", **TEXT),
        "po": _describe(".po", "text/x-gettext-translation", "gettext:read_po_file", **CODED),
        "xliff": _describe(XLIFF, "application/xliff+xml", "xliff:read_xliff_file", **CODED),
        "json": _describe(".json", "application/json", "json_strings:read_json_strings", **CODED),
        "arb": _describe(".arb", "application/json", "json_strings:read_arb", **CODED),
        "xlsx": _describe(".xlsx", f"{OFFICE}spreadsheetml.sheet", "xlsx:read_workbook", **BINARY),
        "pptx": _describe(
            ".pptx", f"{OFFICE}presentationml.presentation", "pptx:read_presentation", **BINARY
        ),
        "odt": _describe(
            ".odt", "application/vnd.oasis.opendocument.text", "odt:read_open_document", **BINARY
        ),
        "epub": _describe(".epub", "application/epub+zip", "epub:read_book", **CODED),
        "docx": _describe(
            ".docx", f"{OFFICE}wordprocessingml.document", "docx:WordDocument", **CODED
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

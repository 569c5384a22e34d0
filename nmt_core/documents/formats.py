"""Formats of documents by name, and the translation of files.

A format is a module that reads it, and a line here. This module imports none of them: names of
files are checked before anything is translated.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

from nmt_core.base import files
from nmt_core.base.errors import DocumentError
from nmt_core.base.registry import Registry
from nmt_core.documents.document import Document, Untranslated, decode_text, recode
from nmt_core.documents.plan import DocumentTranslator
from nmt_core.documents.review import TranslatedSegment
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
            return make_document(make_parts(pieces, write_plainly))
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

    def read(self, data: bytes, codes: LanguageCodes | None = None) -> Document[bytes]:
        """Read a document; the codes are of source and target, if they are known.

        Raises:
            DocumentError: if it cannot be read, or is in other languages.
        """
        read = resolve_name(self.reader)
        document: Document[bytes]
        if self.is_text:
            encoded = decode_text(data)
            document = read(encoded.text).encode_as(encoded.encode)
        else:
            document = read(data, codes)
        return document


OFFICE = "application/vnd.openxmlformats-officedocument"
SHEETS, SLIDES = f"{OFFICE}.spreadsheetml.sheet", f"{OFFICE}.presentationml.presentation"
TEXTS, OPEN_TEXTS = f"{OFFICE}.wordprocessingml.document", "application/vnd.oasis.opendocument.text"
XLIFF = ".xlf .xliff .sdlxliff .mqxliff .mxliff"

OWN = {
    "text": (".txt", "text/plain", "plain_text:read_plain_text"),
    "html": (".html .htm .xhtml", "text/html", "html:read_html_file"),
    "markdown": (".md .markdown", "text/markdown", "markdown:read_markdown"),
    "subtitles": (".srt .vtt", "text/plain", "plain_text:read_subtitles"),
    "po": (".po", "text/x-gettext-translation", "catalogues:read_po_file"),
    "xliff": (XLIFF, "application/xliff+xml", "xliff:read_xliff_file"),
    "json": (".json", "application/json", "catalogues:read_json_strings"),
    "arb": (".arb", "application/json", "catalogues:read_arb"),
    "xlsx": (".xlsx", SHEETS, "ooxml:read_workbook"),
    "pptx": (".pptx", SLIDES, "ooxml:read_presentation"),
    "odt": (".odt", OPEN_TEXTS, "open_formats:read_open_document"),
    "epub": (".epub", "application/epub+zip", "open_formats:read_book"),
    "docx": (".docx", TEXTS, "docx:read_word_document"),
}
"""The formats that modules of this package read: endings of names, type, and reader."""

OF_TEXT = ("text", "markdown", "subtitles")

FORMATS = Registry(
    "a format",
    "nmt.formats",
    {
        name: Format(
            (*suffixes.split(),),
            mime_type,
            f"nmt_core.documents.{reader}",
            is_text=name in OF_TEXT,
            takes_encoding=name in (*OF_TEXT, "html"),
        )
        for name, (suffixes, mime_type, reader) in OWN.items()
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


MOST_DOCUMENT_BYTES = 2**25
"""Maximum bytes of a document; a longer one must be cut into parts."""


class TranslatedDocument(NamedTuple):
    """A document, translated."""

    path: Path | None
    """The file that it was written to, if it was."""
    data: bytes
    untranslated: Untranslated
    """Number of texts that stay untranslated, by reason."""
    segments: Sequence[TranslatedSegment] = ()
    """Sentences with their translations."""


def translate_data(
    data: bytes, kind: str, translator: DocumentTranslator, encoding: str | None = None
) -> TranslatedDocument:
    """Translate a document of a kind of ``FORMATS``.

    The encoding is None if the document names its own, or is in UTF-8. One that does not name it
    is written in UTF-8 with a byte order mark.

    Raises:
        DocumentError: if it is too long, or cannot be read.
    """
    if len(data) > MOST_DOCUMENT_BYTES:
        raise DocumentError(
            f"this document has {len(data):,} bytes, more than "
            f"{MOST_DOCUMENT_BYTES:,}; cut it into parts"
        )
    format_ = FORMATS.load(kind)
    if encoding and not format_.takes_encoding:
        raise DocumentError(f"--encoding is not for {kind}, which names its encoding; leave it out")
    document = format_.read(recode(data, encoding) if encoding else data, translator.codes)
    plan, translations = translator.translate_passages(document.passages)
    written = plan.write(document, translations, translator.review_below)
    segments = [*zip(plan.lines, translations, strict=True)]
    return TranslatedDocument(None, written, document.untranslated, segments)


def refuse_unwritable(path: Path, *, force: bool = False) -> None:
    """Refuse a file that cannot be written, before anything is translated for it.

    Raises:
        DocumentError: if it exists and ``force`` is not given, or its folder is not writable.
    """
    if path.exists() and not (force and path.is_file()):
        raise DocumentError(
            f"{path} is there already; overwrite it by --force, or give another name by --output"
        )
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise DocumentError(f"{path} cannot be written; name another by --output")


def translate_file(
    path: Path,
    out: Path,
    translator: DocumentTranslator,
    kind: str | None = None,
    *,
    encoding: str | None = None,
    force: bool = False,
) -> TranslatedDocument:
    """Translate a file into another one, which appears whole or not at all.

    ``kind`` is their format; None if their names say it. ``force`` overwrites the other one.

    Raises:
        DocumentError: if the file cannot be read, or ``out`` exists or cannot be written.
    """
    kind = kind or find_format(path.name)
    refuse_unwritable(out, force=force)
    if not path.is_file():
        raise DocumentError(f"{path} is not a file; give the name of a file")
    try:
        translated = translate_data(path.read_bytes(), kind, translator, encoding)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from None
    with files.whole_file(out) as part:
        part.write_bytes(translated.data)
    return translated._replace(path=out)

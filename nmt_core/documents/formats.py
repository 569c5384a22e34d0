"""Formats of documents by name, and the translation of files.

Each format has a reader in its own module and an entry here. Readers are imported only when they
are needed.
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

    Another package may add a format by an entry point in ``nmt.formats``, such as ``captions =
    captions:CAPTIONS`` for lines with a time and a caption::

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
    """Suffixes of its file names."""
    mime_type: str
    reader: str
    """The reader as ``module:function``; it raises a DocumentError for a damaged document."""
    is_text: bool = True
    """Whether the reader takes text; otherwise it takes bytes and the codes of source and target,
    or None."""
    takes_encoding: bool = True
    """Whether users may set the encoding of files."""

    def read(self, data: bytes, codes: LanguageCodes | None = None) -> Document[bytes]:
        """Return a document; ``codes`` are those of source and target, if they are known.

        Raises:
            DocumentError: if the document cannot be read, or is in other languages.
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

BUILTIN = {
    "text": (".txt", "text/plain", "plain_text:read_plain_text"),
    "html": (".html .htm .xhtml", "text/html", "html:read_html_file"),
    "markdown": (".md .markdown", "text/markdown", "markdown:read_markdown"),
    "subtitles": (".srt .vtt", "text/plain", "plain_text:read_subtitles"),
    "po": (".po", "text/x-gettext-translation", "catalogues:read_po_file"),
    "xliff": (XLIFF, "application/xliff+xml", "xliff:read_xliff_file"),
    "json": (".json .arb", "application/json", "catalogues:read_json_strings"),
    "xlsx": (".xlsx", SHEETS, "ooxml:read_workbook"),
    "pptx": (".pptx", SLIDES, "ooxml:read_presentation"),
    "odt": (".odt", OPEN_TEXTS, "open_formats:read_open_document"),
    "epub": (".epub", "application/epub+zip", "open_formats:read_book"),
    "docx": (".docx", TEXTS, "docx:read_word_document"),
}
"""Built-in formats: suffixes, MIME type, and reader."""

TEXT_FORMATS = ("text", "markdown", "subtitles")

FORMATS = Registry(
    "a format",
    "nmt.formats",
    {
        name: Format(
            (*suffixes.split(),),
            mime_type,
            f"nmt_core.documents.{reader}",
            is_text=name in TEXT_FORMATS,
            takes_encoding=name in (*TEXT_FORMATS, "html"),
        )
        for name, (suffixes, mime_type, reader) in BUILTIN.items()
    },
)
"""The formats of documents by name."""


def list_suffixes() -> list[str]:
    """Return the suffixes of all formats."""
    return [suffix for name in FORMATS for suffix in FORMATS.load(name).suffixes]


def find_format(name: str) -> str:
    """Return the name of the format of a file by its suffix.

    Raises:
        DocumentError: if no format has this suffix.
    """
    for kind in FORMATS:
        if name.lower().endswith(FORMATS.load(kind).suffixes):
            return kind
    raise DocumentError(
        f"{name} is not in a format that can be translated; its name must end in "
        f"{', '.join(list_suffixes())}"
    )


MAX_DOCUMENT_BYTES = 2**25
"""Maximum size of a document, in bytes."""


class TranslatedDocument(NamedTuple):
    """A translated document."""

    path: Path | None
    """The written file, if any."""
    data: bytes
    untranslated: Untranslated
    """Number of texts that are not translated, by reason."""
    segments: Sequence[TranslatedSegment] = ()
    """Sentences with their translations."""


def read_document(
    data: bytes, kind: str, encoding: str | None = None, codes: LanguageCodes | None = None
) -> Document[bytes]:
    """Return the parsed document; see ``translate_data``."""
    if len(data) > MAX_DOCUMENT_BYTES:
        raise DocumentError(
            f"this document has {len(data):,} bytes, more than {MAX_DOCUMENT_BYTES:,}; split it"
        )
    format_ = FORMATS.load(kind)
    if encoding and not format_.takes_encoding:
        raise DocumentError(f"{kind} declares its encoding; remove --encoding")
    return format_.read(recode(data, encoding) if encoding else data, codes)


def translate_data(
    data: bytes, kind: str, translator: DocumentTranslator, encoding: str | None = None
) -> TranslatedDocument:
    """Translate a document in the format ``kind`` of ``FORMATS``.

    ``encoding`` is None if the document declares its encoding or is in UTF-8. Otherwise, the
    translation is in UTF-8 with a byte order mark.

    Raises:
        DocumentError: if the document is too large, or cannot be read.
    """
    document = read_document(data, kind, encoding, translator.codes)
    plan, translations = translator.translate_passages(document.passages)
    written = plan.write(document, translations, translator.review_below)
    segments = [*zip(plan.lines, translations, strict=True)]
    return TranslatedDocument(None, written, document.untranslated, segments)


def refuse_unwritable(path: Path, *, force: bool = False) -> None:
    """Check, before translating, that a file can be written.

    Raises:
        DocumentError: if the file exists and ``force`` is false, or its folder is not writable.
    """
    if path.exists() and not (force and path.is_file()):
        raise DocumentError(
            f"{path} already exists; overwrite it with --force, or set another name with --output"
        )
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise DocumentError(f"{path} cannot be written; set another path with --output")


def translate_file(
    path: Path,
    out: Path,
    translator: DocumentTranslator,
    kind: str | None = None,
    *,
    encoding: str | None = None,
    force: bool = False,
) -> TranslatedDocument:
    """Translate a file, and write the translation atomically to ``out``.

    ``kind`` is the format; None determines it by the suffix. ``force`` overwrites ``out``.

    Raises:
        DocumentError: if the file cannot be read, or ``out`` exists or cannot be written.
    """
    kind = kind or find_format(path.name)
    refuse_unwritable(out, force=force)
    if not path.is_file():
        raise DocumentError(f"{path} is not a file; set the path of a file")
    try:
        translated = translate_data(path.read_bytes(), kind, translator, encoding)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from None
    with files.whole_file(out) as part:
        part.write_bytes(translated.data)
    return translated._replace(path=out)

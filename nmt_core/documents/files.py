"""Translate files of documents, and name the translations."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_core.base import files
from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import Untranslated
from nmt_core.documents.encodings import recode
from nmt_core.documents.formats import FORMATS, find_format
from nmt_core.documents.plan import DocumentTranslator
from nmt_core.documents.review import TranslatedSegment

MOST_DOCUMENT_BYTES = 2**25
"""Maximum bytes of a document; a longer one must be cut into parts."""


def name_translation(path: Path, target: str) -> Path:
    """Name the translation of a file into a language: ``letter.en.docx`` for ``letter.docx``."""
    return path.with_name(f"{path.stem}.{target}{path.suffix}")


class TranslatedDocument(NamedTuple):
    """A document, translated."""

    path: Path | None
    """The file that it was written to, if it was."""
    data: bytes
    untranslated: Untranslated
    """Number of texts that stay untranslated, by reason."""
    segments: Sequence[TranslatedSegment] = ()
    """Its sentences with their translations."""


def translate_data(
    data: bytes, kind: str, translator: DocumentTranslator, encoding: str | None = None
) -> TranslatedDocument:
    """Translate a document.

    Args:
        data: the document.
        kind: name of its format.
        translator: translates documents.
        encoding: of the document; None if it names its own, or is in UTF-8. A document that does
            not name its own is written in UTF-8 with a byte order mark.

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
    segments = [*map(TranslatedSegment, plan.lines, translations)]
    return TranslatedDocument(None, written, document.untranslated, segments)


def write_document(path: Path, data: bytes, *, force: bool = False) -> None:
    """Write a document that appears whole or not at all.

    Raises:
        DocumentError: if the file exists and ``force`` is not given, or cannot be written.
    """
    refuse_unwritable(path, force=force)
    with files.whole_file(path) as part:
        part.write_bytes(data)


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

    Args:
        path: the file.
        out: the other one, which is overwritten if ``force`` is given.
        translator: translates documents.
        kind: name of their format; None if their names say it.
        encoding: see :func:`translate_data`.
        force: overwrite the other one.

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
    write_document(out, translated.data, force=force)
    return translated._replace(path=out)

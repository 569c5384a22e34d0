"""Translate files of documents, and name the translations."""

import os
from pathlib import Path
from typing import NamedTuple

from nmt_core.base import files
from nmt_core.base.errors import DocumentError
from nmt_core.documents.formats import FORMATS, find_format
from nmt_core.documents.translator import DocumentTranslator
from nmt_core.documents.units import count_left

MOST_DOCUMENT_BYTES = 2**25
"""Bytes of a document; a longer one must be translated in parts."""


def name_translation(path: Path, target: str) -> Path:
    """Name the translation of a file: ``letter.en.docx`` for ``letter.docx``.

    Args:
        path: the file.
        target: code of the language it is translated to.
    """
    return path.with_name(f"{path.stem}.{target}{path.suffix}")


class TranslatedDocument(NamedTuple):
    """A document, translated."""

    data: bytes
    left: int
    """Messages that stay as they are, for the choices in them are not read."""


def translate_document(
    data: bytes, kind: str, translator: DocumentTranslator
) -> TranslatedDocument:
    """Translate a document.

    Args:
        data: the document.
        kind: name of its format.
        translator: translates documents.

    Raises:
        DocumentError: if it is too long, or cannot be read.
    """
    if len(data) > MOST_DOCUMENT_BYTES:
        raise DocumentError(
            f"this document has {len(data):,} bytes, more than "
            f"{MOST_DOCUMENT_BYTES:,}; cut it in parts"
        )
    document = FORMATS.load(kind).read(data, translator.codes)
    return TranslatedDocument(translator.translate(document), count_left(document))


def write_document(path: Path, data: bytes) -> None:
    """Write a document that appears whole or not at all.

    Raises:
        DocumentError: if there is such a file already.
    """
    refuse_present(path)
    with files.whole_file(path) as part:
        part.write_bytes(data)


def refuse_present(path: Path) -> None:
    """Refuse to write over a file.

    Raises:
        DocumentError: if it is there.
    """
    if path.exists():
        raise DocumentError(f"{path} is there already; remove it, or give another name by --output")


def refuse_unwritable(path: Path) -> None:
    """Refuse a file that cannot be written, before what is to stand there has taken its time.

    Raises:
        DocumentError: if it is there, or its folder takes no files.
    """
    refuse_present(path)
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise DocumentError(f"{path} cannot be written; name another by --output")


def translate_file(
    path: Path, out: Path, translator: DocumentTranslator, kind: str | None = None
) -> int:
    """Translate a file into another one, which appears whole or not at all.

    Returns:
        How many messages stay as they are, for the choices in them are not read.

    Args:
        path: the file.
        out: the other one.
        translator: translates documents.
        kind: name of their format; None if their names say it.

    Raises:
        DocumentError: if the file cannot be read, or ``out`` is there already or cannot be written.
    """
    kind = kind or find_format(path.name)
    refuse_unwritable(out)
    if not path.is_file():
        raise DocumentError(f"{path} is no file; give the name of one that is there")
    try:
        translated = translate_document(path.read_bytes(), kind, translator)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from None
    write_document(out, translated.data)
    return translated.left

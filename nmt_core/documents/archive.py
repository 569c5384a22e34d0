"""Documents that are archives: those of their files that hold text are read, the others copied."""

import io
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import partial
from typing import NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import Document, Encoded, Untranslated, decode_declared
from nmt_core.documents.segments import Part

MOST_BYTES, MOST_TEXT_BYTES, MOST_FILES = 2**28, 2**25, 10_000
"""Unpacked, of a document, of those of its files that hold text together, and of its files."""

MACROS = re.compile(r"vbaProject\.bin$|vbaData\.xml$", re.IGNORECASE)
"""Names of files that hold macros."""


class ArchiveKind(NamedTuple):
    """What a kind of documents is, and which of its files hold text."""

    noun: str
    suffix: str
    texts: re.Pattern[str]
    """Matches their names."""
    needed: str = ""
    """The name of a file that all such documents have; without it, one with text is enough."""


def read_archive(data: bytes, kind: ArchiveKind) -> dict[str, bytes]:
    """Return the files of a document that hold text, by their names.

    Raises:
        DocumentError: if it is of another kind, has macros, is encrypted, or unpacks to too much.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check(archive, kind)
            return {
                file.filename: archive.read(file)
                for file in archive.infolist()
                if kind.texts.fullmatch(file.filename)
            }
    except (zipfile.BadZipFile, EOFError, RuntimeError, ValueError, zlib.error) as error:
        raise DocumentError(
            f"this is no {kind.suffix} document, or a damaged one ({error}); "
            f"save it anew as {kind.suffix}"
        ) from None


def _check(archive: zipfile.ZipFile, kind: ArchiveKind) -> None:
    files = archive.infolist()
    names = {file.filename for file in files}
    if not (kind.needed in names if kind.needed else any(map(kind.texts.fullmatch, names))):
        raise DocumentError(f"this archive holds no {kind.noun}; give a {kind.suffix} file")
    if any(map(MACROS.search, names)):
        raise DocumentError(f"this document holds macros; save it as {kind.suffix} without them")
    if any(file.flag_bits & 1 for file in files):
        raise DocumentError("this document is encrypted; save it without a password")
    if {file.compress_type for file in files} - {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise DocumentError(
            f"this document is compressed by an unusual method; save it anew as {kind.suffix}"
        )
    sizes = [(file.file_size, kind.texts.fullmatch(file.filename)) for file in files]
    for count, most, what in (
        (len(files), MOST_FILES, "files"),
        (sum(size for size, _ in sizes), MOST_BYTES, "bytes"),
        (sum(size for size, is_text in sizes if is_text), MOST_TEXT_BYTES, "bytes of text"),
    ):
        if count > most:
            raise DocumentError(
                f"this document unpacks to {count:,} {what}, more than {most:,}; cut it into parts"
            )
    if damaged := archive.testzip():
        raise zipfile.BadZipFile(f"of its files {damaged!r} is damaged")


def read_archived(
    data: bytes,
    files: Mapping[str, bytes],
    read: Callable[[str, str], Iterable[Part]],
    untranslated: Untranslated | None = None,
) -> Document[bytes]:
    """Read a document whose files of text are edited in their own text.

    ``read`` returns the parts of a file by its name and its text, and may count ``untranslated``.

    Raises:
        DocumentError: naming the one that cannot be read.
    """
    texts = {name: decode_declared(file) for name, file in files.items()}
    parts = {}
    for name, text in texts.items():
        try:
            parts[name] = [*read(name, text.text)]
        except DocumentError as error:
            raise DocumentError(f"{name} in this document: {error}") from None
    return Document(parts, partial(_write_archive, data, texts), untranslated)


def _write_archive(data: bytes, texts: Mapping[str, Encoded], written: Mapping[str, str]) -> bytes:
    """Return a document with other texts; its other files are copied and never held whole."""
    result = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as before,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for file in before.infolist():
            text = written.get(file.filename)
            if text is not None and text != texts[file.filename].text:
                archive.writestr(file, texts[file.filename].encode(text))
            else:
                with before.open(file) as source, archive.open(copy(file), "w") as target:
                    shutil.copyfileobj(source, target)
    return result.getvalue()

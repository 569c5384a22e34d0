"""Read and write documents that are zip archives; files without text are copied."""

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

MAX_BYTES, MAX_TEXT_BYTES, MAX_FILES = 2**28, 2**25, 10_000
"""Maximum unpacked size of a document, total size of its files with text, and number of files."""

MACROS = re.compile(r"vbaProject\.bin$|vbaData\.xml$", re.IGNORECASE)
"""Names of files with macros."""


class ArchiveKind(NamedTuple):
    """A document format that is an archive."""

    noun: str
    suffix: str
    texts: re.Pattern[str]
    """Matches the names of files with text."""
    required: str = ""
    """Name of a file that all such documents have; if empty, a file with text is required."""


def read_archive(data: bytes, kind: ArchiveKind) -> dict[str, bytes]:
    """Return the files of a document with text, by name.

    Raises:
        DocumentError: if the format is wrong, or the document has macros, is encrypted or too big.
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
            f"this is not a {kind.suffix} document, or it is damaged ({error}); "
            f"save it again as {kind.suffix}"
        ) from None


def _check(archive: zipfile.ZipFile, kind: ArchiveKind) -> None:
    files = archive.infolist()
    names = {file.filename for file in files}
    if not (kind.required in names if kind.required else any(map(kind.texts.fullmatch, names))):
        raise DocumentError(f"this archive contains no {kind.noun}; use a {kind.suffix} file")
    if any(map(MACROS.search, names)):
        raise DocumentError(f"this document contains macros; save it as {kind.suffix} without them")
    if any(file.flag_bits & 1 for file in files):
        raise DocumentError("this document is encrypted; save it without a password")
    if {file.compress_type for file in files} - {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise DocumentError(
            f"this document has an unusual compression method; save it again as {kind.suffix}"
        )
    sizes = [(file.file_size, kind.texts.fullmatch(file.filename)) for file in files]
    for count, limit, unit in (
        (len(files), MAX_FILES, "files"),
        (sum(size for size, _ in sizes), MAX_BYTES, "bytes"),
        (sum(size for size, is_text in sizes if is_text), MAX_TEXT_BYTES, "bytes of text"),
    ):
        if count > limit:
            raise DocumentError(
                f"this document unpacks to {count:,} {unit}, more than {limit:,}; split it"
            )
    if damaged := archive.testzip():
        raise zipfile.BadZipFile(f"its file {damaged!r} is damaged")


def read_archived(
    data: bytes,
    files: Mapping[str, bytes],
    read: Callable[[str, str], Iterable[Part]],
    untranslated: Untranslated | None = None,
) -> Document[bytes]:
    """Return a document from the content of its files with text.

    ``read`` returns the parts of a file, given its name and text, and may count ``untranslated``.

    Raises:
        DocumentError: naming the file that cannot be read.
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
    """Return a document with new texts; other files are copied in blocks."""
    result = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as original,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for file in original.infolist():
            text = written.get(file.filename)
            if text is not None and text != texts[file.filename].text:
                archive.writestr(file, texts[file.filename].encode(text))
            else:
                with original.open(file) as source, archive.open(copy(file), "w") as target:
                    shutil.copyfileobj(source, target)
    return result.getvalue()

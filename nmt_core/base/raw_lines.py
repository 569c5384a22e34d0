r"""Read the bytes and lines of text files, plain or compressed, and fix wrongly decoded text.

Supports .gz, .bz2, .xz, .zst, and a .zip with one file. Lines are split only at ``\n``, because a
reader that also splits at U+2028 or U+0085 shifts all later pairs. Lines and unpacked files have
a maximum size. File names in archives never become paths.
"""

import bz2
import gzip
import io
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from typing_extensions import Buffer

from nmt_core.base.errors import CorpusError
from nmt_core.base.files import explain_unreadable_file, require_regular_file
from nmt_core.base.packages import format_install_command

MAX_LINE_BYTES = 100_000
"""Maximum length of a line, in bytes; longer lines are never held in memory."""

BLOCK_BYTES = 1 << 20
"""Size of a block to read, in bytes."""

COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Suffixes of compressed files."""

MIN_UNPACKED_LIMIT = 1 << 28
"""Bytes that any file may unpack to, regardless of its size."""

MAX_COMPRESSION_RATIO = 200
"""Maximum unpacked bytes per compressed byte; text has less than 20, markup less than 100."""

README_PREFIXES = ("readme", "license", "licence", "copying", ".")
"""First letters of files in a .zip that describe the others, in lower case."""


class _DamagedError(Exception):
    """Compressed bytes cannot be unpacked."""


DAMAGE_ERRORS = (
    *(EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
    *(NotImplementedError, _DamagedError),
)
"""Errors that damaged compressed bytes cause."""


def read_raw_lines(path: Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    r"""Yield the lines of a file without their ``\n``; None for a line that is too long.

    Raises:
        CorpusError: if the file cannot be opened or is damaged.
    """
    with explain_damage(path), open_raw(path) as file:
        yield from read_bounded_lines(file.read1, max_line_bytes)


def read_bounded_lines(read: Callable[[int], bytes], max_bytes: int) -> Iterator[bytes | None]:
    r"""Yield lines without their ``\n``; None for a line that is too long."""
    rest = b""
    while block := read(BLOCK_BYTES):
        *lines, rest = (rest + block).split(b"\n")
        yield from [line if len(line) <= max_bytes else None for line in lines]
        rest = rest[: max_bytes + 1]  # still too long after any next block
    if rest:
        yield rest if len(rest) <= max_bytes else None


@contextmanager
def explain_damage(path: Path) -> Iterator[None]:
    """Raise a CorpusError if the block cannot read a file, or the file is damaged."""
    try:
        yield
    except DAMAGE_ERRORS as error:
        raise CorpusError(f"{path} is damaged ({error}); fetch or compress it again") from None
    except OSError as error:
        raise explain_unreadable_file(path, error) from None


def is_compressed(path: Path) -> bool:
    """Return whether a file has the suffix of a compression."""
    return path.suffix.lower() in COMPRESSED_SUFFIXES


def plain_name(path: Path) -> str:
    """Return the name of a file without the suffix of its compression."""
    return path.stem if is_compressed(path) else path.name


def open_raw(path: Path) -> io.BufferedReader:
    """Open a file, plain or compressed, to read its bytes.

    Reading raises one of ``DAMAGE_ERRORS`` if bytes are damaged, and CorpusError if the unpacked
    content is too large.

    Raises:
        CorpusError: if the path is not a regular file, a .zip does not contain exactly one file, or
            the package for .zst is missing.
    """
    require_regular_file(path)
    suffix = path.suffix.lower()
    if opener := OPENERS.get(suffix):
        return _limit_size(opener(path), path)
    if suffix != ".zip":
        return path.open("rb")
    names = list_members(path)
    if len(names) != 1:
        listed = ", ".join(names[:3]) or "no file"
        raise CorpusError(f"{path} contains {listed}; it must contain exactly one text file")
    return open_member(path, names[0])


def list_members(path: Path) -> list[str]:
    """Return the names of the files in a .zip, without readme and license files.

    Raises:
        CorpusError: if a file is encrypted.
        zipfile.BadZipFile: if the archive is damaged.
    """
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    if any(member.flag_bits & 1 for member in members):
        raise CorpusError(f"{path} is encrypted; pack it without a password")
    return [member.filename for member in members if not _is_readme(member.filename)]


def _is_readme(name: str) -> bool:
    has_prefix = PurePosixPath(name).name.lower().startswith(README_PREFIXES)
    return has_prefix or name.startswith("__MACOSX/")


def open_member(path: Path, name: str) -> io.BufferedReader:
    """Open a file in a .zip to read its bytes."""
    with zipfile.ZipFile(path) as archive:  # the open member keeps the file open
        return _limit_size(archive.open(name), path)


def _open_zst(path: Path) -> Any:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd  # rarely needed
        else:
            from backports import zstd  # optional
    except ImportError:
        command = format_install_command("backports.zstd")
        raise CorpusError(f"{path} cannot be read without backports.zstd; run: {command}") from None
    return zstd.open(path)


OPENERS: Mapping[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zst,
}


def _limit_size(content: IO[bytes], path: Path) -> io.BufferedReader:
    limit = max(MIN_UNPACKED_LIMIT, MAX_COMPRESSION_RATIO * path.stat().st_size)
    return io.BufferedReader(_LimitedReader(content, path, limit), BLOCK_BYTES)


class _LimitedReader(io.RawIOBase):
    """Reads unpacked content; raises CorpusError after more than ``limit`` bytes."""

    def __init__(self, content: IO[bytes], path: Path, limit: int) -> None:
        self._content, self._path, self._remaining = content, path, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        try:
            data = self._content.read(len(view))
        except Exception as error:
            is_bz2_error = isinstance(error, OSError) and error.errno is None
            if is_bz2_error or type(error).__name__ == "ZstdError":
                raise _DamagedError(str(error)) from None
            raise
        self._remaining -= len(data)
        if self._remaining < 0:
            raise CorpusError(
                f"{self._path} unpacks to more than {MAX_COMPRESSION_RATIO} times its size, which "
                f"is not usual for text; if you trust the file, unpack it yourself"
            )
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._content.close()
        super().close()


_MOJIBAKE = re.compile(
    "[\u00c2-\u00f4][\u0080-\u00bf\u0152-\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]"
)
"""Lead byte and continuation byte of UTF-8, read as Windows-1252."""

_UNLIKELY = re.compile("[\u0580-\u05cf\u0700-\u08ff\u2500-\U0010ffff]")
"""Characters that a correct text may decode to by chance: "ß–" to N'Ko, "é…»" to Chinese."""

_MIN_SIGNS = 3
"""Minimum number of characters beyond ASCII if one of them is unlikely."""


def fix_mojibake(text: str) -> str:
    """Undo decoding of UTF-8 as Windows-1252, once or several times: ``fÃ¼r`` becomes ``für``.

    Correct text does not change.
    """
    while not text.isascii() and _MOJIBAKE.search(text):
        try:
            fixed = b"".join(map(_encode_windows, text)).decode()
        except UnicodeError:
            break
        if _UNLIKELY.search(fixed) and sum(not sign.isascii() for sign in fixed) < _MIN_SIGNS:
            break
        text = fixed
    return text


def _encode_windows(character: str) -> bytes:
    try:
        return character.encode("cp1252")
    except UnicodeEncodeError:  # bytes that Windows-1252 does not define
        return character.encode("latin-1")

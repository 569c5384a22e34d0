r"""Read the bytes and lines of text files, plain or compressed, and decode them as UTF-8.

Read are .gz, .bz2, .xz, .zst, and a .zip with one file. Bytes are split at ``\n`` alone, because a
reader that also splits at U+2028 or U+0085 shifts every pair after it. Lines and unpacked files
have a maximum size, and nothing is written under a name that an archive gives.
"""

import bz2
import codecs
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
from typing import IO, Any, BinaryIO

from typing_extensions import Buffer

from nmt_core.base.errors import CorpusError, NmtError
from nmt_core.base.packages import advise_installing

MAX_LINE_BYTES = 100_000
"""A longer line is no sentence; it is never held in memory as a whole."""

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Endings of the names of files that are read as what is compressed in them."""

FREE_BYTES = 1 << 28
"""Bytes that any file may unpack to."""

MOST_RATIO = 200
"""Unpacked bytes for a byte of a larger file; text has less than 20, markup less than 100."""

ABOUT = ("readme", "license", "licence", "copying", ".")
"""Beginnings of the names of files, in a .zip, that are about the others."""


class _DamagedError(Exception):
    """Compressed bytes cannot be unpacked."""


DAMAGES = (
    *(EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
    *(NotImplementedError, _DamagedError),
)
"""Errors that damaged compressed bytes cause."""


def read_raw_lines(path: Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    r"""Yield the lines of a file without their ``\n``; None for one too long.

    Raises:
        CorpusError: if the file cannot be opened or is damaged.
    """
    with explain_damage(path), open_raw(path) as file:
        yield from bound_lines(file.readline, max_line_bytes)


def bound_lines(readline: Callable[[int], bytes], max_bytes: int) -> Iterator[bytes | None]:
    r"""Yield lines without their ``\n``; None for one that is too long."""
    while line := readline(max_bytes + 1):
        if len(line) <= max_bytes or line.endswith(b"\n"):
            yield line.removesuffix(b"\n")
            continue
        while line and not line.endswith(b"\n"):
            line = readline(max_bytes)
        yield None


@contextmanager
def explain_damage(path: Path) -> Iterator[None]:
    """Raise a CorpusError that says why a file cannot be read."""
    try:
        yield
    except DAMAGES as error:
        raise CorpusError(f"{path} is damaged ({error}); fetch or compress it again") from None
    except OSError as error:
        raise explain_unreadable_file(path, error) from None


def explain_unreadable_file(path: Path, error: OSError) -> CorpusError:
    """Return the error of a file that cannot be opened or read."""
    if isinstance(error, FileNotFoundError):
        return CorpusError(f"{path} does not exist; check the name and the folder")
    return CorpusError(f"{path} cannot be read: {error.strerror}")


def require_regular_file(path: Path) -> Path:
    """Return a path that is a file, or does not exist yet.

    Raises:
        CorpusError: if it is a folder, or endless: a device or a pipe.
    """
    if path.exists() and not path.is_file():
        raise CorpusError(f"{path} is not an ordinary file; name the file to read")
    return path


def is_compressed(path: Path) -> bool:
    """Tell whether the name of a file says that it is compressed."""
    return path.suffix.lower() in COMPRESSED


def plain_name(path: Path) -> str:
    """Return the name of a file without the ending of its compression."""
    return path.stem if is_compressed(path) else path.name


def open_raw(path: Path) -> BinaryIO:
    """Open a file, plain or compressed, to read its bytes.

    Reading raises one of DAMAGES on wrong bytes, and CorpusError if they unpack to too much.

    Raises:
        CorpusError: if it is not an ordinary file, a .zip does not hold one file, or the package
            for .zst is missing.
    """
    require_regular_file(path)
    suffix = path.suffix.lower()
    if opener := OPENERS.get(suffix):
        return _bound(opener(path), path)
    if suffix != ".zip":
        return path.open("rb")
    names = list_members(path)
    if len(names) != 1:
        listed = ", ".join(names[:3]) or "no file"
        raise CorpusError(f"{path} holds {listed}, needs one file; take the others out")
    return open_member(path, names[0])


def list_members(path: Path) -> list[str]:
    """Return the names of the files in a .zip, but for those that are about the others.

    Raises:
        CorpusError: if one is encrypted.
        zipfile.BadZipFile: if it is damaged.
    """
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    if any(member.flag_bits & 1 for member in members):
        raise CorpusError(f"{path} is encrypted; pack it without a password")
    return [member.filename for member in members if not _is_about(member.filename)]


def _is_about(name: str) -> bool:
    beginning = PurePosixPath(name).name.lower().startswith(ABOUT)
    return beginning or name.startswith("__MACOSX/")


def open_member(path: Path, name: str) -> BinaryIO:
    """Open a file in a .zip to read its bytes."""
    with zipfile.ZipFile(path) as archive:  # its file stays open for as long as the member is
        return _bound(archive.open(name), path)


def _open_zst(path: Path) -> Any:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd  # seldom needed
        else:
            from backports import zstd  # optional
    except ImportError:
        command = advise_installing("backports.zstd")
        raise CorpusError(f"{path} cannot be read without a package; run: {command}") from None
    return zstd.open(path)


OPENERS: Mapping[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zst,
}


def _bound(content: IO[bytes], path: Path) -> BinaryIO:
    raw = _Bounded(content, path, max(FREE_BYTES, MOST_RATIO * path.stat().st_size))
    return io.BufferedReader(raw, 1 << 18)


class _Bounded(io.RawIOBase):
    """Gives out bytes up to a bound."""

    def __init__(self, content: IO[bytes], path: Path, bound: int) -> None:
        self._content, self._path, self._left = content, path, bound

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        try:
            data = self._content.read(len(view))
        except Exception as error:
            of_bz2 = isinstance(error, OSError) and error.errno is None
            if of_bz2 or type(error).__name__ == "ZstdError":
                raise _DamagedError(str(error)) from None
            raise
        self._left -= len(data)
        if self._left < 0:
            raise CorpusError(
                f"{self._path} unpacks to more than {MOST_RATIO} times its size, which text never "
                f"does; unpack it yourself if you trust it"
            )
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._content.close()
        super().close()


BYTE_ORDER_MARK = "\ufeff"
"""Byte order mark that editors on Windows write before a text."""

UTF16 = "is not UTF-8, but looks like UTF-16; convert it by: iconv -f UTF-16 -t UTF-8 OLD > NEW"

_TWICE = re.compile(
    "[\u00c2-\u00f4][\u0080-\u00bf\u0152-\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]"
)
"""A byte that begins a character in UTF-8 and one that goes on with it, as Windows' characters."""

_UNLIKELY = re.compile("[\u0580-\u05cf\u0700-\u08ff\u2500-\U0010ffff]")
"""Characters that tell nothing where there are few: "ß–" is one of N'Ko, "é…»" of Chinese."""

_FEW = 3


def decode_utf8(
    data: bytes,
    name: object,
    *,
    line: int = 1,
    noun: str = "line",
    error: type[NmtError] = CorpusError,
    remedy: str = "convert it to UTF-8, for example by iconv",
) -> str:
    """Return the bytes of lines, of which the first has a number, as text.

    Their source ``name`` is such as the path of a file, and ``noun`` what is numbered.

    Raises:
        NmtError: naming the line and byte that are not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        if line == 1:
            refuse_utf16(data, name, error=error)
        before = data[: problem.start]
        raise error(
            f"{noun} {line + before.count(10)} of {name} is not UTF-8 "
            f"(byte {len(before) - before.rfind(10)} is 0x{data[problem.start]:02x}); {remedy}"
        ) from None


def looks_like_utf16(data: bytes) -> bool:
    """Tell whether the first line of a file begins with a mark of UTF-16, or is half NUL."""
    first = data.partition(b"\n")[0]
    marked = first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return marked or 2 * first.count(0) >= max(2, len(first) - 1)


def refuse_utf16(data: bytes, name: object, *, error: type[NmtError] = CorpusError) -> None:
    """Refuse a file whose first bytes look like UTF-16.

    Raises:
        NmtError: saying how to convert it.
    """
    if looks_like_utf16(data):
        raise error(f"{name} {UTF16}") from None


def mend_mojibake(text: str) -> str:
    """Return UTF-8 that was read as Windows-1252, such as ``fÃ¼r`` for ``für``, as it was before.

    Sound text stays as it is; what was read so several times is mended as often.
    """
    while not text.isascii() and _TWICE.search(text):
        try:
            once = b"".join(map(_encode_windows, text)).decode()
        except UnicodeError:
            break
        if _UNLIKELY.search(once) and sum(not sign.isascii() for sign in once) < _FEW:
            break
        text = once
    return text


def _encode_windows(character: str) -> bytes:
    try:
        return character.encode("cp1252")
    except UnicodeEncodeError:  # of bytes that stand for nothing there
        return character.encode("latin-1")

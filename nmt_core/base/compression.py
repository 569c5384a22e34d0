"""Open compressed files to read their bytes: .gz, .bz2, .xz, .zst, and a .zip that holds one file.

Nothing is written under a name that an archive gives, and no file unpacks without a bound.
"""

import bz2
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

from typing_extensions import Buffer

from nmt_core.base.errors import CorpusError
from nmt_core.base.packages import advise_installing

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Endings of the names of files that are read as what is compressed in them."""

FREE_BYTES = 1 << 28
"""What any file may unpack to."""

MOST_RATIO = 200
"""Unpacked bytes for a byte of a file, beyond FREE_BYTES; text has less than 20, markup less than
100."""

MOST_MEMBERS = 1000
"""Files in a .zip."""

ABOUT = ("readme", "license", "licence", "copying")
"""Beginnings of the names of files, in a .zip, that are about the others."""


class DamagedError(Exception):
    """Compressed bytes that are none."""


def is_compressed(path: Path) -> bool:
    """Tell whether the name of a file says that it is compressed."""
    return path.suffix.lower() in COMPRESSED


def plain_name(path: Path) -> str:
    """Return the name of a file without the ending of its compression."""
    return path.stem if is_compressed(path) else path.name


def open_unpacked(path: Path) -> BinaryIO:
    """Open an ordinary file to read its bytes, unpacked if it is compressed.

    Reading raises DamagedError, or what the modules of gzip, bz2 and the like raise, on wrong
    bytes; CorpusError where they unpack to too much.

    Raises:
        CorpusError: if a .zip does not hold one file, or the package for .zst is missing.
    """
    match path.suffix.lower():
        case ".gz":
            return _bound(cast("IO[bytes]", gzip.open(path)), path)
        case ".bz2":
            return _bound(bz2.open(path), path)
        case ".xz":
            return _bound(lzma.open(path), path)
        case ".zst":
            return _bound(_open_zst(path), path)
        case ".zip":
            names = list_members(path)
            if len(names) != 1:
                raise CorpusError(
                    f"{path} holds {_name_some(names)}, needs one file; take the others out"
                )
            return open_member(path, names[0])
    return path.open("rb")


def bound_size(size: int) -> int:
    """Return the most bytes that a file of a number of bytes may unpack to."""
    return max(FREE_BYTES, MOST_RATIO * size)


def list_members(path: Path) -> list[str]:
    """Return the names of the files in a .zip, but for those that are about the others.

    Raises:
        CorpusError: if there are too many, one is encrypted, or its name leads out of the archive.
        zipfile.BadZipFile: if it is damaged.
    """
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    if not all(PurePosixPath(entry.filename).name for entry in entries):
        raise zipfile.BadZipFile("a file in it has no name")
    members = [entry for entry in entries if not entry.is_dir()]
    if len(members) > MOST_MEMBERS:
        raise CorpusError(f"{path} holds {len(members):,} files, more than {MOST_MEMBERS:,}")
    for member in members:
        place = PurePosixPath(member.filename.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts:
            raise CorpusError(
                f"{path} holds {member.filename!r}, which leads out of the archive; "
                f"nothing of it is used"
            )
        if member.flag_bits & 1:
            raise CorpusError(f"{path} is encrypted; pack {member.filename!r} without a password")
    return [member.filename for member in members if not _is_about(member.filename)]


def open_member(path: Path, name: str) -> BinaryIO:
    """Open a file in a .zip to read its bytes."""
    with zipfile.ZipFile(path) as archive:  # its file stays open for as long as the member is
        return _bound(archive.open(name), path)


def read_errors() -> tuple[type[Exception], ...]:
    """Return the errors that damaged compressed bytes cause."""
    errors = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
    return (*errors, NotImplementedError, DamagedError)


def _is_about(name: str) -> bool:
    place = PurePosixPath(name)
    return (
        place.parts[0] == "__MACOSX"
        or place.name.startswith(".")
        or place.name.lower().startswith(ABOUT)
    )


def _name_some(names: list[str]) -> str:
    if len(names) > 3:  # noqa: PLR2004 - as many as fit into a sentence
        return f"{', '.join(names[:3])} and {len(names) - 3} more files"
    return " and ".join(names) or "no file"


def _open_zst(path: Path) -> IO[bytes]:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd  # seldom needed
        else:
            from backports import zstd  # optional
    except ImportError:
        command = advise_installing("backports.zstd")
        raise CorpusError(f"{path} cannot be read without a package; run: {command}") from None
    return cast("IO[bytes]", zstd.open(path))


def _bound(content: IO[bytes], path: Path) -> BinaryIO:
    raw = _Bounded(content, path, bound_size(path.stat().st_size))
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
        except OSError as error:
            if error.errno is None:  # of bz2
                raise DamagedError(str(error)) from None
            raise
        except Exception as error:
            if type(error).__name__ == "ZstdError":
                raise DamagedError(str(error)) from None
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

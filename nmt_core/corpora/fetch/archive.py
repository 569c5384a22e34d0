"""Take known files out of a tar archive, and nothing else.

The archive is read once, front to back, member by member; names, modes and owners in it are never
used to write. ``tarfile`` reads headers of any size into memory, so every byte is metered.
"""

import gzip
import shutil
import tarfile
import zlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from nmt_core.base import files
from nmt_core.base.errors import DownloadError

MAX_BYTES = 4 << 30
"""All members together; the largest language pair of EuroParl has 0.7 GB."""

MAX_MEMBERS = 1000
"""Entries in an archive; those of EuroParl have two."""

MAX_HEADER_BYTES = 1 << 20
"""Bytes between two members."""

DAMAGE = (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error)


def extract(
    archive: Path,
    names: Collection[str],
    folder: Path,
    *,
    max_bytes: int = MAX_BYTES,
    max_members: int = MAX_MEMBERS,
) -> dict[str, Path]:
    """Copy the members ``names`` of a .tgz into ``folder``; return where each is.

    Args:
        archive: tar, compressed with gzip.
        names: plain file names, found at the top of the archive.
        folder: where the files appear, each whole.
        max_bytes: unpacked size of all members, wanted or not.
        max_members: number of all members.

    Raises:
        DownloadError: if a wanted member is missing or doubled, or the archive is damaged, too
            large, or holds links, devices or names that lead out of it.
    """
    extracted: dict[str, Path] = {}
    try:
        with gzip.open(archive) as unpacked:
            metered = _Metered(unpacked, archive)
            with tarfile.open(fileobj=metered, mode="r|") as tar:  # type: ignore[call-overload]
                members = total = 0
                while (member := tar.next()) is not None:
                    tar.members = []  # it would keep every header
                    members += 1
                    total += member.size
                    _check(archive, member)
                    if members > max_members or total > max_bytes:
                        raise DownloadError(
                            f"{archive} unpacks to more than {max_members} members or "
                            f"{max_bytes} bytes; nothing of it is used"
                        )
                    metered.budget = member.size + MAX_HEADER_BYTES
                    name = str(PurePosixPath(member.name))
                    if name in extracted:
                        raise DownloadError(f"{archive} holds {name} twice; nothing of it is used")
                    if name in names and member.isreg():
                        extracted[name] = _copy(tar, member, folder / name)
            while metered.read(1 << 16):  # the checksum of gzip stands at its end
                pass
    except (*DAMAGE, ValueError, RecursionError) as error:  # some headers tarfile chokes on
        raise DownloadError(f"{archive} is damaged or no .tgz archive ({error})") from None
    missing = sorted(set(names) - set(extracted))
    if missing:
        raise DownloadError(f"{archive} does not hold {' and '.join(missing)}")
    return extracted


class _Metered:
    """Gives out bytes up to a budget, which is renewed with each member."""

    def __init__(self, file: BinaryIO | gzip.GzipFile, archive: Path) -> None:
        self._file = file
        self._archive = archive
        self.budget = MAX_HEADER_BYTES

    def read(self, size: int) -> bytes:
        read = self._file.read(size)
        self.budget -= len(read)
        if self.budget < 0:
            raise DownloadError(
                f"{self._archive} unpacks to more than it says; nothing of it is used"
            )
        return read


def _check(archive: Path, member: tarfile.TarInfo) -> None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts:
        reason = "leads out of the archive"
    elif member.issparse() or not (member.isreg() or member.isdir()):
        reason = "is no ordinary file"
    else:
        return
    raise DownloadError(f"{archive} holds {member.name!r}, which {reason}; nothing of it is used")


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> Path:
    content = tar.extractfile(member)
    assert content is not None  # it is a regular file
    with content, files.whole_file(path) as part, part.open("wb") as file:
        shutil.copyfileobj(content, file)
    return path

"""Files and folders that appear whole or not at all, and their digests."""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from nmt_core.base.errors import NmtError

READABLE = 0o644
"""Makes written files readable to all; some libraries restrict them to the user."""

OLD_SUFFIX = ".old.part"
"""Suffix of an old folder while a new one replaces it."""

DISK_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}
"""Errno values of a disk that is full or read-only."""


@contextmanager
def whole_file(path: Path, *, mode: int = READABLE) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its name when the block ends well.

    The bytes reach the disk before the name does, so a crash leaves the old file or the new one.
    Leftovers of killed processes for the same file are removed first.

    Raises:
        NmtError: if there is no room.
    """
    with _temporary_sibling(path, folder=False) as part:
        try:
            yield part
            part.chmod(mode)
            sync(part)
            part.replace(path)
            sync(path.parent)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield an empty temporary folder that replaces ``path`` when the block ends well.

    The old folder is set aside until the new one has its name. A crash between the two leaves both
    beside ``path``; the next time, the old one gets its name back before anything is written, and
    leftovers of killed processes for the same folder are removed.

    Raises:
        NmtError: if there is no room.
    """
    target = path.resolve()  # it has a name and a parent, also if the path is "." or a link
    with _temporary_sibling(target, folder=True) as part:
        part.chmod(0o755)
        try:
            yield part
            for inner in part.rglob("*"):
                if inner.is_file():
                    inner.chmod(READABLE)
                sync(inner)
            sync(part)
            with _set_aside(target, part.with_suffix(OLD_SUFFIX)):
                part.rename(target)
                sync(target.parent)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def sweep(folder: Path, name: str = ".+") -> None:
    """Remove temporary files and folders whose processes are gone, such as by SIGKILL.

    A folder that such a process set aside, and did not replace, gets its name back. ``name`` is a
    regular expression of their final names.
    """
    left = re.compile(rf"\.({name})\.[a-z0-9_]{{8}}(\.part|{re.escape(OLD_SUFFIX)})")
    for part in [*folder.iterdir()]:
        if match := left.fullmatch(part.name):
            with suppress(OSError), _locked(part, wait=False):  # else another process uses it
                if match[2] == OLD_SUFFIX:
                    _restore_or_remove(part, folder / match[1])
                else:
                    shutil.rmtree(part) if part.is_dir() else part.unlink()


def disk_error(error: Exception, path: Path | None = None) -> NmtError | None:
    """Return the error of a full or read-only disk in one sentence; None for any other error."""
    reason, name = None, path or getattr(error, "filename", None) or "a file"
    number = error.errno if isinstance(error, OSError) else None
    if match := re.search(r"\(os error (\d+)\)", str(error)):  # all that libraries in Rust say
        number = int(match[1])
    if number in DISK_ERRNOS:
        reason = os.strerror(number)
    elif re.search(r"\d requested and \d+ written", str(error)):  # all that NumPy says
        reason = str(error)
    if reason is None:
        return None
    return NmtError(
        f"{name} could not be written ({reason}); make room, or make it writable, and type the "
        f"same command again"
    )


@contextmanager
def _temporary_sibling(path: Path, *, folder: bool) -> Iterator[Path]:
    """Yield a new temporary file or folder beside ``path``, locked while this process uses it.

    Raises:
        NmtError: if there is no room.
    """
    with ExitStack() as held:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            sweep(path.parent, re.escape(path.name))
            while True:
                place: dict[str, Any] = {"dir": path.parent, "prefix": f".{path.name}."}
                if folder:
                    part = Path(tempfile.mkdtemp(**place, suffix=".part"))
                else:
                    handle, name = tempfile.mkstemp(**place, suffix=".part")
                    os.close(handle)
                    part = Path(name)
                with suppress(OSError):  # a network disk without locks, or it is gone
                    held.enter_context(_locked(part))
                if part.exists():  # or another's sweep was faster than our lock
                    break
            yield part
        except Exception as error:
            if in_words := disk_error(error, path):
                raise in_words from None
            raise


@contextmanager
def _set_aside(path: Path, other: Path) -> Iterator[None]:
    """Rename the folder at ``path``, if there is one, while the block replaces it."""
    with ExitStack() as held:
        if path.is_dir():
            with suppress(OSError):  # another process has it, or a network disk has no locks
                held.enter_context(_locked(path, wait=False))
            held.callback(_restore_or_remove, other, path)
            path.rename(other)
        yield


def _restore_or_remove(aside: Path, path: Path) -> None:
    """Remove the folder set aside for ``path``, or restore it if nothing else has that name."""
    if path.exists():
        shutil.rmtree(aside, ignore_errors=True)
    elif aside.exists():
        aside.rename(path)


@contextmanager
def _locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Lock a file or a folder until the block or the process ends.

    Raises:
        BlockingIOError: if another process has locked it, and ``wait`` is false.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a file, made if need be, until the block or the process ends.

    Raises:
        BlockingIOError: if another process holds it, and ``wait`` is false.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:  # to write, as disks of a network want it
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8 with the newlines it has."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    r"""Write one line per item, each ended by ``\n``; the items hold no line ends of their own."""
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{line}\n" for line in lines)


def read_lines(path: Path) -> Iterator[str]:
    r"""Yield the lines of a file that this program wrote, split at ``\n`` alone."""
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.removesuffix("\n")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON that a person can read and two runs write alike."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def sha256(path: Path) -> str:
    """Return the SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Write files and folders atomically, read, decode and lock them, and compute their digests."""

import codecs
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
from operator import methodcaller
from pathlib import Path
from typing import Any

from nmt_core.base.errors import CorpusError, NmtError

READABLE = 0o644
"""Mode of written files: readable to all users; some libraries restrict them to the owner."""

OLD_SUFFIX = ".old.part"
"""Suffix of an old folder while a new one replaces it."""

DISK_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}
"""Errno values of a disk that is full or read-only."""


@contextmanager
def whole_file(path: Path, *, mode: int = READABLE) -> Iterator[Path]:
    """Write a file atomically: yield a temporary path that replaces ``path`` after the block.

    The bytes are on the disk before the rename, so a crash leaves either the old or the new file.
    An exception in the block keeps the old file. Leftovers of killed processes are removed first.

    Raises:
        NmtError: if the disk is full or read-only.
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
    """Write a folder atomically: yield an empty folder that replaces ``path`` after the block.

    The old folder is renamed until the new one has its name. After a crash between these renames,
    the next call restores the old folder first. It also removes leftovers of killed processes.

    Raises:
        NmtError: if the disk is full or read-only.
    """
    target = path.resolve()  # "." and links get a name and a parent
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
    """Remove temporary files and folders of killed processes from a folder.

    A folder that such a process renamed and did not replace gets its name back. ``name`` is a
    regular expression of the final names.
    """
    leftover = re.compile(rf"\.({name})\.[a-z0-9_]{{8}}(\.part|{re.escape(OLD_SUFFIX)})")
    for part in [*folder.iterdir()]:
        if match := leftover.fullmatch(part.name):
            with suppress(OSError), _locked(part, wait=False):  # skip files in use
                if match[2] == OLD_SUFFIX:
                    _restore_or_remove(part, folder / match[1])
                else:
                    shutil.rmtree(part) if part.is_dir() else part.unlink()


def disk_error(error: Exception, path: Path | None = None) -> NmtError | None:
    """Return an NmtError for a full or read-only disk; None for any other error."""
    reason, name = None, path or getattr(error, "filename", None) or "a file"
    number = error.errno if isinstance(error, OSError) else None
    if match := re.search(r"\(os error (\d+)\)", str(error)):  # in errors of Rust libraries
        number = int(match[1])
    if number in DISK_ERRNOS:
        reason = os.strerror(number)
    elif re.search(r"\d requested and \d+ written", str(error)):  # NumPy sets no errno
        reason = str(error)
    if reason is None:
        return None
    return NmtError(
        f"{name} could not be written ({reason}); free disk space, or make it writable, and run "
        f"the same command again"
    )


@contextmanager
def _temporary_sibling(path: Path, *, folder: bool) -> Iterator[Path]:
    """Yield a new temporary file or folder next to ``path``, locked while this process uses it.

    Raises:
        NmtError: if the disk is full or read-only.
    """
    with ExitStack() as locks:
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
                with suppress(OSError):  # a network disk without locks, or the file was removed
                    locks.enter_context(_locked(part))
                if part.exists():  # otherwise another process removed it before the lock
                    break
            yield part
        except Exception as error:
            if explained := disk_error(error, path):
                raise explained from None
            raise


@contextmanager
def _set_aside(path: Path, old_path: Path) -> Iterator[None]:
    """Rename the folder at ``path``, if any, to ``old_path`` while the block replaces it."""
    with ExitStack() as cleanup:
        if path.is_dir():
            with suppress(OSError):  # another process locks it, or a network disk has no locks
                cleanup.enter_context(_locked(path, wait=False))
            cleanup.callback(_restore_or_remove, old_path, path)
            path.rename(old_path)
        yield


def _restore_or_remove(old_path: Path, path: Path) -> None:
    """Remove the old folder, or rename it to ``path`` again if ``path`` does not exist."""
    if path.exists():
        shutil.rmtree(old_path, ignore_errors=True)
    elif old_path.exists():
        old_path.rename(path)


@contextmanager
def _locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Lock an existing file or folder until the block or the process ends.

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
    """Lock a file, which is created if it is missing, until the block or the process ends.

    Raises:
        BlockingIOError: if another process has locked it, and ``wait`` is false.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:  # network disks only lock files that are open for writing
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, without changing its newlines."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    r"""Write one line per item, terminated by ``\n``; the items must not contain newlines."""
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{line}\n" for line in lines)


def read_lines(path: Path) -> Iterator[str]:
    r"""Yield the lines of a file that this program wrote, split only at ``\n``."""
    with path.open(encoding="utf-8", newline="\n") as file:
        yield from map(methodcaller("removesuffix", "\n"), file)


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented, reproducible JSON."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def sha256(path: Path) -> str:
    """Return the SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def explain_unreadable_file(path: Path, error: OSError) -> CorpusError:
    """Return the CorpusError of a file that cannot be opened or read."""
    if isinstance(error, FileNotFoundError):
        return CorpusError(f"{path} does not exist; check the name and the folder")
    return CorpusError(f"{path} cannot be read ({error.strerror}); check its permissions")


def require_regular_file(path: Path) -> Path:
    """Return ``path`` if it is a regular file or does not exist.

    Raises:
        CorpusError: if the path is a folder, a device or a pipe.
    """
    if path.exists() and not path.is_file():
        raise CorpusError(f"{path} is not a regular file; name the file to read")
    return path


BYTE_ORDER_MARK = "\ufeff"
"""Byte order mark that editors on Windows write before a text."""

UTF16_ADVICE = "looks like UTF-16, not UTF-8; convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW"


def decode_utf8(
    data: bytes,
    name: object,
    *,
    line: int = 1,
    noun: str = "line",
    error: type[NmtError] = CorpusError,
    remedy: str = "convert it to UTF-8, for example with iconv",
) -> str:
    """Decode one or more lines as UTF-8.

    Messages contain the source ``name``, such as a path, and the number of the ``line``, counted
    from the first one; ``noun`` names the numbered unit.

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
    """Return whether the first line has a byte order mark of UTF-16, or every second byte is 0."""
    first = data.partition(b"\n")[0]
    has_mark = first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return has_mark or 2 * first.count(0) >= max(2, len(first) - 1)


def refuse_utf16(data: bytes, name: object, *, error: type[NmtError] = CorpusError) -> None:
    """Raise an error with the command that converts a file if it looks like UTF-16."""
    if looks_like_utf16(data):
        raise error(f"{name} {UTF16_ADVICE}") from None

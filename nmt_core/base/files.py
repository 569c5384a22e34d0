"""Files and folders that appear whole or not at all, and what they hold, as a digest."""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from nmt_core.base.errors import DiskError

READABLE = 0o644
"""Everybody may read what we write; some libraries would keep it to the user."""

OLD_SUFFIX = ".old.part"
"""How the name of a folder ends that gives way to a new one."""

DISK_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}
"""What a system answers to whoever writes where there is no room."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its name when the block ends well.

    The bytes reach the disk before the name does, so a crash leaves the old file or the new one.
    What processes that were killed have left of the same file is removed first.

    Raises:
        DiskError: if there is no room.
    """
    with _told(path), _begun(path, _make_file) as part:
        try:
            yield part
            part.chmod(READABLE)
            _sync(part)
            part.replace(path)
            _sync(path.parent)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield an empty temporary folder that replaces ``path`` when the block ends well.

    The old folder is put aside until the new one has its name. A crash between the two leaves both
    beside ``path``; the next time, the old one has its name again before anything is written, and
    what processes that were killed have left of the same folder is removed.

    Raises:
        DiskError: if there is no room.
    """
    place = path.resolve()  # it has a name and a parent, also if the path is "." or a link
    with _told(path), _begun(place, tempfile.mkdtemp) as part:
        part.chmod(0o755)
        try:
            yield part
            for inner in part.rglob("*"):
                if inner.is_file():
                    inner.chmod(READABLE)
                _sync(inner)
            _sync(part)
            with _aside(place, part.with_suffix(OLD_SUFFIX)):
                part.rename(place)
                _sync(place.parent)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def sweep(folder: Path, name: str = ".+") -> None:
    """Remove temporary files and folders whose processes are gone, such as by SIGKILL.

    A folder that such a process put aside, and did not replace, has its name again.

    Args:
        folder: where they would be.
        name: regular expression of the names that they were to take.
    """
    left = re.compile(rf"\.({name})\.[a-z0-9_]{{8}}(\.part|{re.escape(OLD_SUFFIX)})")
    for part in [*folder.iterdir()]:
        if found := left.fullmatch(part.name):
            with suppress(OSError), _locked(part, wait=False):  # else somebody is at work on it
                if found[2] == OLD_SUFFIX:
                    _settle(part, folder / found[1])
                else:
                    shutil.rmtree(part) if part.is_dir() else part.unlink()


def disk_error(error: Exception, path: Path | None = None) -> DiskError | None:
    """Return in words that there was no room to write a file; None if the error is another one."""
    reason, name = None, path or getattr(error, "filename", None) or "a file"
    number = error.errno if isinstance(error, OSError) else None
    if found := re.search(r"\(os error (\d+)\)", str(error)):  # all that libraries in Rust tell
        number = int(found[1])
    if number in DISK_ERRNOS:
        reason = os.strerror(number)
    elif re.search(r"\d+ requested and \d+ written", str(error)):  # all that NumPy tells
        reason = str(error)
    if reason is None:
        return None
    return DiskError(
        f"{name} could not be written ({reason}); make room, or make it writable, and type the "
        f"same command again"
    )


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        told = disk_error(error, path)
        if told is None:
            raise
        raise told from None


@contextmanager
def _begun(path: Path, make: Callable[..., str]) -> Iterator[Path]:
    """Yield something new beside ``path``, locked for as long as this process is at work on it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path.parent, re.escape(path.name))
    with ExitStack() as held:
        while True:
            part = Path(make(dir=path.parent, prefix=f".{path.name}.", suffix=".part"))
            with suppress(OSError):  # a network's disk that knows no locks, or it is gone
                held.enter_context(_locked(part))
            if part.exists():  # or another's sweep was faster than our lock
                break
        yield part


@contextmanager
def _aside(path: Path, other: Path) -> Iterator[None]:
    """Give the folder at ``path``, if there is one, another name while the block replaces it."""
    with ExitStack() as held:
        if path.is_dir():
            with suppress(OSError):  # somebody else has it, or a network's disk knows no locks
                held.enter_context(_locked(path, wait=False))
            held.callback(_settle, other, path)
            path.rename(other)
        yield


def _settle(aside: Path, path: Path) -> None:
    """Remove what was put aside for ``path``, or give it that name if nothing else has it."""
    if path.exists():
        shutil.rmtree(aside, ignore_errors=True)
    elif aside.exists():
        aside.rename(path)


@contextmanager
def _locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Lock a file or a folder until the block ends, or we die.

    Raises:
        BlockingIOError: if somebody else has locked it, and we do not wait.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a file, which is made if need be, until the block ends, or we die.

    Raises:
        BlockingIOError: if somebody else holds it, and we do not wait.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:  # to write, as disks of a network want it
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def _make_file(**where: Any) -> str:
    handle, name = tempfile.mkstemp(**where)
    os.close(handle)
    return name


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


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

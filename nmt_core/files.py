"""Files and folders that appear whole or not at all, and what they hold, as a digest."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

READABLE = 0o644
"""Everybody may read what we write; some libraries would keep it to the user."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its name when the block ends well.

    The bytes reach the disk before the name does, so a crash leaves the old file or the new one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    part = Path(name)
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
    """Yield an empty temporary folder that replaces ``path`` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part"))
    part.chmod(0o755)
    try:
        yield part
        for file in part.rglob("*"):
            if file.is_file():
                file.chmod(READABLE)
                _sync(file)
        if path.exists():
            shutil.rmtree(path)
        part.rename(path)
        _sync(path.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)


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

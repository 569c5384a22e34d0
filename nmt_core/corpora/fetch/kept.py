"""The local copy of a file on the web: the file, its record, and earlier versions."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from nmt_core.base import files
from nmt_core.base.errors import DownloadError
from nmt_core.corpora.fetch.address import redact_url
from nmt_core.corpora.fetch.source import Fetched, Source


@dataclass(frozen=True)
class ServerVersion:
    """The version of a file, by the headers of its server."""

    etag: str = ""
    last_modified: str = ""
    length: int | None = None
    """Bytes of the whole file."""

    @property
    def validator(self) -> str:
        """The strong validator for If-Range; a weak ETag is none."""
        strong = self.etag and not self.etag.startswith("W/")
        return self.etag if strong else self.last_modified


def sibling_path(path: Path, suffix: str) -> Path:
    """Return the path of a file that is kept beside another."""
    return path.with_name(path.name + suffix)


def find_place(source: Source, folder: Path) -> Path:
    """Return the path of a file.

    Raises:
        DownloadError: if a folder stands there, or where something of the file is kept beside it.
    """
    path = folder / source.name
    own = (sibling_path(path, suffix) for suffix in ("", ".json", ".part", ".part.json", ".lock"))
    before = (sibling_path(name_before(path), suffix) for suffix in ("", ".json"))
    for location in (*own, *before):
        if location.is_dir():
            raise DownloadError(f"{location} is a folder, where a file is to be; move it away")
    return path


def name_before(path: Path) -> Path:
    """Return the path of the file that another took the place of.

    Its name ends as that of the other one, for the ending says how it is read.
    """
    return path.with_name(f"before-{path.name}")


def quarantine(path: Path) -> Path:
    """Move a wrong file to ``NAME.rejected``; it is then fetched anew."""
    rejected = path.with_name(f"{path.name.removesuffix('.part')}.rejected")
    path.replace(rejected)
    sibling_path(path, ".json").unlink(missing_ok=True)
    return rejected


def find_recorded(path: Path, source: Source) -> Fetched | None:
    """Return the file as an earlier run fetched it, if it is whole and has the wanted digest."""
    expected = read_record(sibling_path(path, ".json")).get("sha256")
    if expected is None or not path.exists():
        return None
    digest = files.sha256(path)
    if digest != expected or digest != (source.digest or digest):
        return None
    return Fetched(path, redact_url(source.url), path.stat().st_size, digest)


def find_known(path: Path, source: Source) -> Fetched | None:
    """Return the file at hand, or the one before it, if it is the wanted one."""
    known = find_recorded(path, source)
    if known is None and source.digest:
        known = find_recorded(name_before(path), source)
    return known


def find_kept(source: Source, folder: Path) -> Fetched | None:
    """Return the file that an earlier run fetched into a folder, if it is the wanted one."""
    return find_known(find_place(source, folder), source)


def read_server_version(path: Path) -> ServerVersion:
    """Return the version of a record, if it has one."""
    try:
        return TypeAdapter(ServerVersion).validate_json(path.read_bytes(), strict=True)
    except (OSError, ValidationError):
        return ServerVersion()


def read_record(path: Path) -> dict[str, Any]:
    """Return a record; empty if it is damaged."""
    try:
        record = files.read_json(path)
    except (OSError, ValueError, RecursionError):
        return {}
    sound = isinstance(record, dict) and isinstance(record.get("sha256"), str)
    return record if sound else {}


def count_lines(path: Path) -> int:
    """Count the ended lines of a file; 0 if there is no file."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def cut_lines(path: Path, lines: int) -> None:
    """Cut a file after its first lines."""
    with path.open("rb+") as file:
        for _ in range(lines):
            file.readline()
        file.truncate(file.tell())

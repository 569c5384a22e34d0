"""The local copy of a file on the web, and its record."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from nmt_core.base import files
from nmt_core.base.errors import DownloadError
from nmt_core.corpora.fetch.address import redact_url
from nmt_core.corpora.fetch.source import Fetched, Source

SUFFIXES = ("", ".json", ".part", ".part.json", ".lock")
"""A file, its record, the same of an unfinished transfer, and its lock."""


@dataclass(frozen=True)
class ServerVersion:
    """The version of a file, by the headers of its server."""

    etag: str = ""
    last_modified: str = ""
    length: int | None = None
    """Size of the whole file in bytes."""

    @property
    def validator(self) -> str:
        """The strong validator for If-Range; a weak ETag is not one."""
        strong = self.etag and not self.etag.startswith("W/")
        return self.etag if strong else self.last_modified


def sibling_path(path: Path, suffix: str) -> Path:
    """Return the path of a file beside another."""
    return path.with_name(path.name + suffix)


def find_place(source: Source, folder: Path) -> Path:
    """Return the path of a file.

    Raises:
        DownloadError: if a folder is in the way.
    """
    path = folder / source.name
    places = [sibling_path(path, suffix) for suffix in SUFFIXES]
    for place in places:
        if place.is_dir():
            raise DownloadError(f"{place} is a folder, but a file belongs there; move it away")
    return path


def quarantine(path: Path) -> Path:
    """Move an unusable file to ``NAME.rejected``."""
    rejected = path.with_name(f"{path.name.removesuffix('.part')}.rejected")
    path.replace(rejected)
    sibling_path(path, ".json").unlink(missing_ok=True)
    return rejected


def find_cached(source: Source, folder: Path) -> Fetched | None:
    """Return the cached file if it is as it was recorded and has the required digest."""
    path = find_place(source, folder)
    recorded = read_record(sibling_path(path, ".json")).get("sha256")
    if recorded is None or not path.exists():
        return None
    digest = files.sha256(path)
    if digest != recorded or digest != (source.sha256.lower() or digest):
        return None
    return Fetched(path, redact_url(source.url), path.stat().st_size, digest)


def read_server_version(path: Path) -> ServerVersion:
    """Return the version in a record; an empty one if the record is damaged."""
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
    valid = isinstance(record, dict) and isinstance(record.get("sha256"), str)
    return record if valid else {}

"""Files on the web that settings refer to, and their local copies.

This module does not import an HTTP client, so that settings load fast.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import unquote

from pydantic import AfterValidator, Field

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.languages import Languages
from nmt_core.corpora.fetch.address import redact_url


def _check_digest(digest: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}|", digest):
        raise ValueError(f"must be 64 hexadecimal digits or empty, got {digest!r}")
    return digest.lower()


Checksum = Annotated[str, AfterValidator(_check_digest)]
"""A SHA-256 digest, or empty for any."""


class HttpConfig(Config):
    """Timeouts and retries."""

    attempts: int = Field(6, ge=1, le=1000)
    """Maximum number of consecutive failures; progress resets the count."""

    max_backoff_seconds: float = Field(60.0, gt=0, le=86_400)
    """Maximum wait between two attempts, including Retry-After. Waits are random, up to a limit
    that doubles with each failure."""

    timeout_seconds: float = Field(30.0, gt=0, le=86_400)
    """Maximum time without a response from the server."""

    max_bytes: int = Field(10_000_000_000, ge=1)
    """Maximum size of a file; larger files are rejected."""


@dataclass(frozen=True)
class Source:
    """A file on the web, with its expected digest."""

    url: str
    """URL with http or https."""
    setting: str
    """Name of the setting with the URL, for messages."""
    sha256: str = ""
    """Required digest in hexadecimal; empty accepts any."""
    lines: int | None = None
    """Number of lines to fetch; None fetches the whole file."""
    check: Callable[[Path], object] | None = None
    """Raises an NmtError if a new file is unusable."""
    missing: str = ""
    """Advice for a 404 response, in addition to setting another URL."""

    @property
    def name(self) -> str:
        """The file's name on disk: safe, short, readable, and unique to this URL."""
        digest = blake2b(self.url.encode(), digest_size=4).hexdigest()
        path = unquote(redact_url(self.url).removesuffix("?...")).rstrip("/")
        last = path.rsplit("/", maxsplit=1)[-1]
        name = f"{digest}-{re.sub('[^A-Za-z0-9._-]', '_', last)[-100:]}"
        return name if self.lines is None else f"{self.lines}-lines-{name}"


@dataclass(frozen=True)
class Fetched:
    """A fetched file."""

    path: Path
    url: str
    """Its URL, without credentials."""
    size_bytes: int
    sha256: str

    @property
    def origin(self) -> dict[str, str | int]:
        """Its entry in the report of the download stage."""
        return {"url": self.url, "bytes": self.size_bytes, "sha256": self.sha256}


Fetch = Callable[[Source], Fetched]
"""Fetches a file, or returns the cached one; raises a CorpusError."""

FindCached = Callable[[Source], Fetched | None]
"""Returns a cached file or None; sends no request."""


class ExternalFiles(Config):
    """Settings that may refer to files on the web and to the user's files; by default to none."""

    def sources(self, languages: Languages) -> list[Source]:
        """Return the files to fetch for two languages."""
        del languages
        return []

    def pins(self) -> dict[str, str]:
        """Return the expected digests of the user's files, by path."""
        return {}

    def pinned(self) -> Self:
        """Return a copy with the current digests of the user's files."""
        return self

    def absolute(self) -> Self:
        """Return a copy with absolute paths."""
        return self


def sibling_path(path: Path, suffix: str) -> Path:
    """Return the path of a file in the same folder with a suffix added to its name."""
    return path.with_name(path.name + suffix)


def quarantine(path: Path) -> Path:
    """Rename an unusable file to ``NAME.rejected``; return this path."""
    rejected = path.with_name(f"{path.name.removesuffix('.part')}.rejected")
    path.replace(rejected)
    sibling_path(path, ".json").unlink(missing_ok=True)
    return rejected


def find_cached(source: Source, folder: Path) -> Fetched | None:
    """Return a cached file if it has the recorded and the required digest; otherwise None."""
    path = folder / source.name
    recorded = read_record(sibling_path(path, ".json")).get("sha256")
    if recorded is None or not path.exists():
        return None
    digest = files.sha256(path)
    if digest != recorded or digest != (source.sha256.lower() or digest):
        return None
    return Fetched(path, redact_url(source.url), path.stat().st_size, digest)


def read_record(path: Path) -> dict[str, Any]:
    """Return the record of a file or of an unfinished transfer; empty if it is damaged."""
    try:
        record = files.read_json(path)
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}

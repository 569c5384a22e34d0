"""A file on the web: its address, its expected digest, and the fetched file."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Self
from urllib.parse import unquote

from nmt_core.base.config import Config
from nmt_core.base.languages import Languages
from nmt_core.corpora.fetch.address import redact_url


@dataclass(frozen=True)
class Source:
    """A file on the web, with its expected digest."""

    url: str
    """http or https; what is secret is put in when it is sent, and never shown."""
    setting: str
    """The parameter that holds the address, for messages."""
    sha256: str = ""
    """Digest that was promised, in hexadecimal; empty takes any."""
    renewed: Mapping[str, str] = field(default_factory=dict)
    """Digests as servers last had them; of no effect with ``sha256``."""
    lines: int | None = None
    """Where to stop, in ``\\n``; None takes the whole file."""
    check: Callable[[Path], object] | None = None
    """Raises an error of ours if a new file cannot replace the one at hand."""
    missing: str = ""
    """What to do where the server has no such file, beside setting another address."""

    @property
    def name(self) -> str:
        """The file's name on disk: safe, short, readable, and unique to this address."""
        digest = blake2b(self.url.encode(), digest_size=4).hexdigest()
        last = (
            unquote(redact_url(self.url).removesuffix("?..."))
            .rstrip("/")
            .rsplit("/", maxsplit=1)[-1]
        )
        name = f"{digest}-{re.sub('[^A-Za-z0-9._-]', '_', last)[-100:]}"
        return name if self.lines is None else f"{self.lines}-lines-{name}"

    @property
    def digest(self) -> str:
        """The digest that the file must have; empty for any."""
        return self.sha256.lower() or self.renewed.get(self.name, "")


@dataclass(frozen=True)
class Fetched:
    """A fetched file, with its digest and version."""

    path: Path
    url: str
    """Where it came from, without credentials."""
    size_bytes: int
    sha256: str

    @property
    def origin(self) -> dict[str, str | int]:
        """Its entry in the metrics of the download stage."""
        return {"url": self.url, "bytes": self.size_bytes, "sha256": self.sha256}


Fetch = Callable[[Source], Fetched]
"""Brings a file onto the disk, or takes it from there; raises a DownloadError if it cannot."""

FindKept = Callable[[Source], Fetched | None]
"""Finds a file that was brought before; None if it is not there. Asks no server."""


def find_nothing(source: Source) -> None:
    """Find no file, as where none is kept."""
    del source


class Fetchable(Config):
    """Settings of files that may come from the web.

    A subclass that fetches has a field ``renewed``, for the last digests of its server.
    """

    def sources(self, languages: Languages) -> list[Source]:
        """Return the files on the web that are needed for two languages."""
        del languages
        return []

    def with_digests(self, digests: Mapping[str, str]) -> Self:
        """Return the same settings with the servers' present digests, by :attr:`Source.name`."""
        return self.model_copy(update={"renewed": dict(digests)})

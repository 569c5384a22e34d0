"""Settings of checksums and of retries; this file imports no HTTP client."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field

from nmt_core.base.config import Config


def _checksum(digest: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}|", digest):
        raise ValueError(f"must be 64 hexadecimal digits or empty, got {digest!r}")
    return digest.lower()


Checksum = Annotated[str, AfterValidator(_checksum)]
"""A SHA-256 digest, or empty for any."""

Renewed = dict[str, Checksum]
"""The digest of each file as it was when its server was last asked, by :attr:`Source.name`."""


class Pinnable(Config):
    """Settings that may name files of the user's own; this base names none."""

    def pins(self) -> dict[str, str]:
        """Return the digests of those files, by path."""
        return {}

    def pinned(self) -> Self:
        """Return the same with the present digests of those files.

        Raises:
            CorpusError: if a file cannot be read.
            BundleError: if there should be an exported model, and is none.
        """
        return self

    def absolute(self) -> Self:
        """Return the same with paths that lead to those files from any folder."""
        return self


class HttpConfig(Config):
    """Timeouts and retries."""

    attempts: int = Field(6, ge=1, le=1000)
    """Failures after which to give up; one after which the file has grown begins a new count."""

    max_backoff_seconds: float = Field(60.0, gt=0, le=86_400)
    """Longest wait between two attempts, also where a server asks for more; it begins at a second
    and doubles with each failure, and chance picks below it."""

    timeout_seconds: float = Field(30.0, gt=0, le=86_400)
    """Longest silence of a server."""

    max_bytes: int = Field(10_000_000_000, ge=1)
    """A larger file is refused before it fills the disk."""

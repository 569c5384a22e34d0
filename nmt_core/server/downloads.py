"""Translated files, kept in memory until they are fetched or forgotten."""

import secrets
import time
from typing import NamedTuple

from nmt_core.server.errors import RequestError

KEPT_SECONDS = 600.0
MOST_BYTES = 100_000_000
"""Of all files together; beyond it the oldest go."""


class Download(NamedTuple):
    """A translated file."""

    name: str
    mime_type: str
    content: bytes
    until: float


class Downloads:
    """Files by random, unguessable keys."""

    def __init__(self) -> None:
        self._kept: dict[str, Download] = {}

    def keep(self, name: str, mime_type: str, content: bytes) -> str:
        """Keep a file and return the key by which it is fetched."""
        self._forget(len(content))
        key = secrets.token_urlsafe(16)
        self._kept[key] = Download(name, mime_type, content, time.monotonic() + KEPT_SECONDS)
        return key

    def fetch(self, key: str) -> Download:
        """Return a file.

        Raises:
            RequestError: if it is not there, or no more.
        """
        self._forget(0)
        if key not in self._kept:
            minutes = KEPT_SECONDS / 60
            raise RequestError(
                404, f"this file is not here; translations are kept for {minutes:g} minutes"
            )
        return self._kept[key]

    def _forget(self, coming: int) -> None:
        """Forget expired files, and the oldest where memory runs out."""
        now = time.monotonic()
        left = MOST_BYTES - coming - sum(len(file.content) for file in self._kept.values())
        for key, file in list(self._kept.items()):
            if file.until < now or left < 0:
                left += len(file.content)
                del self._kept[key]

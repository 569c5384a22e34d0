"""Translated files, kept in memory until they are fetched or expire."""

import secrets
import time
from typing import NamedTuple

from nmt_core.server.errors import RequestError

KEPT_SECONDS = 600.0
MAX_BYTES = 100_000_000
"""Bytes of all files together; beyond it the oldest go."""


class Download(NamedTuple):
    """A translated file."""

    name: str
    mime_type: str
    content: bytes
    until: float


class Downloads:
    """Files by random, unguessable keys."""

    def __init__(self) -> None:
        self._files: dict[str, Download] = {}

    def add(self, name: str, mime_type: str, content: bytes) -> str:
        """Keep a file and return the key by which it is fetched."""
        self._remove_old(len(content))
        key = secrets.token_urlsafe(16)
        self._files[key] = Download(name, mime_type, content, time.monotonic() + KEPT_SECONDS)
        return key

    def fetch(self, key: str) -> Download:
        """Return a file that was added, unless it has expired."""
        self._remove_old(0)
        if key not in self._files:
            minutes = KEPT_SECONDS / 60
            raise RequestError(
                404, f"this file is not here; translations are kept for {minutes:g} minutes"
            )
        return self._files[key]

    def _remove_old(self, coming: int) -> None:
        """Remove expired files, and the oldest if there are too many bytes."""
        now = time.monotonic()
        left = MAX_BYTES - coming - sum(len(file.content) for file in self._files.values())
        for key, file in list(self._files.items()):
            if file.until < now or left < 0:
                left += len(file.content)
                del self._files[key]

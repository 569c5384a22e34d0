"""Settings of the server."""

import re
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from nmt_core.base.config import Config
from nmt_core.documents.review import REVIEW_BELOW


def read_address(pattern: str, example: str, address: str) -> str:
    """Return a host name or site in lower case, as browsers send it."""
    address = address.removesuffix("/").lower()
    if not re.fullmatch(pattern, address):
        raise ValueError(f"{address!r} must be written as in {example}")
    return address


HostName = Annotated[str, AfterValidator(partial(read_address, r"[^\s:/?#@]+", "mt.example.org"))]
Site = Annotated[
    str,
    AfterValidator(partial(read_address, r"\*|null|[\w.+-]+://[^\s/?#@]+", "https://example.org")),
]


class ServerConfig(Config):
    """Address, batching and limits of the server."""

    host: str = "127.0.0.1"
    """Address to listen on; the default accepts only connections of this machine."""
    port: int = Field(5001, ge=0, le=65535)
    """TCP port; 0 selects a free port."""
    hosts: tuple[HostName, ...] = ()
    """Host names that browsers can use, in addition to the server's address and localhost; other
    names are rejected (DNS rebinding). ``*`` accepts all, for use behind a proxy that checks."""
    origins: tuple[Site, ...] = ()
    """Sites, such as ``https://example.org``, whose pages can use the server (CORS)."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses of proxies whose ``X-Forwarded-For``, ``-Proto`` and ``-Prefix`` are trusted."""

    rate_limit: int | None = Field(None, ge=1)
    """Maximum texts per user and minute; None means no limit."""
    max_characters: int = Field(100_000, ge=1, le=10_000_000)
    """Maximum characters of all texts in a request."""
    max_texts: int = Field(1000, ge=1, le=100_000)
    """Maximum texts in a request."""
    max_alternatives: int = Field(10, ge=0, le=32)
    """Maximum alternative translations in a request."""
    max_file_bytes: int = Field(10_000_000, ge=1, le=1_000_000_000)
    """Maximum size of a file in bytes."""
    max_tokens: int = Field(200_000, ge=1)
    """Maximum source tokens of a request."""

    max_held_bytes: int = Field(200_000_000, ge=1_000_000)
    """Maximum bytes of all requests and responses in memory, half of it per client; beyond it, the
    server responds with 503."""

    suggestions: Literal["off", "keys", "all"] = "off"
    """Who can suggest better translations: nobody, users with API keys, or everybody."""
    corrections: Path | None = None
    """File of the journal of suggestions."""
    memory: Path | None = None
    """File of the translation memory; None for no memory."""
    memory_threshold: float = Field(0.75, gt=0, le=1)
    """Minimum similarity of a unit of the memory that is offered with a translation."""
    review_below: float = Field(REVIEW_BELOW, ge=0, le=1)
    """Confidence below which a unit of an XLIFF or PO file is marked for review."""

    queue_tokens: int = Field(200_000, ge=1)
    """Maximum source tokens in the queue; beyond it, users above an equal share get a 429."""
    batch_tokens: int = Field(1024, ge=1, le=1_000_000)
    """Maximum source tokens in a batch."""
    portion_tokens: int = Field(256, ge=1, le=1_000_000)
    """Maximum source tokens of a request in a batch before other requests have their turn."""
    workers: int | None = Field(None, ge=1, le=256)
    """Number of parallel batches, each on one core; PyTorch uses all cores for one batch."""

    wait_seconds: float = Field(0.005, ge=0, le=1)
    """Maximum seconds that a batch waits for requests of other users."""
    work_seconds: float = Field(300, gt=0)
    """Maximum seconds for a request, including its time in the queue."""
    watch_seconds: float = Field(5, gt=0)
    """Seconds between two checks for newer models."""

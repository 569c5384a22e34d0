"""Settings of the server."""

import re
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from nmt_core.base.config import Config
from nmt_core.documents.review import REVIEW_BELOW


def read_address(pattern: str, example: str, address: str) -> str:
    """Return a host name or a site as browsers send it; refuse one of another pattern."""
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
    """Address to listen at; the default is reached from this machine alone."""
    port: int = Field(5001, ge=0, le=65535)
    """TCP port; 0 takes a free one."""
    hosts: tuple[HostName, ...] = ()
    """Names by which browsers may call the server, beside its address and localhost; others are
    refused (DNS rebinding) unless one is ``*``, for a proxy that checks."""
    origins: tuple[Site, ...] = ()
    """Sites, such as ``https://example.org``, whose pages may use the server (CORS)."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses of proxies whose ``X-Forwarded-For``, ``-Proto`` and ``-Prefix`` are believed."""

    rate_limit: int | None = Field(None, ge=1)
    """Texts that a user may send in a minute; None for any number."""
    max_characters: int = Field(100_000, ge=1, le=10_000_000)
    """Characters of all texts of a request."""
    max_texts: int = Field(1000, ge=1, le=100_000)
    """Texts of a request."""
    max_alternatives: int = Field(10, ge=0, le=32)
    """Further translations that a request may ask for."""
    max_file_bytes: int = Field(10_000_000, ge=1, le=1_000_000_000)
    """Size of a file to translate."""
    max_tokens: int = Field(200_000, ge=1)
    """Source tokens of a request; a longer file is refused."""

    max_held_bytes: int = Field(200_000_000, ge=1_000_000)
    """Bytes of all requests and answers in memory, half of them for one client; else 503."""

    suggestions: Literal["off", "keys", "all"] = "off"
    """Who may suggest better translations: nobody, users with API keys, or everybody."""
    corrections: Path | None = None
    """The journal of suggestions."""
    memory: Path | None = None
    """The translation memory; None for none."""
    memory_threshold: float = Field(0.75, gt=0, le=1)
    """Similarity from which a unit of the memory is offered beside a translation."""
    review_below: float = Field(REVIEW_BELOW, ge=0, le=1)
    """Confidence below which a unit of an XLIFF or PO file is marked for review."""

    queue_tokens: int = Field(200_000, ge=1)
    """Source tokens that may wait, and less than an equal share for a user; else 429."""
    batch_tokens: int = Field(1024, ge=1, le=1_000_000)
    """Source tokens that are translated at once; the next batch waits for them."""
    portion_tokens: int = Field(256, ge=1, le=1_000_000)
    """Source tokens of one request that enter a batch before others have their turn."""
    workers: int | None = Field(None, ge=1, le=256)
    """Batches that are translated at a time, each on a core; PyTorch takes all cores for one."""

    wait_seconds: float = Field(0.005, ge=0, le=1)
    """Seconds that a batch waits for requests of other users; with a single user it never waits."""
    work_seconds: float = Field(300, gt=0)
    """How long the server works on a request, its time in the queue included."""
    watch_seconds: float = Field(5, gt=0)
    """How often it looks whether another model is to be served."""

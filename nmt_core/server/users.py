"""Users, their API keys and rate limits."""

import hashlib
import ipaddress
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nmt_core.base.errors import ConfigError
from nmt_core.server.errors import RequestError, slow_down
from nmt_core.translation.memory.journal import KEY_CHARACTERS

MAX_USERS = 10_000
"""Maximum users in a rate limit; beyond it, the counts of the oldest users are dropped."""

MIN_KEY_CHARACTERS = 8
"""Minimum characters of an API key; shorter keys can be guessed."""

COMMENT = re.compile(r"(?:^|\s)#")
"""The start of a comment; inside a word, ``#`` belongs to a key."""


class User(NamedTuple):
    """The sender of a request."""

    name: str
    """A digest of the key, or the address."""
    rate: int | None
    """Maximum texts per minute; None means no limit."""
    key: str = ""
    """The beginning of the key's digest; empty without a key."""


ApiKeys = Mapping[str, int | None]
"""Maximum texts per minute by digest of the API key; None means the server's default."""


def find_user(keys: ApiKeys, key: str, default_rate: int | None) -> User:
    """Return the user of a key; raise a RequestError if the key is unknown."""
    digest = _digest(key)
    if digest not in keys:
        raise RequestError(403, "Invalid API key")
    short = digest[:KEY_CHARACTERS]
    return User(f"key {short}", keys[digest] or default_rate, short)


@lru_cache(maxsize=MAX_USERS)
def parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address, or None if the host is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def name_client(address: str) -> str:
    """Return the name of a client for limits: its IPv4 address, or its IPv6 /64 network."""
    parsed = parse_address(address)  # a proxy may send other names
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped or ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))
    return address


def read_keys(path: Path) -> ApiKeys:
    """Read API keys: per line a key and, optionally, a space and a number of texts per minute."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigError(f"{path} cannot be read ({reason}); give a file of API keys") from None
    rates: dict[str, int | None] = {}
    for number, line in enumerate(lines, start=1):
        key, *fields = COMMENT.split(line)[0].split() or [""]
        if not key:
            continue
        is_rate = all(text.isdecimal() and int(text) > 0 for text in fields)
        if len(key) < MIN_KEY_CHARACTERS or len(fields) > 1 or not is_rate:
            raise ConfigError(
                f"{path}, line {number} is invalid; write an API key of at least "
                f"{MIN_KEY_CHARACTERS} characters and, optionally, a space and texts per minute"
            )
        rates[_digest(key)] = int(fields[0]) if fields else None
    if not rates:
        raise ConfigError(f"{path} has no API key; write one per line, or remove --api-keys")
    return rates


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class RateLimit:
    """Limits what each user sends per minute (leaky bucket); a first request may exceed it."""

    unit: str = "texts"
    _due: dict[str, float] = field(default_factory=dict)

    def spend(self, user: User, count: int) -> None:
        """Count texts that a user sends; a negative count refunds them."""
        if user.rate is None:
            return
        now, seconds_each = time.monotonic(), 60 / user.rate
        begin = max(self._due.pop(user.name, now), now)
        due = begin + seconds_each * count
        if begin > now and due - now > 60 + seconds_each / 2:
            self._due[user.name] = begin
            message = f"this request exceeds {user.rate:,} {self.unit} per minute"
            raise slow_down(message, due - now - 60)
        self._due[user.name] = due
        while len(self._due) > MAX_USERS:
            del self._due[next(iter(self._due))]

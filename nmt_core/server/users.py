"""Users, their API keys and rate limits."""

import hashlib
import ipaddress
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from nmt_core.base.errors import ConfigError
from nmt_core.server.errors import RequestError, too_many
from nmt_core.translation.memory.journal import KEY_CHARACTERS

MAX_USERS = 10_000
"""Users whose last requests are remembered; the oldest are forgotten, to their advantage."""

SHORTEST_KEY = 8
"""Characters of an API key: a shorter one is guessed."""

COMMENT = re.compile(r"(?:^|\s)#")
"""The beginning of a comment; within a word the sign belongs to a key."""


class User(NamedTuple):
    """The user that sends a request."""

    name: str
    """A digest of the key, or the address."""
    rate: int | None
    """Texts in a minute; None for any number."""
    key: str = ""
    """The beginning of the key's digest; empty without a key."""


ApiKeys = Mapping[str, int | None]
"""Digests of API keys with the texts per minute of each; None for the server's rate."""


def find_user(keys: ApiKeys, key: str, default_rate: int | None) -> User:
    """Return the user of a key, or refuse an unknown one."""
    digest = _digest(key)
    if digest not in keys:
        raise RequestError(403, "Invalid API key")
    short = digest[:KEY_CHARACTERS]
    return User(f"key {short}", keys[digest] or default_rate, short)


def parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return a host as an IP address, if it is one."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def name_client(address: str) -> str:
    """Return the name under which a client is counted: its IPv4 address, or /64 of IPv6."""
    parsed = parse_address(address)  # a proxy may name its clients otherwise
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped or ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))
    return address


def read_keys(path: Path) -> ApiKeys:
    """Read API keys, one a line, with its texts a minute after a space; errors name no key."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigError(f"{path} cannot be read ({reason}); name a file of API keys") from None
    rates: dict[str, int | None] = {}
    for number, line in enumerate(lines, start=1):
        key, *rest = COMMENT.split(line)[0].split() or [""]
        if not key:
            continue
        is_rate = all(text.isdecimal() and int(text) > 0 for text in rest)
        if len(key) < SHORTEST_KEY or len(rest) > 1 or not is_rate:
            raise ConfigError(
                f"{path}, line {number}: a line is an API key of at least {SHORTEST_KEY} "
                f"characters and, if wanted, a number of texts a minute after a space, 1 or more"
            )
        rates[_digest(key)] = int(rest[0]) if rest else None
    if not rates:
        raise ConfigError(f"{path} holds no API key; write one a line, or leave --api-keys out")
    return rates


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class RateLimit:
    """Limits what each user sends in a minute by a leaky bucket; a first request may be larger."""

    unit: str = "texts"
    _due: dict[str, float] = field(default_factory=dict)

    def spend(self, user: User, count: int) -> None:
        """Count what a user sends; a negative number gives back as much. Too much is refused."""
        if user.rate is None:
            return
        now, seconds_each = time.monotonic(), 60 / user.rate
        begin = max(self._due.pop(user.name, now), now)
        due = begin + seconds_each * count
        if begin > now and due - now > 60 + seconds_each / 2:
            self._due[user.name] = begin
            message = f"{user.rate:,} {self.unit} a minute may be sent, and this would be more"
            raise too_many(message, due - now - 60)
        self._due[user.name] = due
        while len(self._due) > MAX_USERS:
            del self._due[next(iter(self._due))]

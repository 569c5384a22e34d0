"""Addresses on the web: secrets in them, their public form, and private networks.

Settings are committed with ``dvc.lock`` and pushed with DVC's run cache, so they may hold no
secrets. Credentials belong into ``~/.netrc`` or the environment.
"""

import ipaddress
import os
import re
import socket
from typing import Annotated
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import AfterValidator

from nmt_core.base.errors import DownloadError

SCHEMES = ("http", "https")

PLACEHOLDER = "{secret}"
"""In the query of an address: replaced by the environment's :data:`VARIABLE`."""

VARIABLE = "NMT_DOWNLOAD_SECRET"

IN_NETRC = "write a line 'machine HOST login NAME password WORD' into ~/.netrc"

TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""Where a translator finds what IPv4 alone can reach (RFC 6052)."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

BAD_ADDRESS = "an address that cannot be read"

_SECRET_NAME = re.compile(r"auth|credential|key|pass|pwd|secret|sig|token", re.IGNORECASE)
_QUERY = re.compile(r"(?<=://)([^\s?#]*)\?[^\s'\")]*")
_USER = re.compile(r"(?<=://)[^\s/?#]*@")


def _checked(url: str) -> str:
    if not re.fullmatch(r"https?://\S+", url) or redact_url(url) == BAD_ADDRESS:
        raise ValueError(
            f"must begin with http:// or https:// and hold no space, got {redact_url(url)!r}"
        )
    if _USER.search(url):
        raise ValueError(
            f"must hold no user name or password, since settings are committed and pushed, got "
            f"{redact_url(url)!r} with one; {IN_NETRC}"
        )
    for name, value in parse_qsl(urlsplit(url).query):
        if _SECRET_NAME.search(name) and value != PLACEHOLDER:
            raise ValueError(
                f"must hold no secret, since settings are committed and pushed, got {name}=...; "
                f"write {name}={PLACEHOLDER} and set the environment variable {VARIABLE}"
            )
    return url


Address = Annotated[str, AfterValidator(_checked)]
"""Where a file is on the web; may hold ``{placeholders}``."""


def redact_url(url: str) -> str:
    """Return ``url`` as it may be printed: without user, password and query."""
    try:
        parsed = urlsplit(url)
        _ = parsed.port  # raises an error for what is no number
    except ValueError:
        return BAD_ADDRESS
    address, mark, _ = url.partition("#")[0].partition("?")
    bare = _USER.sub("", address)
    return BAD_ADDRESS if "@" in bare and not parsed.netloc else f"{bare}{mark and '?...'}"


def redact(text: str) -> str:
    """Return ``text`` without the users, passwords and queries of the addresses in it."""
    return _QUERY.sub(r"\1?...", _USER.sub("", text))


def add_secret(url: str) -> str:
    """Return ``url`` with the secret of the environment where its query asks for it.

    Raises:
        DownloadError: if there is none.
    """
    base, mark, query = url.partition("?")
    if PLACEHOLDER not in query:
        return url
    secret = os.environ.get(VARIABLE)
    if not secret:
        raise DownloadError(
            f"{redact_url(url)} asks for a secret; set the environment variable {VARIABLE}"
        )
    return f"{base}{mark}{query.replace(PLACEHOLDER, quote(secret, safe=''))}"


def is_private(host: str) -> bool:
    """Tell whether a name or number, however it is spelt, leads to a machine of a private network.

    An unknown name leads nowhere.
    """
    local = host.rstrip(".").endswith("localhost")
    return local or any(not address.is_global for address in find_addresses(host))


def is_link_local(host: str) -> bool:
    """Tell whether it is link-local; there clouds give a machine its secrets."""
    return any(address.is_link_local for address in find_addresses(host))


def find_addresses(host: str) -> list[IPAddress]:
    """Resolve a name or number to addresses; none if it is unknown.

    An address of IPv6 that stands for one of IPv4 is that: mapped (RFC 4291), by translation
    (64:ff9b::/96, RFC 6052) or by a tunnel (2002::/16, RFC 3056).
    """
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [_embedded(ipaddress.ip_address(address)) for *_, (address, *_) in answers]


def _embedded(address: IPAddress) -> IPAddress:
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in TRANSLATED:
        return ipaddress.IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or address

"""Addresses on the web: secrets in them, their public form, and private networks.

Settings are committed with ``dvc.lock`` and pushed with DVC's run cache, so they may hold no
secrets. Credentials belong into ``~/.netrc`` or the environment.
"""

import ipaddress
import os
import re
import socket
from typing import Annotated
from urllib.parse import quote, unquote, urlsplit

from pydantic import AfterValidator

from nmt_core.base.errors import DownloadError

SCHEMES = ("http", "https")

PLACEHOLDER = "{secret}"
"""In the query of an address: replaced by the environment's :data:`VARIABLE`."""

VARIABLE = "NMT_DOWNLOAD_SECRET"

IN_NETRC = "write a line 'machine HOST login NAME password WORD' into ~/.netrc"

TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""Where a translator finds what IPv4 alone can reach (RFC 6052)."""

COMPATIBLE = range(2**24, 2**32)
"""Numbers of IPv6 addresses that end in one of IPv4 after zeros alone (RFC 4291)."""

METADATA = [
    ipaddress.ip_network(network)
    for network in (
        "169.254.0.0/16",
        "fe80::/10",
        "fd00:ec2::254",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "64:ff9b:1::/48",  # translation that each network defines for itself (RFC 8215)
    )
]
"""Networks of cloud metadata services, which hold secrets; some have public addresses."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

BAD_ADDRESS = "an address that cannot be read"

_SECRET_VALUE = re.compile(r"[a-z]{2,10}[_-](?=[a-z\d]*[A-Z])(?=[A-Z\d]*[a-z])[A-Za-z\d]{20,}")
"""A token with the prefix of its issuer, such as ``ghp_`` or ``hf_``."""

_SECRET_NAME = re.compile(r"auth|credential|key|pass|pwd|secret|sig|token", re.IGNORECASE)
_QUERY = re.compile(r"(?<=://)([^\s?#;]*)[?#;][^\s'\")]+")
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
    for name, _, value in (part.partition("=") for part in re.split("[?#;&]", url)[1:]):
        named, secret = _SECRET_NAME.search(unquote(name)), unquote(value)
        if (named and value != PLACEHOLDER) or _SECRET_VALUE.fullmatch(secret):
            raise ValueError(
                f"must hold no secret, since settings are committed and pushed, got {name}=...; "
                f"write {name}={PLACEHOLDER} and set the environment variable {VARIABLE}"
            )
    return url


Address = Annotated[str, AfterValidator(_checked)]
"""Where a file is on the web; may hold ``{placeholders}``."""


def redact_url(url: str) -> str:
    """Return ``url`` as it may be printed: without user, password, parameters and query."""
    try:
        parsed = urlsplit(url)
        _ = parsed.port  # raises an error for what is no number
    except ValueError:
        return BAD_ADDRESS
    address, *rest = re.split("[?;]", url.partition("#")[0], maxsplit=1)
    bare = _USER.sub("", address)
    return BAD_ADDRESS if "@" in bare and not parsed.netloc else f"{bare}{'?...' if rest else ''}"


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
    return local or is_metadata(host) or not all(each.is_global for each in find_addresses(host))


def is_metadata(host: str) -> bool:
    """Tell whether a name or number may lead to the secrets of a machine in a cloud."""
    return any(address in network for address in find_addresses(host) for network in METADATA)


def find_addresses(host: str) -> list[IPAddress]:
    """Resolve a name or number to addresses; none if it is unknown.

    An address of IPv6 that stands for one of IPv4 is that: mapped or compatible (RFC 4291), by
    translation (64:ff9b::/96, RFC 6052) or by a tunnel (2002::/16, RFC 3056).
    """
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [unmap_address(ipaddress.ip_address(address)) for *_, (address, *_) in answers]


def unmap_address(address: IPAddress) -> IPAddress:
    """Return the IPv4 address that an IPv6 address stands for; any other as it is."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in TRANSLATED or int(address) in COMPATIBLE:
        return ipaddress.IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or address

"""URLs: secrets in them, their printable form, and private networks.

Settings are committed with ``dvc.lock`` and pushed with DVC's run cache, so they must not contain
secrets. Credentials belong in ``~/.netrc``.
"""

import ipaddress
import re
import socket
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator

from nmt_core.base.errors import CorpusError

SCHEMES = ("http", "https")

NETRC_ADVICE = "write a line 'machine HOST login NAME password WORD' into ~/.netrc"

BAD_ADDRESS = "an address that cannot be read"

NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that represent IPv4 addresses (RFC 6052)."""

METADATA = [*map(ipaddress.ip_network, ("168.63.129.16", "192.0.0.0/24", "64:ff9b:1::/48"))]
"""Networks of cloud metadata services, which have secrets, that ``is_global`` may be true for."""

_SECRET_VALUE = re.compile(r"[a-z]{2,10}[_-](?=[a-z\d]*[A-Z])(?=[A-Z\d]*[a-z])[A-Za-z\d]{20,}")
"""A token with the prefix of its issuer, such as ``ghp_`` or ``hf_``."""

_SECRET_NAME = re.compile(r"auth|credential|key|pass|pwd|secret|sig|token", re.IGNORECASE)
_QUERY = re.compile(r"(?<=://)([^\s?#;]*)[?#;][^\s'\")]+")
_USER = re.compile(r"(?<=://)[^\s/?#]*@")


def _check(url: str) -> str:
    if not re.fullmatch(r"https?://\S+", url) or redact_url(url) == BAD_ADDRESS:
        raise ValueError(
            f"must begin with http:// or https:// and contain no space, got {redact_url(url)!r}"
        )
    if _USER.search(url):
        raise ValueError(
            f"must not contain a user name or password, since settings are committed and pushed, "
            f"got {redact_url(url)!r} with one; {NETRC_ADVICE}"
        )
    for name, _, value in (part.partition("=") for part in re.split("[?#;&]", url)[1:]):
        if _SECRET_NAME.search(unquote(name)) or _SECRET_VALUE.fullmatch(unquote(value)):
            raise ValueError(
                f"must not contain a secret, since settings are committed and pushed, got "
                f"{name}=...; fetch the file yourself, and set it with kind: files"
            )
    return url


Address = Annotated[str, AfterValidator(_check)]
"""A URL without secrets; may contain ``{language}``."""


def redact_url(url: str) -> str:
    """Return a printable URL: without user, password, parameters and query."""
    try:
        parsed = urlsplit(url)
        _ = parsed.port  # raises a ValueError unless it is a number
    except ValueError:
        return BAD_ADDRESS
    address, *query = re.split("[?;]", url.partition("#")[0], maxsplit=1)
    bare = _USER.sub("", address)
    return BAD_ADDRESS if "@" in bare and not parsed.netloc else f"{bare}{'?...' if query else ''}"


def redact(text: str) -> str:
    """Return a text without the users, passwords and queries of the URLs in it."""
    return _QUERY.sub(r"\1?...", _USER.sub("", text))


def check_redirect(origin: str, destination: str) -> None:
    """Raise a CorpusError for an unsafe redirect, such as into a private network."""
    before, after = urlsplit(origin), urlsplit(destination)
    host = after.hostname or ""
    if after.scheme not in SCHEMES:
        reason = f"to {after.scheme}:, which is not http or https"
    elif before.scheme == "https" and after.scheme == "http":
        reason = "to an address without encryption"
    elif is_private(host) and not is_private(before.hostname or ""):
        reason = f"into a private network ({host})"
    else:
        return
    raise CorpusError(
        f"{redact_url(origin)} redirects {reason}; set the final address if it is safe"
    )


def is_private(host: str) -> bool:
    """Return whether a host, in any spelling, may resolve to a private network; False if unknown.

    IPv6 addresses that represent IPv4 are converted: mapped (RFC 4291), translated (RFC 6052) and
    6to4 (RFC 3056). Cloud metadata services count as private.
    """
    if host.rstrip(".").endswith("localhost"):
        return True
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    for *_, (number, *_) in answers:
        address = ipaddress.ip_address(number)
        if isinstance(address, ipaddress.IPv6Address):
            translated = ipaddress.IPv4Address(address.packed[-4:]) if address in NAT64 else None
            address = translated or address.ipv4_mapped or address.sixtofour or address
        if not address.is_global or any(address in network for network in METADATA):
            return True
    return False

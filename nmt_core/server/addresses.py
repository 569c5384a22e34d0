"""Checks of the names and addresses in a request's head."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers

from nmt_core.corpora.fetch.address import unmap_address
from nmt_core.server.errors import CLOSE, RequestError
from nmt_core.server.settings import ServerConfig

LOCAL = "localhost"


def name_client(address: str) -> str:
    """Return the name under which a client is counted: its IPv4 address or its /64 of IPv6.

    A user of IPv6 commonly has a whole /64, and so 2**64 addresses.
    """
    try:
        parsed = unmap_address(ipaddress.ip_address(address))
    except ValueError:  # a proxy may name its clients otherwise
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))


def check_framing(headers: Headers) -> None:
    """Refuse a request with two lengths, of which a proxy may have believed the other.

    Raises:
        RequestError: if it has ``Content-Length`` and ``Transfer-Encoding`` (RFC 9112, 6.1).
    """
    if "content-length" in headers and "transfer-encoding" in headers:
        raise RequestError(
            400,
            "the request has both Content-Length and Transfer-Encoding; send one of them",
            CLOSE,
        )


def check_host(headers: Headers, config: ServerConfig) -> None:
    """Refuse a host name that a page of another site may have pointed to this machine.

    Browsers always send ``Host``; a request without it comes from another program, such as the
    health check of a load balancer.

    Raises:
        RequestError: if the name is not an address, localhost or a name of this server.
    """
    if "host" not in headers:
        return
    host = (_split(f"//{headers['host']}").hostname or "").lower()
    names = {LOCAL, config.host.lower(), *config.hosts}
    if "*" in names or host in names or _is_address(host):
        return
    raise RequestError(
        403, f"{host[:100]!r} is not a name of this server; start it with --host-name to allow it"
    )


def check_origin(method: str, headers: Headers, config: ServerConfig) -> None:
    """Refuse requests from pages of other sites.

    Raises:
        RequestError: unless that site is allowed.
    """
    origin = headers.get("origin")
    if origin is None or method in ("GET", "HEAD", "OPTIONS"):
        return
    if {"*", origin} & set(config.origins) or _split(origin).netloc == headers.get("host"):
        return
    raise RequestError(
        403, "pages of other sites may not use this server; start it with --origin to allow one"
    )


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        raise RequestError(
            400, f"{address[:100]!r} in a header of the request is no address; send a right one"
        ) from None


def _is_address(host: str) -> bool:
    """Tell whether a host is an IP address, which no name server has a say in."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True

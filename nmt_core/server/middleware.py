"""Middleware around every request: checks of host and origin, limits, metrics and logs."""

import asyncio
import ipaddress
import json
import logging
import math
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt_core.corpora.fetch.address import unmap_address
from nmt_core.server.errors import CLOSE, RequestError
from nmt_core.server.logs import describe_failure
from nmt_core.server.metrics import Metrics
from nmt_core.server.settings import ServerConfig

_log = logging.getLogger(__name__)

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load: nothing from elsewhere, nothing inline."""

HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}

FILES_ROUTE = "/translate_file"
LOCAL = "localhost"

DISCARDED = 8
"""Multiple of the limit that is read of an oversized body, so that the client receives the 413."""

PART_BYTES = 2**16
"""Bytes of an answer that are sent at once: a client that does not read keeps no more in memory."""


class HeldBytes:
    """Counts the bytes of requests and answers that are in memory.

    Args:
        limit: bytes of all together; one address may have half of them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._all = 0
        self._own: Counter[str] = Counter()

    def add(self, address: str, size: int) -> None:
        """Count bytes of an address, or refuse the request if they are too many."""
        if self._all + size > self._limit or self._own[address] + size > self._limit / 2:
            raise RequestError(
                503,
                "the server holds as many requests as it has memory for; try again in 5 seconds",
                {"Retry-After": "5", "Connection": "close"},
            )
        self._all += size
        self._own[address] += size

    def remove(self, address: str, size: int) -> None:
        """Count bytes no more."""
        self._all -= size
        self._own[address] -= size
        if not self._own[address]:
            del self._own[address]


class RequestMiddleware:
    """Refuses forbidden requests, limits the others, counts and logs all of them."""

    def __init__(self, app: ASGIApp, *, config: ServerConfig, metrics: Metrics) -> None:
        self.app = app
        self.config = config
        self.metrics = metrics
        self.held = HeldBytes(config.most_held_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(self, scope, receive, send)
        try:
            await exchange.run()
        finally:
            exchange.record()


class _Exchange:
    """One request and its answer."""

    def __init__(
        self, middleware: RequestMiddleware, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._app, self._config = middleware.app, middleware.config
        self._metrics, self._held = middleware.metrics, middleware.held
        self._address = name_client((scope.get("client") or ("unknown",))[0])
        self._scope = {**scope, "client": (self._address, 0)}
        if scope["method"] == "HEAD":  # routes answer it as a GET; the server leaves the body out
            self._scope["method"] = "GET"
        self._receive, self._send = receive, send
        self._began = time.monotonic()
        self._until = math.inf
        self._id = uuid.uuid4().hex[:12]
        self._status = 0
        self._bytes, self._held_bytes = 0, 0
        self._is_whole, self._is_refused = False, False
        self._start: Message | None = None
        self._limit = self._config.max_body_bytes
        if scope["path"] == FILES_ROUTE:
            self._limit = self._config.max_file_bytes + 10_000

    async def run(self) -> None:
        """Check the head, then let the routes answer."""
        headers = Headers(scope=self._scope)
        try:
            check_framing(headers)
            check_host(headers, self._config)
            check_origin(self._scope["method"], headers, self._config)
            await self._check_size(headers)
            await self._app(self._scope, self.receive, self.send)
        except RequestError as error:
            await self._refuse(error)
        except ClientDisconnect:  # the answer has no reader
            self._status = 499
        except TimeoutError:
            _log.info("a client took its answer too slowly", extra={"id": self._id})
        except Exception as error:  # noqa: BLE001 - whatever it is, its message may hold text
            _log.error(
                "a request failed", extra={"id": self._id, "failure": describe_failure(error)}
            )
            failed = f"the server failed; its log says why, at request {self._id}"
            await self._refuse(RequestError(500, failed))

    async def _check_size(self, headers: Headers) -> None:
        """Refuse a body that says to be too large, once it is sent, or given up."""
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._limit:
            while not self._is_whole and self._bytes < DISCARDED * self._limit:
                await self._read()
            raise self._too_large()

    async def receive(self) -> Message:
        """Return the next part of the body; refuse one that is too large or comes too slowly."""
        if self._is_whole:
            return await self._receive()
        message = await self._read()
        if self._bytes > self._limit:
            raise self._too_large()
        self._hold(len(message.get("body", b"")))
        return message

    def _too_large(self) -> RequestError:
        return RequestError(
            413, f"a request may have {self._limit} bytes; send less at once", CLOSE
        )

    def _hold(self, size: int) -> None:
        self._held.add(self._address, size)
        self._held_bytes += size

    async def _read(self) -> Message:
        left = self._began + self._config.read_seconds - time.monotonic()
        try:
            async with asyncio.timeout(max(left, 0.01)):
                message = await self._receive()
        except TimeoutError:
            seconds = f"{self._config.read_seconds:g}"
            raise RequestError(
                408, f"the request was not whole after {seconds} seconds; send it faster", CLOSE
            ) from None
        self._bytes += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Pass the answer on; its head waits for the first bytes of its body.

        If these are more than the server may hold, a refusal is sent instead.
        """
        if self._is_refused:
            return
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._start:
            try:
                self._hold(len(message.get("body", b"")))
            except RequestError as error:
                await self._refuse(error)
                return
            start, self._start = self._start, None
            await self._forward(start)
        await self._forward(message)

    async def _forward(self, message: Message) -> None:
        """Send a head with the headers that each has, or a body as fast as the client takes it."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._until = time.monotonic() + self._config.work_seconds
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-Id"] = self._id
        for part in cut_body(message):
            left = self._until - time.monotonic()
            async with asyncio.timeout(min(left, self._config.read_seconds)):
                await self._send(part)
            if part.get("more_body"):  # others go on where the client reads fast
                await asyncio.sleep(0)

    async def _refuse(self, error: RequestError) -> None:
        if self._status:  # the answer has begun; the connection is closed without its end
            return
        self._is_refused = True
        await render_error(error)(self._scope, self._receive, self._forward)

    def record(self) -> None:
        """Count the request and log it."""
        self._held.remove(self._address, self._held_bytes)
        route = getattr(self._scope.get("route"), "path", None) or "other"
        seconds = time.monotonic() - self._began
        self._metrics.count_request(route, self._status, seconds)
        _log.info(
            "request",
            extra={
                "id": self._id,
                "route": route,
                "status": self._status,
                "milliseconds": round(seconds * 1000, 1),
                "bytes": self._bytes,
            },
        )


def render_error(error: RequestError) -> Response:
    """Return an answer that names the reason; half a character that it quotes is escaped."""
    body = json.dumps({"error": error.message})
    return Response(body, error.status, error.headers, "application/json")


def cut_body(message: Message) -> Iterator[Message]:
    """Yield a part of an answer's body in parts of at most :data:`PART_BYTES`."""
    body = message.get("body", b"")
    last = max(0, len(body) - 1) // PART_BYTES * PART_BYTES
    for start in range(0, last, PART_BYTES):
        yield {**message, "body": body[start : start + PART_BYTES], "more_body": True}
    yield {**message, "body": body[last:]} if last else message


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
    """Refuse a request with two lengths, of which a proxy may believe the other (RFC 9112, 6.1)."""
    if "content-length" in headers and "transfer-encoding" in headers:
        raise RequestError(
            400,
            "the request has both Content-Length and Transfer-Encoding; send one of them",
            CLOSE,
        )


def check_host(headers: Headers, config: ServerConfig) -> None:
    """Refuse a host name that a page of another site may have pointed to this machine.

    The server accepts addresses, localhost and its own names. Browsers always send ``Host``; a
    request without it comes from another program, such as the health check of a load balancer.
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
    """Refuse requests from pages of other sites, unless the site is allowed."""
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

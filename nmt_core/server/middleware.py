"""Middleware for all requests: checks, limits, headers, metrics and logs."""

import asyncio
import logging
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt_core.server.errors import RequestError, describe_failure
from nmt_core.server.metrics import Metrics
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import name_client, parse_address

_log = logging.getLogger(__name__)

DEFAULT_HEADERS = {
    # the page loads no resources of other sites, and has no inline scripts or styles
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Headers of every response that does not set them itself."""

READ_SECONDS = 20.0
"""Maximum seconds for a client to send a request."""

CLOSE = {"Connection": "close"}


@dataclass
class RequestMiddleware:
    """Rejects forbidden and oversized requests; counts and logs all requests."""

    app: ASGIApp
    config: ServerConfig
    metrics: Metrics
    held: Counter[str] = field(default_factory=Counter)
    """Bytes of requests and responses in memory, by client."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or reject it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(self, scope, receive, send)
        try:
            await exchange.run(self.app)
        finally:
            exchange.record(self.metrics)


class _Exchange:
    """One request and its response."""

    def __init__(
        self, middleware: RequestMiddleware, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._config, self._held = middleware.config, middleware.held
        self._client = name_client((scope.get("client") or ("unknown",))[0])
        # the routes handle HEAD as GET, and the server omits the body
        self._scope = {**scope, "method": scope["method"].replace("HEAD", "GET")}
        self._receive, self._send = receive, send
        self._began = time.monotonic()
        self._id = uuid.uuid4().hex[:12]
        self._status = 0
        """0 until the response begins."""
        self._start: Message
        """Head of the response, sent with the first bytes of the body."""
        self._bytes, self._held_bytes = 0, 0
        self._is_whole, self._is_refused = False, False
        is_file = scope["path"] == "/translate_file"
        config = self._config  # JSON takes up to 12 bytes per character
        text_bytes = 12 * config.max_characters + 100 * config.max_texts
        self._limit = 10_000 + (config.max_file_bytes if is_file else text_bytes)

    async def run(self, app: ASGIApp) -> None:
        """Check the head, then pass the request to the application."""
        headers, refusal = Headers(scope=self._scope), None
        try:
            check_host(headers, self._config)
            check_origin(self._scope["method"], headers, self._config)
            await app(self._scope, self.receive, self.send)
        except RequestError as error:
            refusal = error
        except ClientDisconnect:
            self._status = 499
        except Exception as error:  # noqa: BLE001 - the message of any error may contain user text
            failure = describe_failure(error)
            _log.error("a request failed", extra={"id": self._id, "failure": failure})
            failed = f"the server failed; see its log at request {self._id}"
            refusal = RequestError(500, failed)
        if refusal and not self._status:  # a response that has begun is cut off instead
            self._is_refused = True
            await refusal.render()(self._scope, self._receive, self.send)

    async def receive(self) -> Message:
        """Return the next message of the body."""
        if self._is_whole:  # the routes wait for the disconnect
            return await self._receive()
        try:
            async with asyncio.timeout(self._began + READ_SECONDS - time.monotonic()):
                message = await self._receive()
        except TimeoutError:
            slow = f"the request took more than {READ_SECONDS:g} seconds to arrive; send less"
            raise RequestError(408, slow, CLOSE) from None
        size = len(message.get("body", b""))
        self._bytes += size
        self._is_whole = not message.get("more_body", False)
        if self._bytes > self._limit:
            limit = f"the request exceeds {self._limit} bytes; send less at once"
            raise RequestError(413, limit, CLOSE)
        self._hold(size)
        return message

    def _hold(self, size: int) -> None:
        """Count bytes in memory; raise a RequestError beyond the limit, or half for a client."""
        limit = max(self._config.max_held_bytes, 4 * self._config.max_file_bytes)
        if self._held.total() + size > limit or self._held[self._client] + size > limit / 2:
            full = "the server has no memory for more requests; try again in 5 seconds"
            raise RequestError(503, full, CLOSE | {"Retry-After": "5"})
        self._held[self._client] += size
        self._held_bytes += size

    async def send(self, message: Message) -> None:
        """Send a message of the response, with the default headers."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if not self._is_refused:
            self._hold(len(message.get("body", b"")))
        if not self._status:
            self._status = self._start["status"]
            headers = MutableHeaders(scope=self._start)
            for name, value in DEFAULT_HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-Id"] = self._id
            await self._send(self._start)
        await self._send(message)

    def record(self, metrics: Metrics) -> None:
        """Count the request and log it."""
        self._held[self._client] -= self._held_bytes
        if not self._held[self._client]:
            del self._held[self._client]
        route = getattr(self._scope.get("route"), "path", None) or "other"
        seconds = time.monotonic() - self._began
        metrics.count_request(route, self._status, seconds)
        more = {"id": self._id, "route": route, "status": self._status, "bytes": self._bytes}
        _log.info("request", extra=more | {"milliseconds": round(seconds * 1000, 1)})


def check_host(headers: Headers, config: ServerConfig) -> None:
    """Check the host name against DNS rebinding.

    IP addresses, localhost and the configured names are accepted. A request without ``Host`` does
    not come from a browser, but for example from a load balancer's health check.
    """
    if "host" not in headers:
        return
    host = (_split(f"//{headers['host']}").hostname or "").lower()
    names = {"localhost", config.host.lower(), *config.hosts}
    if "*" in names or host in names or parse_address(host):
        return
    raise RequestError(
        403, f"{host[:100]!r} is not a name of this server; start it with --host-name to allow it"
    )


def check_origin(method: str, headers: Headers, config: ServerConfig) -> None:
    """Raise a RequestError for a request from a page of another site that is not allowed."""
    origin = headers.get("origin")
    if origin is None or method in ("GET", "HEAD", "OPTIONS"):
        return
    if {"*", origin} & set(config.origins) or _split(origin).netloc == headers.get("host"):
        return
    raise RequestError(
        403, "pages of this site must not use the server; start it with --origin to allow the site"
    )


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        raise RequestError(
            400, f"{address[:100]!r} in a header of the request is not a valid address; correct it"
        ) from None

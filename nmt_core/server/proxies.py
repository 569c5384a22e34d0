"""Headers of reverse proxies, believed from named addresses alone."""

import re
from typing import Any

from typing_extensions import override
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

PREFIX = re.compile(rb"(?:/[\w.~-]{1,100}){1,10}")
"""A path below which a proxy serves the API and the page."""


class TrustedProxies(ProxyHeadersMiddleware):
    """Take client, scheme and path prefix from ``X-Forwarded-For``, ``-Proto`` and ``-Prefix``."""

    def __init__(self, app: Any, trusted_hosts: list[str]) -> None:
        """Take an application, and the addresses of proxies."""
        super().__init__(app, trusted_hosts)

    @override
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        host, _ = scope.get("client") or ("", 0)
        if scope["type"] == "http" and host in self.trusted_hosts:
            prefix = dict(scope["headers"]).get(b"x-forwarded-prefix", b"").rstrip(b"/")
            if PREFIX.fullmatch(prefix):
                scope = {**scope, "root_path": prefix.decode()}
        await super().__call__(scope, receive, send)

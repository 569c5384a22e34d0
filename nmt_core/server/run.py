"""The ASGI application, and the process that serves it."""

import ipaddress
import logging
import re
import signal
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from typing_extensions import override
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nmt_core.base.errors import ConfigError, DocumentError
from nmt_core.server.errors import RequestError, set_up_logs
from nmt_core.server.middleware import RequestMiddleware
from nmt_core.server.models import Load, Models, WatchedModel
from nmt_core.server.routes import PAGE, router
from nmt_core.server.service import Service
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import ApiKeys, read_keys

_log = logging.getLogger(__name__)

UNPROTECTED = (
    "the server is open to everybody who can reach this address; add --api-keys FILE, or remove "
    "--host"
)
"""Warning of a server that other machines can reach without API keys."""

MAX_CONNECTIONS = 800
"""Maximum open connections, below the usual limit of 1,024 open files; others get a 503."""

MAX_HEAD = 65_536
"""Maximum bytes of the head of a request, and of what may stand between two parts of its body."""

PREFIX = re.compile(rb"(?:/[\w.~-]{1,100}){1,10}")
"""Path prefix under which a proxy serves the API and the page."""

STOP_SECONDS = 30
"""Maximum seconds to finish open requests when the server stops."""


def build_app(models: Models, config: ServerConfig, keys: ApiKeys | None = None) -> FastAPI:
    """Return the application; without ``keys``, everybody can use it."""
    app = FastAPI(
        title="nmt",
        description="Machine translation with LibreTranslate's API.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=run_service,
    )
    app.state.service = service = Service(config, models, keys)
    app.include_router(router)
    # not mounted, because a mount would answer known paths with other methods
    app.router.default = StaticFiles(directory=str(PAGE), html=True, check_dir=False)
    for error in (RequestError, ConfigError, DocumentError, HTTPException):
        app.add_exception_handler(error, answer_error)
    app.add_middleware(RequestMiddleware, config=config, metrics=service.metrics)
    if config.origins:  # outermost, so that pages of allowed sites can read error responses
        app.add_middleware(
            CORSMiddleware,
            allow_origins=config.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["Retry-After"],
            max_age=86400,
        )
    return app


@asynccontextmanager
async def run_service(app: FastAPI) -> AsyncIterator[None]:
    """Run the scheduler and the model watcher as long as the application runs."""
    service: Service = app.state.service
    service.scheduler.start()
    stopped = Event()
    Thread(target=watch_models, args=(service, stopped), daemon=True).start()
    try:
        yield
    finally:
        stopped.set()
        await service.scheduler.stop()


def watch_models(service: Service, stopped: Event) -> None:
    """Poll for newer models until stopped; runs in a thread, because a poll may take minutes."""
    while not stopped.wait(service.config.watch_seconds):
        service.metrics.swaps.inc(service.models.refresh())


def answer_error(request: Request, error: Exception) -> Response:
    """Return the error response of an exception."""
    if isinstance(error, HTTPException):
        message = {
            404: "this path does not exist; /docs lists the paths",
            405: f"{request.method} is not allowed for this path; /docs lists the methods",
        }.get(error.status_code, str(error.detail))
        error = RequestError(error.status_code, message, error.headers)
    if isinstance(error, ConfigError):  # an unknown tag or an invalid glossary
        error = RequestError(400, f"Invalid request: {error}")
    return (error if isinstance(error, RequestError) else RequestError(400, str(error))).render()


def listen(config: ServerConfig) -> socket.socket:
    """Return a listening socket."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        return socket.create_server((config.host, config.port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {config.host}:{config.port} ({error.strerror or error}); give "
            f"another --port or --host"
        ) from None


class TrustedProxies(ProxyHeadersMiddleware):
    """Sets client, scheme and path prefix from ``X-Forwarded-For``, ``-Proto`` and ``-Prefix``."""

    @override
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        host, _ = scope.get("client") or ("", 0)
        if scope["type"] == "http" and host in self.trusted_hosts:
            prefix = dict(scope["headers"]).get(b"x-forwarded-prefix", b"").rstrip(b"/")
            if PREFIX.fullmatch(prefix):
                scope = {**scope, "root_path": prefix.decode()}
        await super().__call__(scope, receive, send)


class BoundedProtocol(HttpToolsProtocol):
    """HTTP that refuses an endless head, chunk size or trailer, which would fill the memory."""

    _unparsed = 0

    @override
    def data_received(self, data: bytes) -> None:
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > MAX_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    @override
    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._unparsed = 0

    @override
    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._unparsed = 0


def run_app(app: FastAPI, config: ServerConfig, listening: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C, then finish open requests and return."""
    server = uvicorn.Server(
        uvicorn.Config(
            TrustedProxies(cast("Any", app), [*config.trusted_proxies]),
            http=BoundedProtocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=MAX_CONNECTIONS,
            proxy_headers=False,  # TrustedProxies reads them
            timeout_graceful_shutdown=STOP_SECONDS,
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again at its end
        signal.signal(number, lambda *_: None)
    server.run([listening])


def serve_models(
    watched: Sequence[WatchedModel], load: Load, config: ServerConfig, *, keys: Path | None = None
) -> None:
    """Load models and serve them until SIGTERM or Ctrl-C; ``keys`` is a file of API keys.

    Raises:
        NmtError: if a model cannot be served, or the address is in use.
    """
    api_keys = read_keys(keys) if keys else None
    with listen(config) as listening:
        app = build_app(Models(watched, load), config, api_keys)
        set_up_logs()
        host, port = listening.getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        served = ", ".join("-".join(model.pair) for model in app.state.service.models.served)
        announced = "translating %s at %s; press Ctrl-C to stop; /docs describes the API"
        _log.info(announced, served, address, extra={"address": address, "models": served})
        if api_keys is None and not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
            _log.warning(UNPROTECTED)
        run_app(app, config, listening)

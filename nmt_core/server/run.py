"""The server as a process: it listens, serves and ends."""

import asyncio
import ipaddress
import logging
import resource
import signal
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from nmt_core.base.errors import ConfigError
from nmt_core.server.app import build_app
from nmt_core.server.logs import set_up_logs
from nmt_core.server.models import Load, Models, Watched
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import read_keys

_log = logging.getLogger(__name__)

UNPROTECTED = (
    "anybody who reaches this address may use the server; give --api-keys FILE, or leave --host out"
)
"""The warning of a server that is open to others without a key."""

OTHER_FILES = 200
"""Files that a server may have open beside its connections."""


class ImpatientProtocol(H11Protocol):
    """Closes a connection if its request head is late or its answer is not read.

    Closing alone would wait until a client that does not read has read.
    """

    seconds = 20.0
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # writing is paused where the client must read
        self._expect_head()

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_timer = self.loop.call_later(self.seconds, self.transport.abort)

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._read_timer)

    @override
    def data_received(self, data: bytes) -> None:
        if self._head_timer is None and (self.cycle is None or self.cycle.response_complete):
            self._expect_head()
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            _cancel(self._head_timer)
            self._head_timer = None

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._head_timer)
        _cancel(self._read_timer)
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(self.seconds, self.transport.close)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def listen(config: ServerConfig) -> socket.socket:
    """Return a socket that listens.

    Raises:
        ConfigError: if the address is taken, or not one of this machine.
    """
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        listening = socket.create_server(
            (config.host, config.port), family=family, backlog=2048, reuse_port=False
        )
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {config.host}:{config.port} ({error.strerror or error}); give "
            f"another --port or --host"
        ) from None
    # or the body of an answer waits 40 ms until the client has said that the head has come
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def allow_connections(count: int) -> int:
    """Raise the limit of open files, and return the number of connections that it allows.

    Beyond ``count`` as many again can be open, to be told that they are too many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * count + OTHER_FILES
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, min(count, soft - OTHER_FILES))


def run_app(app: FastAPI, config: ServerConfig, listening: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C; then finish open requests, refuse new ones, and return."""
    protocol = type("Protocol", (ImpatientProtocol,), {"seconds": config.read_seconds})
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=allow_connections(config.max_connections),
            forwarded_allow_ips=list(config.trusted_proxies),
            timeout_keep_alive=max(5, int(config.read_seconds)),
            timeout_graceful_shutdown=int(config.stop_seconds),
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again at its end
        signal.signal(number, lambda *_: None)
    server.run([listening])


def is_loopback(host: str) -> bool:
    """Tell whether an address is reached from this machine alone."""
    return ipaddress.ip_address(host.partition("%")[0]).is_loopback


def serve_models(
    watched: Sequence[Watched], load: Load, config: ServerConfig, *, keys: Path | None = None
) -> None:
    """Load models and serve them until SIGTERM or Ctrl-C.

    Args:
        watched: where the models come from.
        load: loads and verifies one.
        config: how to listen, and bounds.
        keys: file of API keys; None where everybody may use the server.

    Raises:
        NmtError: if a model cannot be served, or the address is not free.
    """
    api_keys = read_keys(keys) if keys else None
    with listen(config) as listening:
        app = build_app(Models(watched, load), config, api_keys)
        set_up_logs()
        host, port = listening.getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        served = ", ".join(str(model.pair) for model in app.state.service.models.served)
        announced = "translating %s at %s until Ctrl-C; /docs describes the API"
        _log.info(announced, served, address, extra={"address": address, "models": served})
        if api_keys is None and not is_loopback(host):
            _log.warning(UNPROTECTED)
        run_app(app, config, listening)

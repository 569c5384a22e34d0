"""The server as a process: its socket, connections and start."""

import asyncio
import logging
import resource
import socket
from contextlib import asynccontextmanager

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI, Request
from uvicorn.server import ServerState

from nmt_core.base.errors import ConfigError
from nmt_core.server import run
from nmt_core.server.models import LanguagePair, Watched
from nmt_core.server.run import UNPROTECTED, is_loopback, listen, serve_models
from nmt_core.server.settings import ServerConfig
from tests.support.processes import wait_for
from tests.support.stand_in import StandIn, StandInSource, in_a_loop


def test_no_answer_waits_for_an_acknowledgement():
    """Nagle's algorithm and delayed acknowledgements cost 40 ms a request."""
    with (
        listen(ServerConfig(port=0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_taken_port_is_named():
    with listen(ServerConfig(port=0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"cannot listen on 127\.0\.0\.1:{port} "):
            listen(ServerConfig(port=port))


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.7", False),
        ("fe80::1%eth0", False),
    ],
)
def test_loopback_is_this_machine_alone(host, alone):
    assert is_loopback(host) == alone


@pytest.mark.parametrize(
    ("host", "has_keys", "warned"),
    [("127.0.0.1", False, False), ("0.0.0.0", False, True), ("0.0.0.0", True, False)],
)
def test_start_is_announced_and_open_servers_warned(
    monkeypatch, caplog, tmp_path, host, has_keys, warned
):
    (keys := tmp_path / "keys").write_text("a-secret-key\n")
    apps = []
    monkeypatch.setattr(run, "run_app", lambda app, *_: apps.append(app))
    monkeypatch.setattr(run, "set_up_logs", lambda: None)
    caplog.set_level(logging.INFO)
    serve_models(
        [Watched(StandInSource(), LanguagePair("de", "en"))],
        lambda _: StandIn(),
        ServerConfig(host=host, port=0),
        keys=keys if has_keys else None,
    )

    messages = [record.getMessage() for record in caplog.records]
    assert messages[0].startswith(f"translating de-en at http://{host}:")
    assert caplog.records[0].models == "de-en"
    assert (UNPROTECTED in messages) == warned
    assert (apps[0].state.service.keys is not None) == has_keys


def run_with(monkeypatch, app=None, **settings):
    """Return the settings that uvicorn is started with."""
    started = {}
    monkeypatch.setattr(
        run.uvicorn.Server, "run", lambda self, _: started.update(config=self.config)
    )
    monkeypatch.setattr(run.signal, "signal", lambda *_: None)
    config = ServerConfig(port=0, **settings)
    with listen(config) as listening:
        run.run_app(app or FastAPI(), config, listening)
    return started["config"]


def test_seconds_of_the_settings_are_those_of_the_server(monkeypatch):
    config = run_with(monkeypatch, read_seconds=7, stop_seconds=9)

    assert config.http.seconds == config.timeout_keep_alive == 7
    assert config.timeout_graceful_shutdown == 9
    assert not config.access_log


@pytest.mark.parametrize(
    ("client", "prefix", "expected"),
    [
        ("10.0.0.1", "/mt/", ["9.9.9.9", "https", "https://mt/mt/x"]),
        ("10.0.0.1", "//evil.org", ["9.9.9.9", "https", "https://mt/x"]),
        ("10.0.0.2", "/mt", ["10.0.0.2", "http", "http://mt/x"]),
    ],
)
@in_a_loop
async def test_only_named_proxies_are_believed(monkeypatch, client, prefix, expected):
    app = FastAPI()

    @app.get("/x", name="x")
    def show(request: Request):
        return [request.client.host, request.url.scheme, str(request.url_for("x"))]

    config = run_with(monkeypatch, app, trusted_proxies=("10.0.0.1",))
    config.load()
    headers = {"X-Forwarded-For": "9.9.9.9", "X-Forwarded-Proto": "https"}
    headers |= {"X-Forwarded-Prefix": prefix}
    transport = httpx2.ASGITransport(config.loaded_app, client=(client, 1))
    async with httpx2.AsyncClient(transport=transport, base_url="http://mt") as asker:
        answer = await asker.get("/x", headers=headers)

    assert answer.json() == expected


def test_limit_of_connections_is_what_may_be_open(monkeypatch):
    monkeypatch.setattr(run, "allow_connections", lambda count: count - 1)

    assert run_with(monkeypatch, max_connections=50).limit_concurrency == 49


@pytest.mark.parametrize(
    ("limits", "raised", "allowed"),
    [
        ((1024, 100_000), (2200, 100_000), 1000),
        ((1024, 1024), (1024, 1024), 824),
        ((100_000, 100_000), None, 1000),
        ((1024, resource.RLIM_INFINITY), (2200, resource.RLIM_INFINITY), 1000),
    ],
)
def test_limit_of_open_files_is_raised(monkeypatch, limits, raised, allowed):
    changes = []
    monkeypatch.setattr(run.resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(run.resource, "setrlimit", lambda _, given: changes.append(given))

    assert run.allow_connections(1000) == allowed
    assert changes == ([raised] if raised else [])


@asynccontextmanager
async def serve(answer, seconds):
    """Yield the address of a server that waits some seconds for its clients, and its state."""
    protocol = type("Protocol", (run.ImpatientProtocol,), {"seconds": seconds})
    config, state = uvicorn.Config(answer, lifespan="off", log_config=None), ServerState()
    config.load()
    server = await asyncio.get_running_loop().create_server(
        lambda: protocol(config, state, {}), "127.0.0.1", 0
    )
    async with server, asyncio.timeout(20):
        yield server.sockets[0].getsockname(), state


HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@in_a_loop
async def test_client_that_does_not_read_is_dropped():
    """Closing a connection waits until all has been taken, which may be never."""
    size, answered = 30_000_000, []  # more than the system keeps

    async def answer(scope, receive, send):
        length = [(b"content-length", str(size).encode()), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        for more in (True, False):
            half = {"type": "http.response.body", "body": bytes(size // 2), "more_body": more}
            await send(half)
        answered.append(scope["path"])

    async with serve(answer, seconds=1.0) as (address, state):
        with socket.create_connection(address) as deaf:
            deaf.sendall(HEAD)
            assert await asyncio.to_thread(
                wait_for, lambda: answered and not state.connections, seconds=20
            )
        with socket.create_connection(address) as hearing:
            hearing.sendall(HEAD)
            assert await asyncio.to_thread(lambda: len(hearing.makefile("rb").read())) > size


@pytest.mark.parametrize("before", [b"", HEAD])
@in_a_loop
async def test_late_head_closes_the_connection(before):
    """Also that of a second request; a work of longer than that is not disturbed."""

    async def answer(scope, receive, send):
        await asyncio.sleep(0.5)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async with serve(answer, seconds=0.3) as (address, _):
        reader, writer = await asyncio.open_connection(*address)
        if before:
            writer.write(before)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204 ")
        writer.write(HEAD[:9])
        began = asyncio.get_running_loop().time()
        assert await reader.read() == b""
        assert asyncio.get_running_loop().time() - began < 5
        writer.close()

"""The socket that the server listens on."""

import asyncio
import logging
import resource
import socket

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI, Request
from uvicorn.server import ServerState

from infra.servers.server import find_free_port
from nmt_core.base.errors import ConfigError
from nmt_core.server import run
from nmt_core.server.models import LanguagePair, Watched
from nmt_core.server.run import UNGUARDED, is_loopback, listen, serve_models
from nmt_core.server.settings import ServerConfig
from tests.support.processes import wait_for
from tests.support.stand_in import StandIn, StandInSource, in_a_loop


def test_no_answer_waits_for_its_client_to_acknowledge_the_first_half():
    """Nagle's algorithm and delayed acknowledgements cost 40 ms a request."""
    config = ServerConfig(port=find_free_port("127.0.0.1"))
    with listen(config) as listening, socket.create_connection(("127.0.0.1", config.port)):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@in_a_loop
async def test_who_does_not_read_an_answer_is_dropped():
    """Closing a connection waits until all has been taken, which may be never."""
    size, answered = 30_000_000, []  # more than the system keeps

    async def answer(scope, receive, send):
        length = [(b"content-length", str(size).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        for more in (True, False):
            half = {"type": "http.response.body", "body": bytes(size // 2), "more_body": more}
            await send(half)
        answered.append(scope["path"])

    protocol = type("Protocol", (run.ImpatientProtocol,), {"seconds": 1.0})
    config, state = uvicorn.Config(answer, lifespan="off", log_config=None), ServerState()
    config.load()
    server = await asyncio.get_running_loop().create_server(
        lambda: protocol(config, state, {}), "127.0.0.1", 0
    )
    address = server.sockets[0].getsockname()
    asked = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    async with server, asyncio.timeout(20):
        with socket.create_connection(address) as deaf:
            deaf.sendall(asked)
            assert await asyncio.to_thread(
                wait_for, lambda: answered and not state.connections, seconds=20
            )
        with socket.create_connection(address) as hearing:
            hearing.sendall(asked)
            assert await asyncio.to_thread(lambda: len(hearing.makefile("rb").read())) > size


def test_a_taken_port_is_told_in_a_sentence():
    config = ServerConfig(port=find_free_port("127.0.0.1"))
    with listen(config), pytest.raises(ConfigError, match=r"cannot listen on 127\.0\.0\.1:"):
        listen(config)


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
def test_who_reaches_an_address_is_known(host, alone):
    assert is_loopback(host) == alone


@pytest.mark.parametrize(
    ("host", "guarded", "warned"),
    [("127.0.0.1", False, False), ("0.0.0.0", False, True), ("0.0.0.0", True, False)],
)
def test_it_says_where_it_is_and_warns_of_strangers(
    monkeypatch, caplog, tmp_path, host, guarded, warned
):
    (keys := tmp_path / "keys").write_text("a-secret-key\n")
    monkeypatch.setattr(run, "run_app", lambda *_: None)
    monkeypatch.setattr(run, "set_up_logs", lambda: None)
    caplog.set_level(logging.INFO)

    serve_models(
        [Watched(StandInSource(), LanguagePair("de", "en"))],
        lambda _: StandIn(),
        ServerConfig(host=host, port=0),
        keys=keys if guarded else None,
    )

    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith(f"translating de-en at http://{host}:")
    assert caplog.records[0].models == "de-en"
    assert (UNGUARDED in said) == warned


def run_with(monkeypatch, **settings):
    """Return what the server was started with."""
    started = {}
    monkeypatch.setattr(
        run.uvicorn.Server, "run", lambda self, _: started.update(vars(self.config))
    )
    monkeypatch.setattr(run.signal, "signal", lambda *_: None)
    config = ServerConfig(port=find_free_port("127.0.0.1"), **settings)
    with listen(config) as listening:
        run.run_app(FastAPI(), config, listening)
    return started


@pytest.mark.parametrize(
    ("client", "prefix", "answered"),
    [
        ("10.0.0.1", "/mt/", ("9.9.9.9", "https", "https://mt/mt/x")),
        ("10.0.0.1", "//evil.org", ("9.9.9.9", "https", "https://mt/x")),
        ("10.0.0.2", "/mt", ("10.0.0.2", "http", "http://mt/x")),
    ],
)
@in_a_loop
async def test_only_named_proxies_are_believed(monkeypatch, client, prefix, answered):
    app = run_with(monkeypatch, trusted_proxies=("10.0.0.1",))["app"]
    app.app = FastAPI()

    @app.app.get("/x", name="x")
    def show(request: Request):
        return [request.client.host, request.url.scheme, str(request.url_for("x"))]

    headers = {"X-Forwarded-For": "9.9.9.9", "X-Forwarded-Proto": "https"}
    transport = httpx2.ASGITransport(app, client=(client, 1))
    async with httpx2.AsyncClient(transport=transport, base_url="http://mt") as asker:
        answer = await asker.get("/x", headers=headers | {"X-Forwarded-Prefix": prefix})

    assert tuple(answer.json()) == answered


def test_those_beyond_what_may_be_open_are_told_so(monkeypatch):
    monkeypatch.setattr(run, "allow_connections", lambda count: count - 1)

    assert run_with(monkeypatch, max_connections=50)["limit_concurrency"] == 49


@pytest.mark.parametrize(
    ("limits", "raised", "allowed"),
    [
        ((1024, 100_000), (2200, 100_000), 1000),
        ((1024, 1024), (1024, 1024), 824),
        ((100_000, 100_000), None, 1000),
        ((1024, resource.RLIM_INFINITY), (2200, resource.RLIM_INFINITY), 1000),
    ],
)
def test_connections_are_as_many_as_the_system_lets_be_open(monkeypatch, limits, raised, allowed):
    told = []
    monkeypatch.setattr(run.resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(run.resource, "setrlimit", lambda _, given: told.append(given))

    assert run.allow_connections(1000) == allowed
    assert told == ([raised] if raised else [])

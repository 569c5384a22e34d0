"""The server as a process: its socket, connections and start."""

import logging
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI, Request

from nmt_core.base.errors import ConfigError
from nmt_core.server import run
from nmt_core.server.models import WatchedModel
from nmt_core.server.run import UNPROTECTED, listen, serve_models
from nmt_core.server.settings import ServerConfig
from tests.support.stand_in import StandIn, StandInSource, in_a_loop, serve_stand_in

NO_IPV6 = pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="no IPv6 here")


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=NO_IPV6)])
def test_taken_port_is_named(host):
    with listen(ServerConfig(host=host, port=0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(ConfigError, match=re.escape(f"{host}:{port} ")):
            listen(ServerConfig(host=host, port=port))


@pytest.mark.parametrize(
    ("host", "has_keys", "warned"),
    [
        ("127.0.0.1", False, False),
        ("127.8.9.10", False, False),
        ("0.0.0.0", False, True),
        ("0.0.0.0", True, False),
    ],
)
def test_start_is_reported_and_open_servers_warned(
    monkeypatch, caplog, tmp_path, host, has_keys, warned
):
    (keys := tmp_path / "keys").write_text("a-secret-key\n")
    apps = []
    monkeypatch.setattr(run, "run_app", lambda app, *_: apps.append(app))
    monkeypatch.setattr(run, "set_up_logs", lambda: None)
    caplog.set_level(logging.INFO)
    serve_models(
        [WatchedModel(StandInSource().poll, ("de", "en"))],
        lambda _: StandIn(),
        ServerConfig(host=host, port=0),
        keys=keys if has_keys else None,
    )

    messages = [record.getMessage() for record in caplog.records]
    assert messages[0].startswith(f"translating de-en at http://{host}:")
    assert caplog.records[0].models == "de-en"
    assert (UNPROTECTED in messages) == warned
    assert (apps[0].state.service.keys is not None) == has_keys


@pytest.mark.parametrize(
    ("trusted", "client", "prefix", "expected"),
    [
        (("10.0.0.1",), "10.0.0.1", "/mt/", ["9.9.9.9", "https://mt/mt/x"]),
        (("10.0.0.1",), "10.0.0.1", "//evil.org", ["9.9.9.9", "https://mt/x"]),
        (("10.0.0.1",), "10.0.0.2", "/mt", ["10.0.0.2", "http://mt/x"]),
        ((), "127.0.0.1", "/mt", ["127.0.0.1", "http://mt/x"]),
    ],
)
@in_a_loop
async def test_only_named_proxies_are_trusted(monkeypatch, trusted, client, prefix, expected):
    app, started = FastAPI(), []

    @app.get("/x", name="x")
    def show(request: Request):
        return [request.client.host, str(request.url_for("x"))]

    monkeypatch.setattr(run.uvicorn.Server, "run", lambda self, _: started.append(self.config))
    monkeypatch.setattr(run.signal, "signal", lambda *_: None)
    config = ServerConfig(port=0, trusted_proxies=trusted)
    with listen(config) as listening:
        run.run_app(app, config, listening)
    started[0].load()
    headers = {"X-Forwarded-For": "9.9.9.9", "X-Forwarded-Proto": "https"}
    headers |= {"X-Forwarded-Prefix": prefix}
    transport = httpx2.ASGITransport(started[0].loaded_app, client=(client, 1))
    async with httpx2.AsyncClient(transport=transport, base_url="http://mt") as asker:
        answer = await asker.get("/x", headers=headers)

    assert answer.json() == expected
    assert not started[0].access_log  # which would name text that users send in addresses


@pytest.fixture
def address(monkeypatch):
    """The address of a server that translates by a stand-in, for at most 3 connections."""
    servers, build = [], run.uvicorn.Server
    monkeypatch.setattr(run, "MAX_CONNECTIONS", 3)
    monkeypatch.setattr(run.signal, "signal", lambda *_: None)
    monkeypatch.setattr(
        run.uvicorn, "Server", lambda config: servers.append(build(config)) or servers[0]
    )
    config = ServerConfig(port=0)
    with listen(config) as listening, ThreadPoolExecutor() as pool:
        serving = pool.submit(run.run_app, serve_stand_in(), config, listening)
        yield listening.getsockname()
        servers[0].should_exit = True
        serving.result(timeout=60)


def test_connections_beyond_the_limit_are_refused(address):
    """Idle connections count, too; the answers do not name the server's software."""
    answers = []
    with ExitStack() as idle:
        for _ in range(3):
            url, headers = "http://{}:{}/health".format(*address), {"Connection": "close"}
            answers.append(httpx2.get(url, headers=headers, trust_env=False))
            idle.enter_context(socket.create_connection(address))

    assert [answer.status_code for answer in answers] == [200, 200, 503]
    assert not any("server" in answer.headers for answer in answers)


HEAD = b"GET / HTTP/1.1\r\n"
ENDLESS = {
    "address": b"GET /" + b"a" * 10**6,
    "headers": HEAD + b"a: b\r\n" * 200_000,
    "header": HEAD + b"a: " + b"b" * 10**6,
    "chunk": HEAD + b"transfer-encoding: chunked\r\n\r\n1;" + b"a" * 10**6,
}


@pytest.mark.parametrize("endless", ENDLESS.values(), ids=ENDLESS)
def test_endless_heads_end_the_connection(address, endless):
    with (
        socket.create_connection(address, timeout=20) as client,
        suppress(ConnectionError),  # closed while data was on its way
    ):
        client.sendall(endless)
        while client.recv(10_000):
            pass

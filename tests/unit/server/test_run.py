"""The server as a process: its socket, connections and start."""

import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx2
import pytest
from fastapi import FastAPI, Request

from nmt_core.base.errors import ConfigError
from nmt_core.server import run
from nmt_core.server.models import WatchedModel
from nmt_core.server.run import UNPROTECTED, listen, serve_models
from nmt_core.server.settings import ServerConfig
from tests.support.stand_in import StandIn, StandInSource, in_a_loop, serve_stand_in


def test_no_answer_waits_for_an_acknowledgement():
    """Nagle's algorithm and delayed acknowledgements cost 40 ms per request."""
    with (
        listen(ServerConfig(port=0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(("host", "family"), [("::1", "AF_INET6"), ("mt.org", "AF_INET")])
def test_addresses_with_colons_are_ipv6(monkeypatch, host, family):
    """A machine that runs the tests may have no such address."""
    families = []

    def refuse(_, *, family, **__):
        families.append(family.name)
        raise OSError

    monkeypatch.setattr(socket, "create_server", refuse)
    with pytest.raises(ConfigError):
        listen(ServerConfig(host=host))
    assert families == [family]


def test_taken_port_is_named():
    with listen(ServerConfig(port=0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"127\.0\.0\.1:{port} "):
            listen(ServerConfig(port=port))


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


def test_connections_beyond_the_limit_are_refused(monkeypatch):
    """Idle connections count, too; the answers do not name the server's software."""
    servers, build = [], run.uvicorn.Server
    monkeypatch.setattr(run, "MAX_CONNECTIONS", 3)
    monkeypatch.setattr(run.signal, "signal", lambda *_: None)
    monkeypatch.setattr(
        run.uvicorn, "Server", lambda config: servers.append(build(config)) or servers[0]
    )
    config, answers = ServerConfig(port=0), []
    with listen(config) as listening, ThreadPoolExecutor() as pool, ExitStack() as idle:
        address = listening.getsockname()
        serving = pool.submit(run.run_app, serve_stand_in(), config, listening)
        for _ in range(3):
            url, headers = "http://{}:{}/health".format(*address), {"Connection": "close"}
            answers.append(httpx2.get(url, headers=headers, trust_env=False))
            idle.enter_context(socket.create_connection(address))
        servers[0].should_exit = True
        idle.close()
        serving.result(timeout=60)

    assert [answer.status_code for answer in answers] == [200, 200, 503]
    assert not any("server" in answer.headers for answer in answers)

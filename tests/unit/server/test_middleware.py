"""Requests have limits of size; every answer is counted, logged and has safe headers."""

import asyncio
import json
import logging

import pytest

from nmt_core.server import middleware
from nmt_core.server.metrics import Metrics
from nmt_core.server.middleware import RequestMiddleware
from nmt_core.server.settings import ServerConfig
from tests.support.stand_in import Connection, StandIn, in_a_loop, serve_stand_in

HALLO = json.dumps({"q": "hallo", "source": "de", "target": "en"}).encode()


async def send(app, *parts, ends=True):
    """Return a connection that sent parts of a body, and whether these parts were all."""
    connection = Connection(app)
    for number, part in enumerate(parts, start=1):
        connection.put(part, more=number < len(parts) or not ends)
    async with app.router.lifespan_context(app), asyncio.timeout(5):
        await connection.run()
    return connection


@in_a_loop
async def test_body_in_parts_is_joined():
    connection = await send(serve_stand_in(), *(bytes([byte]) for byte in HALLO))

    assert (connection.status, b"HALLO" in connection.answer[1]["body"]) == (200, True)


@pytest.mark.parametrize(("size", "status"), [(11_300, 400), (11_301, 413)])
@in_a_loop
async def test_oversized_body_is_refused(size, status):
    app = serve_stand_in(max_characters=100, max_texts=1)
    connection = await send(app, b" " * 11_000, b" " * (size - 11_000), ends=status == 400)

    assert connection.status == status
    if status == 413:
        assert "exceeds 11300 bytes" in connection.error
        assert (b"connection", b"close") in connection.answer[0]["headers"]


@in_a_loop
async def test_trickled_body_is_refused(monkeypatch):
    monkeypatch.setattr(middleware, "READ_SECONDS", 0.2)
    app = serve_stand_in()
    async with app.router.lifespan_context(app), asyncio.timeout(5):
        connection = Connection(app)
        task = asyncio.ensure_future(connection.run())
        while not task.done():
            connection.put(b" ", more=True)
            await asyncio.sleep(0.01)

    assert connection.status == 408
    assert "more than 0.2 seconds to arrive" in connection.error


@in_a_loop
async def test_whole_request_may_take_longer(monkeypatch):
    monkeypatch.setattr(middleware, "READ_SECONDS", 0.1)

    assert (await send(serve_stand_in(StandIn(seconds=0.3)), HALLO)).status == 200


@pytest.mark.parametrize(
    ("clients", "statuses"),
    [
        ("1 1 1 1 1 1", [200] * 4 + [503] * 2),
        ("1 1 2 2 1 1 2 2", [200] * 8),
        ("1 1 1 1 2 2 2 2 3", [200] * 8 + [503]),
    ],
)
@in_a_loop
async def test_bytes_in_memory_are_limited_per_client(clients, statuses):
    """The test runs twice, so that the first requests must have been released."""
    app = serve_stand_in(max_held_bytes=1_000_000, max_file_bytes=1)
    async with app.router.lifespan_context(app):
        for _ in range(2):
            connections = [Connection(app) for _ in clients.split()]
            for number, connection in zip(clients.split(), connections, strict=True):
                connection.scope["client"] = (f"10.0.0.{number}", 1)
                connection.put(HALLO + b" " * 120_000, more=True)
            tasks = [asyncio.ensure_future(connection.run()) for connection in connections]
            await asyncio.sleep(0.05)
            for connection in connections:
                connection.put(b"")
            await asyncio.gather(*tasks)
            assert [connection.status for connection in connections] == statuses


@in_a_loop
async def test_answer_beyond_the_memory_is_refused():
    async def answer(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 500_001})

    config = ServerConfig(max_held_bytes=10**6, max_file_bytes=1)
    limited = RequestMiddleware(answer, config=config, metrics=Metrics())
    connection = Connection(limited)
    await connection.run()

    assert (connection.status, len(connection.answer)) == (503, 2)
    assert (b"retry-after", b"5") in connection.answer[0]["headers"]
    assert not limited.held


@in_a_loop
async def test_hanging_up_while_sending_is_no_failure(caplog):
    app = serve_stand_in()
    async with app.router.lifespan_context(app):
        connection = Connection(app)
        connection.put(HALLO[:9], more=True)
        connection.hang_up()
        await connection.run()

    value = app.state.service.metrics.registry.get_sample_value
    assert value("nmt_requests_total", {"route": "/translate", "status": "499"}) == 1
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@in_a_loop
async def test_failure_is_logged_by_its_place_alone(caplog):
    """Its message can contain text of a user."""

    async def fail(*_):
        raise ValueError("a secret text")

    connection = Connection(RequestMiddleware(fail, config=ServerConfig(), metrics=Metrics()))
    connection.put(HALLO)
    await connection.run()

    [record] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert (500, True) == (connection.status, record.id in connection.error)
    assert record.failure.endswith("ValueError")
    assert "secret" not in connection.error + record.failure


@in_a_loop
async def test_request_is_logged_and_counted(caplog, monkeypatch):
    caplog.set_level(logging.INFO, "nmt_core.server.middleware")
    clock = iter([10.0, 10.5] * 2)
    monkeypatch.setattr(middleware.time, "monotonic", lambda: next(clock, 10.5))
    app = serve_stand_in()
    async with app.router.lifespan_context(app):
        for path in ("/translate", "/nowhere"):
            connection = Connection(app)
            connection.scope |= {"path": path, "raw_path": path.encode()}
            connection.put(HALLO)
            await connection.run()

    first, second = (vars(record) for record in caplog.records if record.message == "request")
    assert (first["route"], first["status"], first["bytes"]) == ("/translate", 200, len(HALLO))
    assert (second["route"], second["status"]) == ("other", 405)
    headers = {name.decode(): value.decode() for name, value in connection.answer[0]["headers"]}
    assert headers["x-request-id"] == second["id"] != first["id"]
    value = app.state.service.metrics.registry.get_sample_value
    assert value("nmt_request_seconds_count", {"route": "/translate"}) == 1
    assert value("nmt_request_seconds_sum", {"route": "/translate"}) == 0.5
    assert first["milliseconds"] == 500

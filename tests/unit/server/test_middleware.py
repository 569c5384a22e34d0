"""Requests and answers within limits of size, time and memory."""

import asyncio
import json
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.server import middleware
from nmt_core.server.errors import RequestError
from nmt_core.server.metrics import Metrics
from nmt_core.server.middleware import (
    PART_BYTES,
    HeldBytes,
    RequestMiddleware,
    cut_body,
    render_error,
)
from nmt_core.server.settings import ServerConfig
from tests.support.stand_in import Connection, in_a_loop, serve_stand_in

HALLO = json.dumps({"q": "hallo", "source": "de", "target": "en"}).encode()


def running(app):
    return app.router.lifespan_context(app)


async def send(app, *parts, ends=True, **more):
    """Return a connection over which parts of a body were sent, and whether that was all."""
    connection = Connection(app, **more)
    for number, part in enumerate(parts, start=1):
        connection.put(part, more=number < len(parts) or not ends)
    async with running(app), asyncio.timeout(5):
        await connection.run()
    return connection


@in_a_loop
async def test_body_in_parts_is_put_together():
    connection = await send(serve_stand_in(), *(bytes([byte]) for byte in HALLO))

    assert (connection.status, b"HALLO" in connection.answer[1]["body"]) == (200, True)


@in_a_loop
async def test_trickled_body_is_refused():
    app = serve_stand_in(read_seconds=0.2)
    async with running(app):
        connection = Connection(app)
        task = asyncio.ensure_future(connection.run())
        async with asyncio.timeout(5):
            while not task.done():
                connection.put(b" ", more=True)
                await asyncio.sleep(0.01)

    assert connection.status == 408
    assert "not whole after 0.2 seconds" in connection.error


@pytest.mark.parametrize(("length", "is_discarded"), [(None, False), (b"20000", True)])
@in_a_loop
async def test_oversized_body_is_refused(length, is_discarded):
    app = serve_stand_in(max_characters=100, max_texts=1)
    connection = await send(app, *[b" " * 1000] * 20, ends=is_discarded, length=length)

    assert connection.status == 413
    assert "may have 11300 bytes" in connection.error
    assert (connection.parts.qsize() == 0) is is_discarded
    assert (b"connection", b"close") in connection.answer[0]["headers"]


@in_a_loop
async def test_endless_body_is_given_up():
    app = serve_stand_in(max_characters=1, max_texts=1)
    limit = ServerConfig(max_characters=1, max_texts=1).max_body_bytes
    connection = await send(app, *[b" " * limit] * 20, ends=False, length=b"999999999")

    assert (connection.status, connection.parts.qsize()) == (413, 20 - middleware.DISCARDED)


@in_a_loop
async def test_answer_beyond_held_bytes_is_refused():
    async def answer(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(2):
            await send({"type": "http.response.body", "body": b"x" * 500_001, "more_body": True})

    config = ServerConfig(max_held_bytes=10**6, max_file_bytes=1)
    limited = RequestMiddleware(answer, config=config, metrics=Metrics())
    connection = Connection(limited)
    await connection.run()

    assert (connection.status, len(connection.answer)) == (503, 2)
    assert "as many requests as it has memory for" in connection.error
    assert not limited.held._all


@in_a_loop
async def test_requests_share_the_held_bytes():
    app = serve_stand_in(max_held_bytes=1_000_000, max_file_bytes=1)
    async with running(app):
        for _ in range(3):
            connections = [Connection(app) for _ in range(6)]
            tasks = []
            for connection in connections:
                connection.put(HALLO + b" " * 100_000, more=True)
                tasks.append(asyncio.ensure_future(connection.run()))
                await asyncio.sleep(0.01)
            for connection in connections:
                connection.put(b"")
            await asyncio.gather(*tasks)
            assert [200] * 4 + [503] * 2 == [connection.status for connection in connections]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60)), max_size=12),
    st.integers(1, 100),
)
@settings(max_examples=60)
def test_held_bytes_have_a_limit_for_all_and_for_each(requests, limit):
    held, kept = HeldBytes(limit), []
    for address, size in requests:
        own = sum(other for name, other in kept if name == address)
        fits = sum(other for _, other in kept) + size <= limit and own + size <= limit / 2
        if fits:
            held.add(address, size)
            kept.append((address, size))
            continue
        with pytest.raises(RequestError) as refused:
            held.add(address, size)
        headers = {"Retry-After": "5", "Connection": "close"}
        assert (refused.value.status, refused.value.headers) == (503, headers)
    for address, size in kept:
        held.remove(address, size)

    assert not held._all
    assert not held._own


@pytest.mark.parametrize(
    "size", [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES, 3 * PART_BYTES + 5]
)
@pytest.mark.parametrize("more", [True, False])
def test_body_is_cut_into_parts(size, more):
    body = bytes(range(256)) * (size // 256) + bytes(range(size % 256))
    parts = [*cut_body({"type": "http.response.body", "body": body, "more_body": more})]

    assert b"".join(part["body"] for part in parts) == body
    assert len(parts) == max(1, -(-size // PART_BYTES))
    assert {len(part["body"]) for part in parts[:-1]} <= {PART_BYTES}
    assert [part["more_body"] for part in parts] == [True] * (len(parts) - 1) + [more]


@pytest.mark.parametrize(
    ("size", "seconds", "parts"), [(2 * PART_BYTES + 1, 0.0, {3}), (9 * PART_BYTES, 0.2, {2, 3, 4})]
)
@in_a_loop
async def test_answer_goes_out_as_fast_as_it_is_read(size, seconds, parts):
    """Or the whole of it lies in memory once more for each client that does not read."""
    app = serve_stand_in(read_seconds=0.5, work_seconds=0.75)
    content = bytes(size)
    key = app.state.service.downloads.add("a.txt", "text/plain", content)
    connection = Connection(app)
    connection.scope |= {"method": "GET", "path": f"/download_file/{key}"}
    connection.scope["raw_path"] = connection.scope["path"].encode()
    connection.put(b"")
    connection.seconds = seconds
    await connection.run()
    bodies = [message["body"] for message in connection.answer[1:]]

    assert len(bodies) in parts
    assert (b"".join(bodies) == content) is not seconds


@in_a_loop
async def test_client_that_does_not_read_is_given_up():
    assert (await send(serve_stand_in(read_seconds=0.1), HALLO, reads=False)).answer == []


@in_a_loop
async def test_hanging_up_while_sending_is_no_failure(caplog):
    app = serve_stand_in()
    async with running(app):
        connection = Connection(app)
        connection.put(HALLO[:9], more=True)
        connection.hang_up()
        await connection.run()

    value = app.state.service.metrics.registry.get_sample_value
    assert value("nmt_requests_total", {"route": "/translate", "status": "499"}) == 1
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@in_a_loop
async def test_failure_is_logged_by_its_place_alone(caplog):
    """Its message may hold text of a user."""

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
    clock = iter([10.0, *[10.5] * 40])
    monkeypatch.setattr(middleware.time, "monotonic", lambda: next(clock, 10.5))
    app = serve_stand_in()
    async with running(app):
        for path in ("/translate", "/nowhere"):
            connection = Connection(app)
            connection.scope |= {"path": path, "raw_path": path.encode()}
            connection.put(HALLO)
            await connection.run()

    first, second = (vars(record) for record in caplog.records if record.message == "request")
    assert (first["route"], first["status"], first["bytes"]) == ("/translate", 200, len(HALLO))
    assert (second["route"], second["status"]) == ("other", 405)
    assert first["milliseconds"] == 500.0
    headers = {name.decode(): value.decode() for name, value in connection.answer[0]["headers"]}
    assert headers["x-request-id"] == second["id"] != first["id"]
    for name, text in middleware.HEADERS.items():
        assert headers[name.lower()] == text
    value = app.state.service.metrics.registry.get_sample_value
    assert value("nmt_request_seconds_sum", {"route": "/translate"}) == 0.5


def test_refusal_is_json_that_escapes_half_characters():
    answer = render_error(RequestError(418, "ä \ud800", {"X-More": "1"}))

    assert (answer.status_code, json.loads(answer.body)) == (418, {"error": "ä \ud800"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-more"] == "1"

"""Clients that trickle, send without end, hang up or do not read."""

import asyncio
import json

import pytest

from nmt_core.server import service
from nmt_core.server.guard import PART_BYTES, Guard
from nmt_core.server.metrics import Metrics
from nmt_core.server.settings import ServerConfig
from nmt_core.server.texts import LEAST_TOKENS
from tests.support.stand_in import Connection, Slow, StandIn, client_of, in_a_loop, serve_stand_in

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
async def test_a_body_in_parts_is_put_together():
    connection = await send(serve_stand_in(), *(bytes([byte]) for byte in HALLO))

    assert (connection.status, b"HALLO" in connection.answer[1]["body"]) == (200, True)


@in_a_loop
async def test_who_trickles_is_sent_away():
    app = serve_stand_in(read_seconds=0.2)
    async with running(app):
        connection = Connection(app)
        task = asyncio.ensure_future(connection.run())
        async with asyncio.timeout(5):
            while not task.done():
                connection.put(b" ", more=True)
                await asyncio.sleep(0.01)

    assert connection.status == 408
    assert connection.error == "the request was not whole after 0.2 seconds; send it faster"


@in_a_loop
async def test_a_body_without_end_is_cut_off():
    app = serve_stand_in(max_characters=100, max_texts=1)
    connection = await send(app, *[b" " * 1000] * 20, ends=False)

    assert connection.status == 413
    assert connection.parts.qsize() > 0


@in_a_loop
async def test_a_body_that_says_to_be_too_large_is_discarded_before_the_answer():
    app = serve_stand_in(max_characters=100, max_texts=1)
    connection = await send(app, *[b" " * 1000] * 20, length=b"20000")

    assert (connection.status, connection.parts.qsize()) == (413, 0)


@in_a_loop
async def test_details_count_while_they_are_made(monkeypatch):
    made = []
    monkeypatch.setattr(service, "hold_answer", made.append)
    fields = {"q": "Das ist gut. Ja. Nein.", "source": "de", "target": "en", "details": True}
    async with client_of(serve_stand_in()) as client:
        answer = await client.post("/translate", json=fields)

    assert sum(made) > 0.8 * len(answer.content)


@in_a_loop
async def test_answer_beyond_held_bytes_is_refused():
    async def answer(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 500_001})

    config = ServerConfig(max_held_bytes=10**6, max_file_bytes=1)
    guard = Guard(answer, config=config, metrics=Metrics())
    connection = Connection(guard)
    await connection.run()

    assert connection.status == 503
    assert "as many requests as it has memory for" in connection.error
    assert not guard.held._all


@in_a_loop
async def test_who_hangs_up_frees_the_place():
    translator = Slow()
    app = serve_stand_in(translator, workers=1)
    scheduler = app.state.service.scheduler
    async with running(app):
        first, gone = Connection(app), Connection(app)
        tasks = []
        for connection in (first, gone):
            connection.put(HALLO)
            tasks.append(asyncio.ensure_future(connection.run()))
            await asyncio.to_thread(translator.begun.wait, 10)
            await asyncio.sleep(0.02)
        assert scheduler.tokens == LEAST_TOKENS
        gone.hang_up()
        await tasks[1]
        assert scheduler.tokens == 0
        translator.go.set()
        await tasks[0]

    assert [["hallo"]] == translator.calls
    assert app.state.service.metrics.registry.get_sample_value("nmt_gone_total") == 1
    assert first.status == 200


@in_a_loop
async def test_who_does_not_read_the_answer_is_given_up():
    app = serve_stand_in(StandIn(), read_seconds=0.1)

    assert (await send(app, HALLO, reads=False)).answer == []


@in_a_loop
async def test_an_answer_goes_out_in_parts_as_fast_as_it_is_taken():
    """Or the whole of it lies in memory once more for each client that does not read."""
    app = serve_stand_in(read_seconds=0.5, work_seconds=0.75)
    service = app.state.service
    for size, seconds, parts in ((2 * PART_BYTES + 1, 0.0, {3}), (9 * PART_BYTES, 0.2, {2, 3, 4})):
        content = bytes(size)
        key = service.downloads.keep("a.txt", "text/plain", content)
        connection = Connection(app)
        connection.scope |= {"method": "GET", "path": f"/download_file/{key}"}
        connection.scope["raw_path"] = connection.scope["path"].encode()
        connection.put(b"")
        connection.seconds = seconds
        await connection.run()
        taken = [message["body"] for message in connection.answer[1:]]
        assert len(taken) in parts
        assert (b"".join(taken) == content) is not seconds


@in_a_loop
async def test_what_requests_hold_is_bounded_and_given_back():
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


@in_a_loop
async def test_who_hangs_up_while_sending_is_no_failure(caplog):
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
async def test_a_failure_is_logged_under_the_number_that_the_client_is_told(caplog):
    """By its place and kind; what it says may be of a user."""

    async def fail(*_):
        raise ValueError("a secret text")

    app = serve_stand_in()
    async with running(app):
        guard = Guard(fail, config=ServerConfig(), metrics=app.state.service.metrics)
        connection = Connection(guard)
        connection.put(HALLO)
        await connection.run()

    [record] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert (500, True) == (connection.status, record.id in connection.error)
    assert record.failure.endswith("ValueError")
    assert "secret" not in connection.error + record.failure


@pytest.mark.parametrize("name", ["host", "origin"])
@in_a_loop
async def test_a_header_that_is_no_address_is_told(name):
    async with client_of(serve_stand_in()) as client:
        headers = {name: {"host": "[", "origin": "http://["}[name]}
        answer = await client.post("/translate", content=HALLO, headers=headers)

    assert answer.status_code == 400
    assert "is no address" in answer.json()["error"]


@pytest.mark.parametrize("charset", ["undefined", "punycode", "none-such"])
@in_a_loop
async def test_a_form_in_an_odd_encoding_is_told(charset):
    body = b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\n\xff\r\n--x--\r\n'
    kind = f"multipart/form-data; boundary=x; charset={charset}"
    async with client_of(serve_stand_in()) as client:
        answer = await client.post("/translate", content=body, headers={"Content-Type": kind})

    assert answer.status_code == 400

"""What the server takes and what it refuses, at the bounds themselves."""

import json
import logging
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from starlette.datastructures import Headers

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.server import guard, limits, service
from nmt_core.server.errors import RequestError, too_many
from nmt_core.server.guard import (
    PART_BYTES,
    Held,
    check_host,
    check_origin,
    cut_answer,
    name_client,
    render_error,
    too_large,
)
from nmt_core.server.limits import MOST_USERS, RateLimit, User, read_keys
from nmt_core.server.metrics import Metrics
from nmt_core.server.scheduler import FIRST_SPEED, Scheduler
from nmt_core.server.schemas import (
    DetectRequest,
    FileRequest,
    SuggestRequest,
    TranslateRequest,
    read_fields,
)
from nmt_core.server.service import Service, is_short
from nmt_core.server.settings import ServerConfig
from nmt_core.server.texts import Manuscript
from tests.support.stand_in import Connection, StandIn, in_a_loop, serve_stand_in

# settings

BOUNDS = {
    "port": (0, 65535),
    "max_characters": (1, 10_000_000),
    "max_texts": (1, 100_000),
    "max_alternatives": (0, 32),
    "max_file_bytes": (1, 1_000_000_000),
    "max_connections": (1, 100_000),
    "rate_limit": (1, None),
    "suggestion_characters": (1, 100_000),
    "suggestion_rate": (1, None),
    "queue_tokens": (1, None),
    "max_tokens": (1, None),
    "max_held_bytes": (1_000_000, None),
    "document_bytes": (2**27, None),
    "document_seconds": (1, None),
    "document_processes": (1, 64),
    "batch_tokens": (1, 1_000_000),
    "portion_tokens": (1, 1_000_000),
    "workers": (1, 256),
}
SHARES = {
    "memory_threshold": (False, 1),
    "review_below": (True, 1),
    "wait_seconds": (True, 1),
    "work_seconds": (False, None),
    "read_seconds": (False, None),
    "stop_seconds": (False, None),
    "watch_seconds": (False, None),
}
"""Whether they may be nothing, and what they are at most."""


def fits(name, value):
    try:
        return getattr(ServerConfig(**{name: value}), name) == value
    except ValidationError:
        return False


def test_every_number_has_its_bounds():
    for name, (least, most) in BOUNDS.items():
        assert fits(name, least), name
        assert not fits(name, least - 1), name
        assert fits(name, 10**12 if most is None else most), name
        assert most is None or not fits(name, most + 1), name
    for name, (nothing, most) in SHARES.items():
        assert fits(name, 0) is nothing, name
        assert not fits(name, -0.01), name
        assert fits(name, 0.01), name
        assert fits(name, 1e9 if most is None else most), name
        assert most is None or not fits(name, most + 0.01), name
    numbers = {
        name
        for name, field in ServerConfig.model_fields.items()
        if field.annotation in (int, float, int | None)
    }
    assert numbers == {*BOUNDS, *SHARES}


def test_what_is_set_by_default_keeps_the_server_to_its_machine():
    config = ServerConfig()
    assert (config.host, config.port, config.suggestions) == ("127.0.0.1", 5001, "off")
    assert (config.hosts, config.origins, config.trusted_proxies) == ((), (), ())
    assert (config.rate_limit, config.corrections, config.memory) == (None,) * 3


@pytest.mark.parametrize(("file", "held"), [(1, 10**6), (250_000, 10**6), (250_001, 1_000_004)])
def test_as_much_is_held_as_two_files_from_two_addresses(file, held):
    config = ServerConfig(max_file_bytes=file, max_held_bytes=10**6)
    assert config.most_held_bytes == held


def test_a_body_may_hold_all_characters_as_json_may_write_them():
    config = ServerConfig(max_characters=7, max_texts=3)
    texts = ["\U0001f600" * 7, "", ""]
    assert len(json.dumps({"q": texts})) <= config.max_body_bytes == 12 * 7 + 100 * 3 + 10_000


# requests

WHOLE = {
    TranslateRequest: {"q": "x", "source": "de", "target": "en"},
    FileRequest: {"source": "de", "target": "en"},
    DetectRequest: {"q": "x"},
    SuggestRequest: {"q": "x", "s": "y", "source": "de", "target": "en"},
}


@pytest.mark.parametrize("kind", WHOLE)
def test_no_field_of_a_request_may_be_left_out_or_empty(kind):
    read = read_fields(kind, WHOLE[kind] | {"more": 1})
    assert read.model_dump(include=WHOLE[kind].keys()) == WHOLE[kind]
    for name in WHOLE[kind]:
        for empty in ("", None, []):
            with pytest.raises(RequestError, match=f"^Invalid request: missing {name} parameter$"):
                read_fields(kind, WHOLE[kind] | {name: empty})
        with pytest.raises(RequestError, match=name):
            read_fields(kind, WHOLE[kind] | {name: 5})
    for name in {"source", "target"} & WHOLE[kind].keys():
        with pytest.raises(ValidationError, match="at least 1 character"):
            kind(**WHOLE[kind] | {name: ""})


def test_what_is_not_asked_for_is_off():
    read = read_fields(TranslateRequest, WHOLE[TranslateRequest])
    rest = read.model_dump(exclude=WHOLE[TranslateRequest].keys())
    assert rest == {
        "format": "text",
        "alternatives": 0,
        **dict.fromkeys(("details", "checks", "confidence", "matches"), False),
        **dict.fromkeys(("glossary", "tag", "api_key"), None),
        "project": "",
    }


@pytest.mark.parametrize(("value", "count"), [(3, 3), ("3", 3), (-3, 0), ("", 0), (None, 0)])
def test_a_count_is_none_below_nothing(value, count):
    for read in (read_fields, lambda kind, given_ones: kind(**given_ones)):
        asked = read(TranslateRequest, WHOLE[TranslateRequest] | {"alternatives": value})
        assert asked.alternatives == count


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ({"alternatives": "many"}, "alternatives parameter is not a number"),
        ({"format": "pdf" * 20}, f"{('pdf' * 20)[:20]} format is not supported"),
        ({"details": "perhaps"}, "details must be boolean.*got 'perhaps'"),
        ({"project": "x" * 201}, "project .* at most 200 characters"),
    ],
)
def test_a_wrong_field_is_named(field, told):
    with pytest.raises(RequestError, match=told) as refused:
        read_fields(TranslateRequest, WHOLE[TranslateRequest] | field)
    assert refused.value.status == 400
    assert read_fields(TranslateRequest, WHOLE[TranslateRequest] | {"project": "x" * 200})


# errors


@given(st.floats(0, 1e6))
def test_who_waits_is_told_whole_seconds_that_suffice(seconds):
    error = too_many("why", seconds)
    wait = int(error.headers["Retry-After"])
    assert max(1, seconds) <= wait <= seconds + 1.5
    assert error.status == 429
    assert error.message == f"Slowdown: why; try again in {wait} seconds"


def test_errors_say_what_is_wrong():
    large = too_large(9)
    assert (large.status, large.headers) == (413, {"Connection": "close"})
    head, body = render_error(RequestError(418, "ä", {"X-More": "1"}))
    assert json.loads(body["body"]) == {"error": "ä"}
    assert (head["type"], head["status"]) == ("http.response.start", 418)
    assert body["type"] == "http.response.body"
    assert dict(head["headers"]) == {
        b"content-type": b"application/json",
        b"content-length": str(len(body["body"])).encode(),
        b"x-more": b"1",
    }


# who may ask


@pytest.mark.parametrize(
    ("host", "hosts", "allowed"),
    [
        ("localhost", (), True),
        ("LOCALHOST:5001", (), True),
        ("127.0.0.1:5001", (), True),
        ("[::1]:5001", (), True),
        ("10.1.2.3", (), True),
        ("own.lan", (), True),
        ("example.org", (), False),
        ("example.org", ("example.org",), True),
        ("Example.org:80", ("example.org",), True),
        ("example.org", ("Example.ORG",), True),
        ("sub.example.org", ("example.org",), False),
        ("example.org", ("*",), True),
        ("1.2.3", (), False),
        (None, (), True),
        ("", (), False),
        ("", ("*",), True),
        ("localhost.example.org", (), False),
    ],
)
def test_a_server_answers_to_its_names_and_to_addresses(host, hosts, allowed):
    config = ServerConfig(host="Own.lan", hosts=hosts)
    headers = Headers({} if host is None else {"host": host})
    if allowed:
        assert check_host(headers, config) is None
        return
    with pytest.raises(RequestError, match="is not a name of this server") as refused:
        check_host(headers, config)
    assert refused.value.status == 403
    long = Headers({"host": "x" * 300})
    with pytest.raises(RequestError, match=r"^'x{100}' is"):
        check_host(long, config)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2::3", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::3", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_client_is_ipv4_address_or_network(address, name):
    assert name_client(address) == name


@in_a_loop
async def test_one_ipv6_network_shares_one_rate():
    app, statuses = serve_stand_in(rate_limit=3), []
    async with app.router.lifespan_context(app):
        for number in range(5):
            connection = Connection(app)
            connection.scope["client"] = (f"2001:db8::{number}", 1)
            connection.put(b'{"q": "hallo", "source": "de", "target": "en"}')
            await connection.run()
            statuses.append(connection.status)
    assert statuses == [200, 200, 200, 429, 429]


@in_a_loop
async def test_request_with_two_lengths_closes_connection():
    connection = Connection(serve_stand_in())
    connection.scope["headers"] += [(b"content-length", b"5"), (b"transfer-encoding", b"chunked")]
    await connection.run()
    assert connection.status == 400
    assert (b"connection", b"close") in connection.answer[0]["headers"]


@pytest.mark.parametrize(
    ("method", "origin", "origins", "allowed"),
    [
        ("POST", None, (), True),
        ("POST", "http://own.lan:5001", (), True),
        ("POST", "https://own.lan:5001", (), True),
        ("POST", "http://own.lan", (), False),
        ("POST", "https://x.org", (), False),
        ("POST", "https://x.org", ("https://x.org",), True),
        ("POST", "https://x.org:8443", ("https://X.org:8443/",), True),
        ("POST", "null", ("null",), True),
        ("POST", "https://x.org", ("https://y.org",), False),
        ("POST", "https://x.org", ("*",), True),
        ("PUT", "https://x.org", (), False),
        ("GET", "https://x.org", (), True),
        ("HEAD", "https://x.org", (), True),
        ("OPTIONS", "https://x.org", (), True),
    ],
)
def test_a_page_of_another_site_may_not_write(method, origin, origins, allowed):
    config = ServerConfig(origins=origins)
    headers = Headers({"host": "own.lan:5001"} | ({"origin": origin} if origin else {}))
    if allowed:
        assert check_origin(method, headers, config) is None
        return
    with pytest.raises(RequestError, match="pages of other sites may not") as refused:
        check_origin(method, headers, config)
    assert refused.value.status == 403


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hosts", "https://x.org"),
        ("hosts", "x.org:80"),
        ("hosts", "x.org/"),
        ("hosts", ""),
        ("origins", "x.org"),
        ("origins", "https://x.org/page"),
        ("origins", "https://"),
        ("origins", "https://x.org?page"),
        ("origins", ""),
    ],
)
def test_a_name_or_site_that_no_browser_sends_is_refused_at_the_start(name, value):
    with pytest.raises(ConfigError, match=rf"serve\.{name}\.0: '.*' is no .*; write it as in"):
        build(ServerConfig, {name: [value]}, at="serve")


def find_refusal(do, *arguments):
    """Return the error that refuses something; None where it is done."""
    try:
        do(*arguments)
    except RequestError as refused:
        return refused
    return None


# memory, and answers in parts


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60)), max_size=12),
    st.integers(1, 100),
)
@settings(max_examples=60)
def test_what_is_held_is_within_bounds_for_all_and_for_each(asked, most):
    held, kept = Held(most), []
    for address, size in asked:
        own = sum(other for who, other in kept if who == address)
        fits_in = sum(other for _, other in kept) + size <= most and own + size <= most / 2
        refused = find_refusal(held.take, address, size)
        assert (refused is None) is fits_in
        if refused is None:
            kept.append((address, size))
        else:
            told = {"Retry-After": "5", "Connection": "close"}
            assert (refused.status, refused.headers) == (503, told)
    for address, size in kept:
        held.give_back(address, size)
    assert not held._all
    assert not held._own


@pytest.mark.parametrize(
    "size", [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES, 3 * PART_BYTES + 5]
)
@pytest.mark.parametrize("more", [True, False])
def test_an_answer_is_cut_into_whole_parts(size, more):
    message = {"type": "http.response.body", "body": bytes(range(256)) * (size // 256 + 1)}
    message = message | {"body": message["body"][:size], "more_body": more}
    parts = [*cut_answer(message)]
    assert b"".join(part["body"] for part in parts) == message["body"]
    assert len(parts) == max(1, -(-size // PART_BYTES))
    assert [len(part["body"]) for part in parts[:-1]] == [PART_BYTES] * (len(parts) - 1)
    assert [part["more_body"] for part in parts] == [True] * (len(parts) - 1) + [more]
    assert {part["type"] for part in parts} == {message["type"]}


@in_a_loop
async def test_a_request_is_logged_with_its_route_answer_time_and_size(caplog, monkeypatch):
    caplog.set_level(logging.INFO, "nmt_core.server.guard")
    clock = iter([10.0, *[10.5] * 40])
    monkeypatch.setattr(guard.time, "monotonic", lambda: next(clock, 10.5))
    app = serve_stand_in()
    body = b'{"q": "hallo", "source": "de", "target": "en"}'
    async with app.router.lifespan_context(app):
        for path in ("/translate", "/nowhere"):
            connection = Connection(app)
            connection.scope |= {"path": path, "raw_path": path.encode()}
            connection.put(body)
            await connection.run()
    first, second = (vars(one) for one in caplog.records if one.message == "request")
    assert (first["route"], first["status"], first["bytes"]) == ("/translate", 200, len(body))
    assert (second["route"], second["status"]) == ("other", 405)
    assert first["milliseconds"] == 500.0
    told = dict(connection.answer[0]["headers"])
    assert told[b"x-request-id"].decode() == second["id"] != first["id"]
    assert len(second["id"]) == 12
    for name, value in guard.HEADERS.items():
        assert told[name.lower().encode()].decode() == value


# rates


@given(st.integers(1, 30), st.lists(st.integers(0, 90), max_size=30))
@settings(max_examples=60)
def test_no_user_sends_more_than_a_minute_holds_beside_a_first_request(rate, pauses):
    """By the texts that are due: each takes its share of a minute."""
    rates, user, now, due = RateLimit(), User("me", rate), 0.0, 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits.time, "monotonic", lambda: now)
        for pause in pauses:
            now += pause
            begin = max(due, now)
            late = begin + 60 / rate - now
            taken = begin <= now or late <= 60 + 30 / rate
            refused = find_refusal(rates.spend, user, 1)
            assert (refused is None) is taken
            if refused is None:
                due = begin + 60 / rate
            else:
                assert late - 60 <= int(refused.headers["Retry-After"]) <= late - 60 + 1.5


def test_the_user_that_was_longest_away_is_forgotten_first(monkeypatch):
    monkeypatch.setattr(limits, "MOST_USERS", 2)
    rates = RateLimit()
    for name in "abac":
        rates.spend(User(name, 5), 1)
    assert [*rates._due] == ["a", "c"]
    assert MOST_USERS == 10_000


# a service, without its routes


def service_of(*names, keys=None, **settings):
    engine = [
        SimpleNamespace(translator=SimpleNamespace(engine=SimpleNamespace(name=n))) for n in names
    ]
    models = SimpleNamespace(served=engine)
    return Service(ServerConfig(**settings), models, keys)


@pytest.mark.parametrize(
    ("names", "workers", "expected"),
    [
        (["ctranslate2"], None, 5),
        (["ctranslate2"], 3, 3),
        (["torch"], 3, 1),
        (["ctranslate2", "torch"], None, 1),
    ],
)
def test_each_core_has_a_batch_but_torch_takes_them_all(monkeypatch, names, workers, expected):
    monkeypatch.setattr(service, "count_cores", lambda: 5)
    assert service_of(*names, workers=workers).scheduler._count == expected


def test_texts_are_within_every_bound_or_refused():
    checked = service_of(max_texts=2, max_characters=5, max_alternatives=1)
    checked.check(["ab", "cde"], 1)
    for texts, more, told in (
        (["", "", ""], 0, r"request \(3\) exceeds text limit \(2\)"),
        (["abc", "def"], 0, r"request \(6\) exceeds text limit \(5\)"),
        (["a"], 2, "alternatives parameter must be <= 1"),
        (["\ud800"], 0, "half a character"),
    ):
        with pytest.raises(RequestError, match=told) as refused:
            checked.check(texts, more)
        assert refused.value.status == 400


def test_who_has_no_key_is_known_by_the_address_and_wrong_keys_are_counted(tmp_path):
    assert service_of(rate_limit=7).admit(None, "1.2.3.4") == User("1.2.3.4", 7)
    (tmp_path / "keys").write_text("eightkey 9\n")
    guarded = service_of(keys=read_keys(tmp_path / "keys"), rate_limit=7)
    assert guarded.admit("eightkey", "1.2.3.4").rate == 9
    for none in (None, ""):
        with pytest.raises(RequestError, match="contact the server operator") as refused:
            guarded.admit(none, "1.2.3.4")
        assert refused.value.status == 400
    statuses = []
    for _ in range(service.WRONG_KEYS + 1):
        with pytest.raises(RequestError) as refused:
            guarded.admit("wrong", "1.2.3.4")
        statuses.append(refused.value.status)
    assert statuses == [403] * 60 + [429]
    with pytest.raises(RequestError, match="Invalid API key"):
        guarded.admit("wrong", "5.6.7.8")


@pytest.mark.parametrize(
    ("content", "short"), [("x" * 5000, True), ("x" * 5001, False), (b"x", False), ("", True)]
)
def test_only_a_text_may_be_short(content, short):
    assert is_short(Manuscript("text", content)) is short


def test_the_wait_is_what_waits_at_the_speed_of_late():
    queue = Scheduler(ServerConfig(), Metrics())
    queue._tokens = 5000
    assert queue.estimate_wait() == 5000 / FIRST_SPEED == 2.5
    queue._speed = 100.0
    assert queue.estimate_wait() == 50


@in_a_loop
async def test_the_speed_moves_by_a_tenth_towards_that_of_each_batch(monkeypatch):
    app = serve_stand_in(StandIn())
    queue = app.state.service.scheduler
    async with app.router.lifespan_context(app):
        connection = Connection(app)
        connection.put(b'{"q": "a b c d e", "source": "de", "target": "en"}')
        counted = {}
        monkeypatch.setattr(queue._metrics, "count_batch", lambda *_, **told: counted.update(told))
        await connection.run()
    seen = counted["tokens"] / max(counted["seconds"], 1e-3)
    assert queue._speed == pytest.approx(FIRST_SPEED + 0.1 * (seen - FIRST_SPEED))
    assert queue._running == 0

"""Requests in every form are understood, wrong requests named, and strangers refused."""

import json

import pytest
from prometheus_client import CONTENT_TYPE_LATEST

from nmt_core.server.models import Models, WatchedModel
from nmt_core.server.run import build_app
from nmt_core.server.settings import ServerConfig
from tests.support.stand_in import StandIn, StandInSource, ask, client_of, in_a_loop, serve_stand_in

HALLO = {"q": "hallo welt", "source": "de", "target": "en"}
BOM = "\ufeff".encode()  # programs of Windows write it before UTF-8
JSON = {"headers": {"Content-Type": "application/json"}}
FORM = {"headers": {"Content-Type": "application/x-www-form-urlencoded"}}
PARTS = {"headers": {"Content-Type": "multipart/form-data"}}


@pytest.mark.parametrize(
    "request_",
    [
        {"files": {name: (None, value) for name, value in HALLO.items()}},
        {"json": HALLO | {"api_key": None, "apiKey": "", "unknown": [1]}},
        {"json": HALLO | {"format": None, "alternatives": None}},
        {"data": HALLO | {"alternatives": "", "details": ""}},
        {"params": HALLO | {"q": "of the address"}, "json": {"q": HALLO["q"]}},
        JSON | {"content": BOM + json.dumps(HALLO).encode()},
    ],
)
@in_a_loop
async def test_json_form_and_address_are_understood(request_):
    answer = await ask(**request_)

    assert (200, {"translatedText": "HALLO WELT"}) == (answer.status_code, answer.json())


REFUSED = [
    ({"json": [HALLO]}, 400, "Invalid JSON format"),
    (JSON | {"content": b"{"}, 400, "Invalid JSON format"),
    (JSON | {"content": b""}, 400, "Invalid JSON format"),
    (JSON | {"content": b'"\xff"'}, 400, "Invalid JSON format"),
    (JSON | {"content": b"[" * 20_000}, 400, "Invalid JSON format"),
    (JSON | {"content": json.dumps(HALLO | {"q": "half \ud83d"}).encode()}, 400, "q must be"),
    (JSON | {"content": json.dumps(HALLO | {"format": "\ud83d"}).encode()}, 400, "not supported"),
    ({"data": HALLO | {"q": []}, "files": {"q": ("a.txt", b"ja")}}, 400, "q must be"),
    (FORM | {"content": b"q=%ff&source=de&target=en"}, 400, "the form is not UTF-8"),
    ({"content": b"a=1&" * 3000}, 400, "more than 2000 fields"),
    (PARTS | {"content": b"--x"}, 400, "the form cannot be read"),
    ({"json": HALLO | {"q": "a" * 30_000}}, 413, "the request exceeds 23000 bytes"),
    ({"json": HALLO, "headers": {"Host": "evil.example"}}, 403, "is not a name of this server"),
    ({"json": HALLO, "headers": {"Origin": "http://evil.example"}}, 403, "must not use the server"),
    ({"method": "PUT", "json": HALLO}, 405, "PUT is not allowed for this path"),
    *(
        ({"path": path, "method": "GET"}, 404, "this path does not exist")
        for path in ("/nowhere", "/../settings.py", "/%2e%2e/run.py", "//etc/passwd")
    ),
]


@pytest.mark.parametrize(("request_", "status", "reason"), REFUSED)
@in_a_loop
async def test_wrong_request_is_named(request_, status, reason):
    answer = await ask(app=serve_stand_in(max_characters=1000, max_texts=10), **request_)

    assert status == answer.status_code
    assert ["error"] == list(answer.json())
    assert reason in answer.json()["error"]


FRIEND = {"Origin": "https://friend.org"}
FRIENDLY = {"origins": ("https://friend.org",), "hosts": ("mt.org",)}
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type",
}


@pytest.mark.parametrize(
    ("method", "headers", "size", "status", "is_shared"),
    [
        ("POST", {"Host": "mt.org"}, 1, 200, False),
        ("POST", {"Host": "mt.org", "Origin": "http://mt.org"}, 1, 200, False),
        ("POST", FRIEND, 1, 200, True),
        ("POST", FRIEND, 11, 400, True),
        ("POST", FRIEND, 30_000, 413, True),
        ("OPTIONS", FRIEND | PREFLIGHT, 1, 200, True),
        ("OPTIONS", {"Origin": "https://evil.example"} | PREFLIGHT, 1, 400, False),
    ],
)
@in_a_loop
async def test_pages_of_allowed_origins_read_all_answers(method, headers, size, status, is_shared):
    app = serve_stand_in(**FRIENDLY, max_characters=10, max_texts=1)
    answer = await ask(app=app, method=method, json=HALLO | {"q": "a" * size}, headers=headers)

    assert answer.status_code == status
    assert (answer.headers.get("Access-Control-Allow-Origin") == FRIEND["Origin"]) == is_shared
    if is_shared and method == "POST":
        assert answer.headers["Access-Control-Expose-Headers"] == "Retry-After"
    if is_shared and method == "OPTIONS":
        assert "authorization" in answer.headers["Access-Control-Allow-Headers"]


KEY = {"api_key": "a-secret-key"}
BEARER = {"Authorization": "Bearer a-secret-key"}


@pytest.mark.parametrize(
    ("method", "path", "request_", "status"),
    [
        ("POST", "/translate", {"json": HALLO | KEY}, 200),
        ("POST", "/translate", {"data": HALLO | KEY}, 200),
        ("POST", "/translate", {"json": HALLO, "params": KEY}, 200),
        ("POST", "/translate", {"json": HALLO, "headers": BEARER}, 200),
        ("POST", "/detect", {"json": {"q": "ja"} | KEY}, 200),
        ("POST", "/translate", {"json": HALLO}, 400),
        ("POST", "/detect", {"json": {"q": "ja"}}, 400),
        ("POST", "/translate", {"json": HALLO | {"api_key": "another-key"}}, 403),
        *(("GET", path, {}, 200) for path in ("/health", "/languages", "/docs")),
        *(("GET", path, {}, 400) for path in ("/metrics", "/status")),
        *(("GET", path, {"headers": BEARER}, 200) for path in ("/metrics", "/status")),
        *(("GET", path, {"params": KEY}, 200) for path in ("/metrics", "/status")),
    ],
)
@in_a_loop
async def test_valid_keys_are_accepted(tmp_path, method, path, request_, status):
    (keys := tmp_path / "keys").write_text("a-secret-key\n")
    async with client_of(serve_stand_in(keys=keys)) as client:
        answer = await client.request(method, path, **request_)
        settings = (await client.get("/frontend/settings")).json()

    assert answer.status_code == status
    assert "a-secret-key" not in answer.text
    assert (settings["apiKeys"], settings["keyRequired"]) == (True, True)


@pytest.mark.parametrize("where", ["headers", "params"])
@in_a_loop
async def test_body_of_a_wrong_key_is_not_read(tmp_path, where):
    """This holds for every route with a body: a stranger's file would fill memory and disk."""
    wrong = {"headers": {"Authorization": "Bearer wrong"}, "params": {"api_key": "wrong"}}[where]
    (keys := tmp_path / "keys").write_text("a-secret-key\n")
    app = serve_stand_in(keys=keys, suggestions="keys", corrections=tmp_path / "corrections")
    routes = {path for path, methods in app.openapi()["paths"].items() if "post" in methods}
    assert {"/translate", "/translate_file", "/detect", "/suggest"} <= routes

    async def stream(parts):
        for part in parts:
            yield part

    async with client_of(app) as client:
        for route in routes:
            body = iter([b"{}"])
            answer = await client.post(route, content=stream(body), **{where: wrong})
            assert (route, answer.status_code, [*body]) == (route, 403, [b"{}"])


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        ("/translate", {"json": HALLO | {"q": ["a"] * 5}}),
        ("/detect", {"json": {"q": ["a"] * 5}}),
        (
            "/translate_file",
            {"data": {"source": "en", "target": "en"}, "files": {"file": ("a.txt", b"a" * 5000)}},
        ),
    ],
)
@in_a_loop
async def test_rate_limits_texts(path, request_):
    async with client_of(serve_stand_in(rate_limit=10, max_characters=1000)) as client:
        answers = [await client.post(path, **request_) for _ in range(3)]

    assert [200, 200, 429] == [answer.status_code for answer in answers]
    assert int(answers[2].headers["Retry-After"]) > 0


@in_a_loop
async def test_status_and_metrics_name_models_and_problems():
    app = serve_stand_in()
    async with client_of(app) as client:
        status = (await client.get("/status")).json()
        await client.post("/translate", json=HALLO)
        answer = await client.get("/metrics")
        app.state.service.models.watched[0].problem = "MLflow is away"
        later = (await client.get("/status")).json()

    [model] = status["models"]
    assert model.pop("since") > "2026"
    assert model == HALLO_MODEL
    assert (status["queue"], status["memory"]) == ({"requests": 0, "tokens": 0}, None)
    assert later["models"][0]["problem"] == "MLflow is away"
    assert answer.headers["content-type"] == CONTENT_TYPE_LATEST  # required by Prometheus
    assert 'nmt_requests_total{route="/translate",status="200"} 1.0' in answer.text
    assert 'nmt_model_current{pair="de-en"} 1.0' in answer.text


HALLO_MODEL = {
    "card": "model_card/de/en",
    "tags": [],
    "source": "de",
    "target": "en",
    "version": "0",
    "digest": "digest 0",
    "engine": "stand-in",
    "problem": "",
}


@in_a_loop
async def test_model_is_replaced_while_the_server_runs():
    source = StandInSource("1")
    models = Models([WatchedModel(source.poll)], lambda folder: StandIn(mark=f"{folder.name} "))
    async with client_of(build_app(models, ServerConfig(watch_seconds=0.01))) as client:
        first = (await client.post("/translate", json=HALLO)).json()["translatedText"]
        source.version = "2"
        for _ in range(100):
            second = (await client.post("/translate", json=HALLO)).json()["translatedText"]
            if second != first:
                break
        metrics = (await client.get("/metrics")).text

    assert (first, second) == ("1 HALLO WELT", "2 HALLO WELT")
    assert "nmt_swaps_total 1.0" in metrics


@in_a_loop
async def test_api_is_described_to_programs_and_people():
    async with client_of(serve_stand_in()) as client:
        schema = (await client.get("/spec")).json()
        assert schema == (await client.get("/openapi.json")).json()
        page = (await client.get("/docs")).text

    form = schema["paths"]["/translate_file"]["post"]["requestBody"]["content"]
    [file_schema] = [kind["schema"] for kind in form.values()]
    assert file_schema["properties"]["file"]["format"] == "binary"  # tools need it to send files
    assert {"file", "source", "target"} == {*file_schema["required"]}
    documented = {
        "/translate",
        "/detect",
        "/suggest",
        "/languages",
        "/frontend/settings",
        "/health",
    }
    assert documented <= set(schema["paths"])
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            [section] = [part for part in page.split("<h2>") if f"{method.upper()} {path}<" in part]
            for content in route.get("requestBody", {}).get("content", {}).values():
                for field in content["schema"]["properties"]:
                    assert f"<code>{field}</code></th>" in section


@pytest.mark.parametrize("path", ["/", "/docs", "/health", "/nowhere"])
@in_a_loop
async def test_every_answer_has_a_strict_policy(path):
    headers = (await ask(path, method="GET")).headers

    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"  # for browsers that do not know frame-ancestors

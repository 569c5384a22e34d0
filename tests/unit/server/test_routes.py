"""What is answered to what is asked, by LibreTranslate's API and ours."""

import json

import pytest
from prometheus_client import CONTENT_TYPE_LATEST

from nmt_core.server.app import build_app
from nmt_core.server.models import Models, Watched
from nmt_core.server.settings import ServerConfig
from tests.support.stand_in import StandIn, StandInSource, ask, client_of, in_a_loop, serve_stand_in

HALLO = {"q": "hallo welt", "source": "de", "target": "en"}
BOM = "\ufeff".encode()  # which programs of Windows write before UTF-8


@pytest.mark.parametrize(
    "request_",
    [
        {"files": {name: (None, value) for name, value in HALLO.items()}},
        {"json": HALLO | {"api_key": None, "apiKey": "", "unknown": [1]}},
        {"json": HALLO | {"format": None, "alternatives": None}},
        {"data": HALLO | {"alternatives": "", "details": ""}},
        {"params": {"q": "of the address"}, "json": HALLO},
        {
            "headers": {"Content-Type": "application/json"},
            "content": BOM + json.dumps(HALLO).encode(),
        },
    ],
)
@in_a_loop
async def test_json_form_and_address_are_understood(request_):
    answer = await ask(**request_)

    assert (200, {"translatedText": "HALLO WELT"}) == (answer.status_code, answer.json())


@pytest.mark.parametrize("form", ["data", "files", "params"])
@in_a_loop
async def test_a_field_that_comes_several_times_is_a_list(form):
    texts = [f"text {number}" for number in range(30)]
    fields = {"source": "de", "target": "en", "q": texts}
    if form == "files":  # a form of several parts
        fields = [("q", (None, text)) for text in texts]
        fields += [("source", (None, "de")), ("target", (None, "en"))]
    answer = await ask(**{form: fields})

    assert answer.json() == {"translatedText": [text.upper() for text in texts]}


@in_a_loop
async def test_text_in_the_target_language_is_left_as_it_is():
    text = "This is a sentence about the houses of the town."
    detected = (await ask(json={"q": [text], "source": "auto", "target": "en"})).json()
    question = {"q": text, "source": "en", "target": "en"}
    same = (await ask(json=question)).json()
    more = (await ask(json=question | {"alternatives": 2, "checks": True})).json()

    assert detected["translatedText"] == [text]
    assert detected["detectedLanguage"][0]["language"] == "en"
    assert same == {"translatedText": text}
    assert more == {"translatedText": text, "alternatives": [], "checks": []}


@in_a_loop
async def test_details_tell_how_each_sentence_came_about():
    text = "  hallo welt\n\nwie geht es?\n"
    more = {"details": True, "alternatives": 1, "confidence": True}
    answer = (await ask(json=HALLO | {"q": text} | more)).json()
    first, second = answer["details"]["sentences"]
    put_together = "".join(one["before"] + one["text"] for one in (first, second))

    assert answer["translatedText"] == put_together + answer["details"]["after"]
    assert first["source_words"] == ["hallo", "welt"]
    assert (first["words"], first["links"]) == (["HALLO", "WELT"], [0, 1])
    assert first["tokens"] == ["▁HALLO", "▁WELT"]
    assert len(first["probabilities"]) == 3
    assert first["alternatives"] == [{"text": "HALLO WELT!", "score": -0.6}]
    assert (first["confidence"], second["confidence"]) == (0.95, 0.15)
    assert answer["confidence"] == 0.15  # of the least sure


@in_a_loop
async def test_details_name_restored_words():
    asked = HALLO | {"q": "Hallo strasse. Hallo welt.", "details": True}
    first, second = (await ask(json=asked)).json()["details"]["sentences"]

    assert first["restored_words"] == ["Straße"]
    assert second["restored_words"] == []


JSON = {"headers": {"Content-Type": "application/json"}}
FORM = {"headers": {"Content-Type": "application/x-www-form-urlencoded"}}
PARTS = {"headers": {"Content-Type": "multipart/form-data"}}
HALF = json.dumps(HALLO | {"q": "half \ud83d"}).encode()
HALF_A_FORMAT = json.dumps(HALLO | {"format": "\ud83d"}).encode()
REFUSED = [
    ({"json": HALLO | {"q": 7}}, 400, "q must be text or a list of texts, got 7"),
    ({"json": HALLO | {"q": ["a", None]}}, 400, "q must be text or a list of texts"),
    ({"json": HALLO | {"q": {"a": "b"}}}, 400, "q must be text or a list of texts"),
    ({"json": HALLO | {"target": ["en"]}}, 400, "target must be string, got ['en']"),
    ({"json": HALLO | {"alternatives": 10**30}}, 400, "alternatives parameter must be"),
    ({"json": [HALLO]}, 400, "Invalid JSON format"),
    (JSON | {"content": b"{"}, 400, "is not JSON"),
    (JSON | {"content": b""}, 400, "is not JSON"),
    (JSON | {"content": b'"\xff"'}, 400, "not UTF-8"),
    (JSON | {"content": b"[" * 20_000}, 400, "nested too deeply"),
    (JSON | {"content": b'{"q": "\\ud83d"}'}, 400, "missing source parameter"),
    (JSON | {"content": HALF}, 400, "half a character"),
    (JSON | {"content": HALF_A_FORMAT}, 400, "format is not supported"),
    (
        {"data": {"source": "de", "target": "en"}, "files": {"q": ("a.txt", b"ja")}},
        400,
        "q must be",
    ),
    (FORM | {"content": b"q=%ff&source=de&target=en"}, 400, "is not UTF-8"),
    ({"content": b"a=1&" * 3000}, 400, "more than 2000 fields"),
    (PARTS | {"content": b"--x"}, 400, "the form cannot be read"),
    ({"json": HALLO | {"q": "a" * 30_000}}, 413, "a request may have 23000 bytes"),
    ({"json": HALLO, "headers": {"Host": "evil.example"}}, 403, "is not a name of this server"),
    ({"json": HALLO, "headers": {"Origin": "http://evil.example"}}, 403, "other sites"),
    ({"json": HALLO, "headers": {"Origin": "null"}}, 403, "other sites"),
    ({"method": "PUT", "json": HALLO}, 405, "PUT is not possible here"),
    ({"path": "/nowhere", "method": "GET"}, 404, "nothing at this address"),
]


@pytest.mark.parametrize(("request_", "status", "reason"), REFUSED)
@in_a_loop
async def test_what_is_wrong_is_told_in_a_sentence(request_, status, reason):
    answer = await ask(app=serve_stand_in(max_characters=1000, max_texts=10), **request_)

    assert status == answer.status_code
    assert ["error"] == list(answer.json())
    assert reason in answer.json()["error"]
    assert len(answer.json()["error"]) < 400


@in_a_loop
async def test_pages_of_the_server_and_of_friends_are_let_in():
    app = serve_stand_in(hosts=("mt.org",), origins=("https://friend.org",))
    answer, own, friends = [
        await ask(app=app, json=HALLO, headers={"Host": "mt.org"} | origin)
        for origin in ({}, {"Origin": "http://mt.org"}, {"Origin": "https://friend.org"})
    ]

    assert [200] * 3 == [one.status_code for one in (answer, own, friends)]
    assert friends.headers["Access-Control-Allow-Origin"] == "https://friend.org"
    assert "Access-Control-Allow-Origin" not in answer.headers


@in_a_loop
async def test_a_page_of_a_friend_may_send_json():
    """Before a browser sends JSON from another site, it asks whether it may."""
    app = serve_stand_in(origins=("https://friend.org",))
    asking = {"Access-Control-Request-Method": "POST"}
    asking["Access-Control-Request-Headers"] = "authorization,content-type"
    friend, stranger = [
        await ask(app=app, method="OPTIONS", headers=asking | {"Origin": origin})
        for origin in ("https://friend.org", "https://evil.example")
    ]

    assert (friend.status_code, stranger.status_code) == (200, 400)
    assert friend.headers["Access-Control-Allow-Origin"] == "https://friend.org"
    assert "authorization" in friend.headers["Access-Control-Allow-Headers"]


@in_a_loop
async def test_a_page_of_a_friend_can_read_why_it_is_refused():
    """Or its browser says no more than that the request failed."""
    friend = {"Origin": "https://friend.org"}
    app = serve_stand_in(origins=(friend["Origin"],), max_characters=10, max_texts=1)
    refused = [
        await ask(app=app, json=HALLO | {"q": "a" * length}, headers=friend)
        for length in (11, 30_000)
    ]

    assert [400, 413] == [answer.status_code for answer in refused]
    for answer in refused:
        assert answer.headers["Access-Control-Allow-Origin"] == "https://friend.org"
        assert answer.headers["Access-Control-Expose-Headers"] == "Retry-After"


ASKED_FOR_KEY = "Please contact the server operator to get an API key"


async def stream(parts):
    for part in parts:
        yield part


@in_a_loop
async def test_keys_open(tmp_path):
    (path := tmp_path / "keys").write_text("a-secret-key\n")
    app = serve_stand_in(keys=path)
    bearer = {"Authorization": "Bearer a-secret-key"}
    async with client_of(app) as client:
        answers = [
            await client.post("/translate", json=HALLO | {"api_key": "a-secret-key"}),
            await client.post("/translate", data=HALLO | {"api_key": "a-secret-key"}),
            await client.post("/translate", json=HALLO, headers=bearer),
            await client.post("/detect", json={"q": "ja", "api_key": "a-secret-key"}),
            await client.post("/translate", json=HALLO),
            await client.post("/translate", json=HALLO | {"api_key": "another-key"}),
            await client.post("/detect", json={"q": "ja"}),
        ]
        settings = (await client.get("/frontend/settings")).json()
        open_ones = [await client.get(path) for path in ("/health", "/languages", "/docs")]
        closed = [await client.get(path) for path in ("/metrics", "/status")]
        opened = [await client.get(path, headers=bearer) for path in ("/metrics", "/status")]

    assert [200, 200, 200, 200, 400, 403, 400] == [one.status_code for one in answers]
    asked, refused = ({"error": text} for text in (ASKED_FOR_KEY, "Invalid API key"))
    assert [asked, refused, asked] == [one.json() for one in answers[4:]]
    assert "a-secret-key" not in str([one.text for one in answers])
    assert (settings["apiKeys"], settings["keyRequired"]) == (True, True)
    assert [200] * 3 == [one.status_code for one in open_ones]
    assert [400] * 2 + [200] * 2 == [one.status_code for one in (*closed, *opened)]


@pytest.mark.parametrize("where", ["headers", "params"])
@in_a_loop
async def test_nothing_is_read_of_who_sends_a_wrong_key(tmp_path, where):
    """By no route that takes a body: a stranger's file would fill memory and disk."""
    wrong = {"headers": {"Authorization": "Bearer wrong"}, "params": {"api_key": "wrong"}}[where]
    (path := tmp_path / "keys").write_text("a-secret-key\n")
    app = serve_stand_in(keys=path, suggestions="keys", corrections=tmp_path / "corrections")
    routes = {path for path, methods in app.openapi()["paths"].items() if "post" in methods}
    assert {"/translate", "/translate_file", "/detect", "/suggest"} <= routes
    async with client_of(app) as client:
        for route in routes:
            body = iter([b"{}"])
            answer = await client.post(route, content=stream(body), **{where: wrong})

            assert (route, answer.status_code, [*body]) == (route, 403, [b"{}"])


@in_a_loop
async def test_rates_bound_texts():
    async with client_of(serve_stand_in(rate_limit=10)) as client:
        answers = [await client.post("/translate", json=HALLO | {"q": ["a"] * 5}) for _ in "abc"]

    assert [200, 200, 429] == [one.status_code for one in answers]
    assert answers[2].json()["error"].startswith("Slowdown: ")
    assert int(answers[2].headers["Retry-After"]) > 0


@in_a_loop
async def test_the_server_tells_about_itself_and_a_problem_of_the_watch():
    app = serve_stand_in()
    async with client_of(app) as client:
        status = (await client.get("/status")).json()
        await client.post("/translate", json=HALLO)
        answer = await client.get("/metrics")
        metrics = answer.text
        app.state.service.models.watched[0].problem = "MLflow is away"
        later = (await client.get("/status")).json()

    assert answer.headers["content-type"] == CONTENT_TYPE_LATEST  # or Prometheus reads nothing
    assert status["models"][0]["engine"] == "stand-in"
    assert [status["models"][0]["problem"], later["models"][0]["problem"]] == ["", "MLflow is away"]
    assert 'nmt_requests_total{route="/translate",status="200"} 1.0' in metrics
    assert 'nmt_model{digest="digest 0",engine="stand-in",pair="de-en",version="0"} 1.0' in metrics
    assert 'nmt_model_current{pair="de-en"} 1.0' in metrics


@in_a_loop
async def test_a_version_is_swapped_while_the_server_runs():
    source = StandInSource("1")
    models = Models([Watched(source)], lambda folder: StandIn(mark=f"{folder.name} "))
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
        schema = (await client.get("/openapi.json")).json()
        page = (await client.get("/docs")).text

    assert schema == (await ask("/spec", method="GET")).json()
    form = schema["paths"]["/translate_file"]["post"]["requestBody"]["content"]
    [file_schema] = [kind["schema"] for kind in form.values()]
    assert file_schema["properties"]["file"]["format"] == "binary"  # or no tool sends a file
    assert {"file", "source", "target"} == {*file_schema["required"]}
    assert len(schema["paths"]) > 9
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            [section] = [part for part in page.split("<h2>") if f"{method.upper()} {path}<" in part]
            for content in route.get("requestBody", {}).get("content", {}).values():
                for field in content["schema"]["properties"]:
                    assert f"<code>{field}</code></th>" in section
    assert not {"`", "<script", "http:"} & {*page}
    assert "<code>auto</code>" in page


@pytest.mark.parametrize("path", ["/", "/docs", "/health", "/nowhere"])
@in_a_loop
async def test_every_answer_has_a_strict_policy(path):
    answer = await ask(path, method="GET")

    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["X-Frame-Options"] == "DENY"  # for browsers that know no ancestors


@in_a_loop
async def test_nothing_but_the_page_is_given_away():
    async with client_of(serve_stand_in()) as client:
        page = await client.get("/")
        outside = [
            await client.get(path) for path in ("/../settings.py", "/%2e%2e/app.py", "//etc/passwd")
        ]

    assert page.headers["Content-Type"].startswith("text/html")
    assert [404] * 3 == [one.status_code for one in outside]

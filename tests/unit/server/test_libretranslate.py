"""Our routes are compared with LibreTranslate's documentation.

Its OpenAPI description and its source (github.com/LibreTranslate/LibreTranslate, read in November
2026) name the routes, the fields and the errors; the requests and the table are ours.
docs/operations.md lists intended differences.
"""

import pytest

from tests.support.stand_in import ask, client_of, in_a_loop, serve_stand_in

TEXT = {"q": "Ein Haus.", "source": "de", "target": "en"}


PAIR = {"source": "de", "target": "en"}
LIMITS = {"max_characters": 20, "max_texts": 3, "max_alternatives": 4}


def text(**fields):
    """Return a request to translate; a field of None is omitted."""
    return {name: value for name, value in (TEXT | fields).items() if value is not None}


def file(name="a.txt", content=b"Ein Haus.", **fields):
    given = PAIR | fields
    return {
        "files": {"file": (name, content)},
        "data": {field: value for field, value in given.items() if value is not None},
    }


ANSWERED = [
    (text(), {"translatedText": "EIN HAUS."}),
    (text(format="text", alternatives=0, api_key=""), {"translatedText": "EIN HAUS."}),
    (text(alternatives=-3), {"translatedText": "EIN HAUS."}),
    (text(q=["Ein", "Haus"]), {"translatedText": ["EIN", "HAUS"]}),
    (text(q=[""]), {"translatedText": [""]}),
    (text(q=["", "ja"]), {"translatedText": ["", "JA"]}),
    (text(q="<b>ja</b>", format="html"), {"translatedText": "<b>JA</b>"}),
    (text(source="en"), {"translatedText": "Ein Haus."}),
    (
        text(alternatives=2),
        {"translatedText": "EIN HAUS.", "alternatives": ["EIN HAUS.!", "EIN HAUS.!!"]},
    ),
    (
        text(q=["ja", "", "so\n"], alternatives="1"),
        {"translatedText": ["JA", "", "SO\n"], "alternatives": [["JA!"], [], ["SO!\n"]]},
    ),
]
"""The request, and the whole answer with status 200."""

LONG = "Invalid request: request ({size}) exceeds text limit ({limit})"
ALTERNATIVES = "Invalid request: alternatives parameter"
NO_GERMAN = "German (de) is not available as a target language from English (en)"

REFUSED = [
    ("/translate", {}, 400, "Invalid request: missing q parameter"),
    ("/translate", text(q=None), 400, "Invalid request: missing q parameter"),
    ("/translate", text(q=""), 400, "Invalid request: missing q parameter"),
    ("/translate", text(q=[]), 400, "Invalid request: missing q parameter"),
    ("/translate", text(q=None, source=None), 400, "Invalid request: missing q parameter"),
    ("/translate", text(source=None), 400, "Invalid request: missing source parameter"),
    ("/translate", text(source=""), 400, "Invalid request: missing source parameter"),
    ("/translate", text(target=None), 400, "Invalid request: missing target parameter"),
    ("/translate", text(target=""), 400, "Invalid request: missing target parameter"),
    ("/translate", text(target="zz"), 400, "zz is not supported"),
    ("/translate", text(source="zz"), 400, "zz is not supported"),
    ("/translate", text(source="zz", target="zz"), 400, "zz is not supported"),
    ("/translate", text(source="auto", target="zz"), 400, "zz is not supported"),
    ("/translate", text(target="a" * 1000), 400, f"{'a' * 20} is not supported"),
    ("/translate", text(source="en", target="de"), 400, NO_GERMAN),
    ("/translate", text(q="This is a house.", source="auto", target="de"), 400, NO_GERMAN),
    ("/translate", text(format="xml"), 400, "xml format is not supported"),
    ("/translate", text(alternatives="many"), 400, f"{ALTERNATIVES} is not a number"),
    ("/translate", text(alternatives=5), 400, f"{ALTERNATIVES} must be <= 4"),
    ("/translate", text(q="a" * 21), 400, LONG.format(size=21, limit=20)),
    ("/translate", text(q=["a"] * 4), 400, LONG.format(size=4, limit=3)),
    ("/detect", {}, 400, "Invalid request: missing q parameter"),
    ("/detect", {"q": ""}, 400, "Invalid request: missing q parameter"),
    ("/suggest", text(s="A house."), 403, "Suggestions are disabled on this server."),
    ("/suggest", {}, 403, "Suggestions are disabled on this server."),
]
"""Route, fields, status and the whole error."""

FILES_REFUSED = [
    ({"data": PAIR}, "Invalid request: missing file parameter"),
    ({}, "Invalid request: missing file parameter"),
    ({"json": {"file": "a.txt", **PAIR}}, "Invalid request: missing file parameter"),
    ({"files": {"file": ("", b"")}, "data": PAIR}, "Invalid request: missing file parameter"),
    (file(name=""), "Invalid request: missing file parameter"),
    (file(source=None), "Invalid request: missing source parameter"),
    (file(target=None), "Invalid request: missing target parameter"),
    (file(source="zz"), "zz is not supported"),
    (file(target="zz"), "zz is not supported"),
    (file(source="auto", target="zz"), "zz is not supported"),
    (file(name="a.exe"), "Invalid request: file format not supported"),
]

METHODS = [
    ("/translate", {"POST"}),
    ("/translate_file", {"POST"}),
    ("/detect", {"POST"}),
    ("/suggest", {"POST"}),
    ("/languages", {"GET"}),
    ("/frontend/settings", {"GET"}),
    ("/health", {"GET"}),
    ("/spec", {"GET"}),
]


@pytest.mark.parametrize("form", ["json", "data", "params"])
@pytest.mark.parametrize(("fields", "answer"), ANSWERED)
@in_a_loop
async def test_documented_request_is_answered(fields, answer, form):
    if form != "json" and isinstance(fields["q"], list) and len(fields["q"]) == 1:
        pytest.skip("a form cannot tell one text from a list of one")
    given = await ask(**{form: fields})

    assert (given.status_code, given.json()) == (200, answer)
    assert given.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("form", ["json", "data"])
@pytest.mark.parametrize(("path", "fields", "status", "error"), REFUSED)
@in_a_loop
async def test_wrong_request_is_refused_in_libretranslates_words(path, fields, status, error, form):
    if form == "data" and fields.get("q") == []:
        pytest.skip("a form has no empty list")
    given = await ask(path, app=serve_stand_in(**LIMITS), **{form: fields})

    assert (given.status_code, given.json()) == (status, {"error": error})


@pytest.mark.parametrize(("request_", "error"), FILES_REFUSED)
@in_a_loop
async def test_wrong_file_is_refused_in_libretranslates_words(request_, error):
    given = await ask("/translate_file", **request_)

    assert (given.status_code, given.json()) == (400, {"error": error})


@pytest.mark.parametrize(("path", "allowed"), METHODS)
@in_a_loop
async def test_route_answers_its_methods_alone(path, allowed):
    async with client_of(serve_stand_in()) as client:
        for method in ("GET", "POST", "PUT", "DELETE"):
            given = await client.request(method, path)
            assert (given.status_code == 405) == (method not in allowed), method
            if method not in allowed:
                assert set(given.headers["Allow"].split(", ")) == allowed
                assert ["error"] == list(given.json())


@pytest.mark.parametrize("path", [*(path for path, allowed in METHODS if "GET" in allowed), "/"])
@in_a_loop
async def test_head_equals_get_without_body(path):
    """Programs that watch whether a server is up send such requests."""
    async with client_of(serve_stand_in()) as client:
        head, whole = await client.head(path), await client.get(path)

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == whole.headers["Content-Length"]
    assert head.headers["Content-Type"] == whole.headers["Content-Type"]


GERMAN = "Das ist ein deutscher Satz."


@in_a_loop
async def test_detected_languages_have_a_confidence():
    ranked = (await ask("/detect", data={"q": GERMAN})).json()
    of_both = (await ask("/detect", json={"q": [GERMAN, "Ja."]})).json()

    assert (ranked[0]["language"], of_both[0]["language"]) == ("de", "de")
    assert {"language", "confidence"} == set(ranked[0])
    assert ranked == sorted(ranked, key=lambda found: -found["confidence"])
    assert 50 < ranked[0]["confidence"] <= 100


@pytest.mark.parametrize("text", ["Hallo", "Die Sëtzung ass op Lëtzebuergesch.", "42"])
@in_a_loop
async def test_detected_language_may_be_requested(text):
    """Programs request the language of a text, and then its translation from that language."""
    found = (await ask("/detect", json={"q": text})).json()

    assert {"de", "en"} == {one["language"] for one in found}
    assert (await ask(json=TEXT | {"source": found[0]["language"]})).status_code == 200


@pytest.mark.parametrize(
    ("q", "languages"), [(GERMAN, "de"), ("Start", "en"), ([GERMAN, "Start", ""], ["de"] * 3)]
)
@in_a_loop
async def test_list_has_one_language(q, languages):
    """Programs send lists such as the labels of a menu; "Start" alone is taken for English."""
    detected = (await ask(json={"q": q, "source": "auto", "target": "en"})).json()[
        "detectedLanguage"
    ]
    several = isinstance(q, list)

    assert (
        [each["language"] for each in detected] if several else detected["language"]
    ) == languages


@in_a_loop
async def test_languages_have_targets():
    given = (await ask("/languages", method="GET")).json()

    assert given == [
        {"code": "de", "name": "German", "targets": ["de", "en"]},
        {"code": "en", "name": "English", "targets": ["en"]},
    ]


@in_a_loop
async def test_settings_have_the_documented_fields():
    app = serve_stand_in(max_characters=7)
    given = (await ask("/frontend/settings", app=app, method="GET")).json()

    language = {"source": {"code": "auto", "name": "Auto Detect"}}
    language["target"] = {"code": "en", "name": "English"}
    documented = {
        "charLimit": 7,
        "frontendTimeout": 500,
        "apiKeys": False,
        "keyRequired": False,
        "suggestions": False,
        "filesTranslation": True,
        "language": language,
    }
    assert documented.items() <= given.items()
    assert {".txt", ".html", ".docx", ".srt"} <= set(given["supportedFilesFormat"])

"""For any input: a clear answer, no other user's text, and no text in the logs."""

import asyncio
import json
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.stand_in import client_of, in_a_loop, serve_stand_in

APP = serve_stand_in(max_characters=20_000)

TEXT = st.text(st.characters(codec=None), max_size=40)  # including half characters
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "q": TEXT | st.lists(TEXT, max_size=3) | JSON,
        "source": st.sampled_from(["de", "en", "auto", "xx"]) | JSON,
        "target": st.sampled_from(["en", "xx"]) | JSON,
        "format": st.sampled_from(["text", "html"]) | JSON,
        "alternatives": st.integers(-1, 12) | JSON,
        "details": st.booleans() | JSON,
        "glossary": st.sampled_from(["a\tb", "a"]) | TEXT | JSON,
        "api_key": JSON,
    },
)
KINDS = st.sampled_from(
    ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)


def check(answer):
    assert answer.status_code in (200, 400, 413)
    told = answer.json()
    assert answer.status_code == 200 or list(told) == ["error"]
    assert not any(word in answer.text for word in ("Traceback", "site-packages", ".py"))


def send(client, path, body, kind):
    return client.post(path, content=body, headers={"Content-Type": kind})


@given(st.lists(st.tuples(st.sampled_from(["/translate", "/detect"]), FIELDS | JSON), max_size=9))
@settings(max_examples=30)
@in_a_loop
async def test_any_json_gets_a_clear_answer(requests):
    async with client_of(APP) as client:
        for path, fields in requests:
            check(await send(client, path, json.dumps(fields), "application/json"))


@given(st.lists(st.tuples(KINDS, st.binary(max_size=200), TEXT), max_size=9))
@settings(max_examples=30)
@in_a_loop
async def test_any_bytes_get_a_clear_answer(requests):
    async with client_of(APP) as client:
        for kind, body, query in requests:
            path = "/translate?" + json.dumps(query)[1:-1].replace("\\", "%")
            check(await send(client, path, body, kind))


@pytest.mark.parametrize("charset", ["undefined", "punycode", "none-such"])
@in_a_loop
async def test_form_in_an_odd_encoding_is_refused(charset):
    body = b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\n\xff\r\n--x--\r\n'
    kind = f"multipart/form-data; boundary=x; charset={charset}"
    async with client_of(APP) as client:
        answer = await send(client, "/translate", body, kind)

    assert answer.status_code == 400


@pytest.fixture
def logged():
    """Everything that any logger writes."""
    logged, handler, root = [], logging.Handler(), logging.getLogger()
    handler.emit = lambda record: logged.append(str(vars(record)))
    root.addHandler(handler)
    yield logged
    root.removeHandler(handler)


@given(texts=st.lists(st.text(max_size=60), min_size=1, max_size=8))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@in_a_loop
async def test_everyone_gets_their_own_text_and_logs_none(logged, texts):
    async with client_of(APP) as client:
        asked = [f"user{number}user {text}" for number, text in enumerate(texts)]
        fields = [{"q": text, "source": "de", "target": "en", "details": True} for text in asked]
        answers = await asyncio.gather(*(client.post("/translate", json=one) for one in fields))
    for number, answer in enumerate(answers):
        assert answer.status_code == 200
        others = {f"user{other}user" for other in range(len(texts)) if other != number}
        assert f"USER{number}USER" in answer.json()["translatedText"]
        assert not any(other in answer.text.lower() for other in others)
    assert not any("user0user" in one.lower() for one in logged)

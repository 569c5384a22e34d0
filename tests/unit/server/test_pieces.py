"""Pieces of the server one by one: what each makes of what it is given."""

import asyncio
import json
from collections import deque
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import uvicorn
from uvicorn.server import ServerState

from nmt_core.literals.checking import Breach
from nmt_core.server import detect, metrics, run
from nmt_core.server.answers import (
    TranslatedText,
    describe_sentence,
    find_confidence,
    gather_answer,
    list_checks,
    list_details,
)
from nmt_core.server.asked import find_kind, read_glossary
from nmt_core.server.detect import LanguageGuess, rank_known
from nmt_core.server.docs import name_type, render_fields, render_text
from nmt_core.server.errors import RequestError
from nmt_core.server.models import LanguagePair
from nmt_core.server.schemas import TranslateRequest
from nmt_core.server.texts import Place
from nmt_core.server.turns import Turns
from nmt_core.translation.confidence import TENTHS, compute_drift
from nmt_core.translation.translation import Translation
from tests.support.stand_in import StandIn, in_a_loop, model_of

BREACH = Breach("number", "5", "5", "missing")
CHECK = {"kind": "number", "text": "5", "expected": "5", "problem": "missing"}


def translation(text="x", **more):
    tokens = more.pop("tokens", tuple(text.split()))
    return Translation(text, more.pop("score", -0.5), tokens, (), (), **more)


# answers


def text(number, details=()):
    return TranslatedText(
        f"t{number}",
        LanguageGuess("de", 90.0) if number else None,
        [f"a{number}"],
        details,
        list_checks(translation(breaches=(BREACH,))),
        0.5,
        True,
        [],
    )


@pytest.mark.parametrize("count", [None, 1, 3])
@pytest.mark.parametrize(
    "wanted", [(), ("alternatives",), ("checks", "confidence"), ("matches", "details"), ("auto",)]
)
@pytest.mark.parametrize("remembers", [True, False])
def test_an_answer_has_what_was_asked_for_in_the_shape_of_the_question(count, wanted, remembers):
    asked = TranslateRequest(
        q="q" if count is None else ["q"] * count,
        source="auto" if "auto" in wanted else "de",
        target="en",
        **{name: 1 for name in wanted if name != "auto"},
    )
    pieces = list_details([b'{"n":1}', b'{"n":2}'], after=' ".\n')
    done = [text(number, pieces) for number in range(count or 1)]
    answer = json.loads(gather_answer(asked, done, remembers=remembers))
    one = {
        "translatedText": [f"t{number}" for number in range(len(done))],
        "alternatives": [[f"a{number}"] for number in range(len(done))],
        "checks": [[CHECK]] * len(done),
        "confidence": [0.5] * len(done),
        "matches": [[]] * len(done),
        "details": [{"sentences": [{"n": 1}, {"n": 2}], "after": ' ".\n'}] * len(done),
        "memory": [True] * len(done),
        "detectedLanguage": [
            {"language": "de", "confidence": 90.0} if n else {"language": "en", "confidence": 0.0}
            for n in range(len(done))
        ],
    }
    names = {"translatedText", *wanted} - {"auto"}
    names |= {"memory"} if remembers else set()
    names |= {"detectedLanguage"} if "auto" in wanted else set()
    assert answer == {name: one[name] if count else one[name][0] for name in names}


@pytest.mark.parametrize(
    ("confidences", "lowest"),
    [([], None), ([None], None), ([0.7, None, 0.123456], 0.1235), ([1.0], 1.0), ([0.0, 0.5], 0.0)],
)
def test_a_text_is_as_sure_as_its_least_sure_sentence(confidences, lowest):
    found = [[translation(confidence=one), translation(confidence=0.0)] for one in confidences]
    assert find_confidence(found) == lowest


def test_a_text_with_a_sentence_that_nobody_can_judge_has_no_confidence():
    known, strange = translation(confidence=0.7), translation(unknown_words=("x",))
    assert find_confidence([[known], [strange]]) is None
    assert find_confidence([[known], [strange._replace(confidence=0.4)]]) == 0.4
    assert find_confidence([[known, strange]]) == 0.7


def test_a_sentence_is_described_by_its_best_translation():
    best = translation(
        "B",
        score=-0.25,
        tokens=("▁B",),
        confidence=0.98765,
        breaches=(BREACH,),
        restored_words=("Haus",),
        unknown_words=("b",),
        links=[1],
    )._replace(token_probabilities=(0.123456, 1.0))
    other = translation("C", score=-0.75)
    places = [Place("(", "b b"), Place("[", "B")]
    found = describe_sentence(places, [best, other], []).model_dump()
    assert found == {
        "source_before": "(",
        "source": "b b",
        "before": "[",
        "text": "B",
        "score": -0.25,
        "confidence": 0.9877,
        "tokens": ["▁B"],
        "probabilities": [0.1235, 1.0],
        "source_words": ["b", "b"],
        "words": ["B"],
        "links": [1],
        "alternatives": [{"text": "C", "score": -0.75}],
        "checks": [CHECK],
        "restored_words": ["Haus"],
        "unknown_words": ["b"],
        "origin": "model",
        "matches": [],
    }
    plain = describe_sentence(places, [other], [])
    assert (plain.links, plain.confidence, plain.alternatives) == (None, None, [])


# what is asked for


def test_a_glossary_of_a_request_is_read_once_within_bounds():
    pair = LanguagePair("de", "en")
    read = read_glossary("a\tb\n" * 1000, pair)
    assert read.translations == {"a": ("b",)}
    assert read_glossary("a\tb\n" * 1000, pair) is read
    assert read_glossary("a\tc\n" * 1000, pair) is not read
    for lines, told in (
        ("a\tb\n" * 1001, "glossary has 1,001 lines, and at most 1,000 are allowed"),
        ("x\n/a+/\tb", "may hold no pattern such as '/a\\+/'"),
        ("a\tb\n /(/", "may hold no pattern"),
        ("a\tb\na\tc", "glossary, line 2"),
        ("a\t\tb", "glossary, line 1: a term or a translation is empty"),
    ):
        with pytest.raises(RequestError, match=told) as refused:
            read_glossary(lines, pair)
        assert refused.value.status == 400


def test_a_file_is_of_a_kind_by_its_name():
    assert find_kind("a.b.TXT") == find_kind("x.txt")
    for name in ("a", "a.exe", "txt"):
        with pytest.raises(RequestError, match="file format not supported") as refused:
            find_kind(name)
        assert refused.value.status == 400


@pytest.mark.parametrize(
    ("ranked", "guesses"),
    [
        ([("fr", 60.0), ("de", 30.0), ("en", 10.0)], [("de", 30.0), ("en", 10.0)]),
        ([("fr", 60.0)], [("de", 0.0)]),
    ],
)
def test_the_likeliest_of_the_languages_that_are_known_is_detected(monkeypatch, ranked, guesses):
    monkeypatch.setattr(detect, "rank_languages", lambda _: [LanguageGuess(*one) for one in ranked])
    assert rank_known("x", {"en", "de"}) == guesses


def test_languages_are_ranked_by_the_beginning_of_a_text(monkeypatch):
    seen = []
    ranking = SimpleNamespace(
        rank=lambda read: seen.append(read) or [("de", 0.98765), ("en", 0.01)]
    )
    monkeypatch.setattr(detect, "load", lambda: ranking)
    assert detect.rank_languages("x" * 3000) == [("de", 98.8), ("en", 1.0)]
    assert seen == ["x" * 2000]


# turns


@in_a_loop
async def test_turns_are_one_for_each_user_and_so_many_for_all():
    turns, inside, most = Turns(2), [], []

    async def work(user):
        async with turns.take(user):
            inside.append(user)
            most.append((len(inside), len({*inside})))
            await asyncio.sleep(0.001)
            inside.remove(user)

    await asyncio.gather(*(work(user) for user in "aaabbbccc"))
    assert {*most} <= {(1, 1), (2, 2)}
    assert (2, 2) in most
    assert len(most) == 9


# counts


def sample(own, name, **labels):
    return own.registry.get_sample_value(f"nmt_{name}", labels)


@pytest.mark.parametrize("count", [metrics.FEWEST - 1, metrics.FEWEST, metrics.LATEST + 50])
def test_a_batch_is_counted_and_late_confidences_are_compared(count):
    own, translator = metrics.Metrics(), StandIn()
    validation = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    translator.confidence_model = SimpleNamespace(validation=validation)
    served = model_of(translator)
    late = min(count, metrics.LATEST)
    found = [[translation("a b", confidence=0.95, breaches=(BREACH, BREACH))]] * count
    other = [[translation("c", tokens=("c",), unknown_words=("x", "y")), translation("d e f")]]
    own.count_batch(served, [*found, *other], tokens=7, seconds=0.3)
    watched = SimpleNamespace(watched=[SimpleNamespace(model=served, problem="")])
    own.render(watched)
    assert (sample(own, "batch_sentences_sum"), sample(own, "batch_tokens_sum")) == (count + 1, 7)
    assert sample(own, "batch_seconds_sum") == pytest.approx(0.3)
    assert sample(own, "tokens_total", pair="de-en", side="source") == 7
    assert sample(own, "tokens_total", pair="de-en", side="target") == 3 * count + 2
    assert sample(own, "breaches_total", pair="de-en", kind="number") == 2 * count
    told = [
        sample(own, name, pair="de-en") for name in ("confidence_count", "sentences_unknown_total")
    ]
    assert told == [count, 1]
    shares = [
        sample(own, "confidence_validation", pair="de-en", le=str((tenth + 1) / TENTHS))
        for tenth in range(TENTHS)
    ]
    assert shares == pytest.approx([sum(validation[: n + 1]) / 55 for n in range(TENTHS)])
    drift = sample(own, "confidence_drift", pair="de-en")
    if count < metrics.FEWEST:
        assert drift is None
    else:
        assert drift == pytest.approx(compute_drift([0] * 9 + [late], validation))
    assert own._latest["de-en"] == ("digest", deque([0.95] * late))
    labels = {"pair": "de-en", "version": "1", "digest": "digest", "engine": "stand-in"}
    assert sample(own, "model", **labels) == sample(own, "model_current", pair="de-en") == 1
    newer = model_of(translator, digest="new")
    own.count_batch(newer, [[translation(confidence=0.1)]], tokens=1, seconds=0.1)
    assert own._latest["de-en"] == ("new", deque([0.1]))
    watched.watched[0] = SimpleNamespace(model=newer, problem="it is away")
    own.render(watched)
    assert sample(own, "model", **labels) is None
    assert sample(own, "model_current", pair="de-en") == 0
    assert sample(own, "confidence_drift", pair="de-en") is None


def test_requests_are_counted_by_route_and_status():
    own = metrics.Metrics()
    own.count_request("/a", 200, 0.25)
    own.count_request("/a", 404, 0.5)
    assert sample(own, "requests_total", route="/a", status="404") == 1
    assert sample(own, "request_seconds_sum", route="/a") == 0.75
    own.watch_queue(lambda: 7, lambda: 3)
    assert (sample(own, "queue_tokens"), sample(own, "queue_requests")) == (7, 3)


# the page about the API


SCHEMA = {"components": {"schemas": {"Own": {"properties": {"a<": {"type": "integer"}}}}}}


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ({"type": "string"}, "string"),
        ({}, "anything"),
        ({"$ref": "#/components/schemas/Own"}, "Own"),
        ({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]},
         "string or list of number"),
        ({"type": "array"}, "list of anything"),
        ({"enum": ["text", 5], "type": "string"}, "text or 5"),
    ],
)  # fmt: skip
def test_a_type_is_named_in_words(field, name):
    assert name_type(SCHEMA, field) == name


def test_fields_are_a_table_however_they_are_referred_to():
    own = {"$ref": "#/components/schemas/Own"}
    row = "<table><tr><th scope=row><code>a&lt;</code></th><td>integer</td><td></td></tr></table>"
    for schema in (own, {"type": "array", "items": own}, SCHEMA["components"]["schemas"]["Own"]):
        assert render_fields(SCHEMA, {"schema": schema}) == row
    assert render_fields(SCHEMA, {}) == render_fields(SCHEMA, {"schema": {"type": "array"}}) == ""
    assert render_text("a `b<` & `c`") == "a <code>b&lt;</code> &amp; <code>c</code>"


# connections


HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@in_a_loop
async def test_a_connection_waits_for_each_head_and_for_its_reader():
    async def answer(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    config, state = uvicorn.Config(answer, lifespan="off", log_config=None), ServerState()
    config.load()
    protocol = type("Protocol", (run.ImpatientProtocol,), {"seconds": 3.0})
    due, transport = [], Mock()
    transport.get_extra_info.return_value, transport.is_closing.return_value = None, False

    def call_later(seconds, do):
        due.append(timer := (seconds, do))
        return Mock(cancel=lambda: due.remove(timer))

    loop = Mock(wraps=asyncio.get_running_loop(), call_later=call_later)
    own = protocol(config, state, {}, _loop=loop)
    own.timeout_keep_alive_task = None
    own.connection_made(transport)
    late, unread = (3.0, transport.close), (3.0, transport.abort)
    transport.set_write_buffer_limits.assert_called_with(high=0)
    assert due == [late]
    own.data_received(HEAD[:9])
    assert due == [late]
    own.data_received(HEAD[9:])
    assert late not in due
    for _ in range(20):
        await asyncio.sleep(0)
    assert own.cycle.response_complete
    own.data_received(HEAD[:5])
    assert due.count(late) == 1
    own.pause_writing()
    assert unread in due
    own.resume_writing()
    assert unread not in due
    own.pause_writing()
    own.connection_lost(None)
    assert late not in due
    assert unread not in due
    transport.abort.assert_not_called()

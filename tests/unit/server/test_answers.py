"""Answers have the requested fields, in the shape of the request."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.literals.checking import Breach
from nmt_core.server.answers import (
    TranslatedText,
    describe_sentences,
    find_confidence,
    locate_pieces,
    write_answer,
)
from nmt_core.server.schemas import Detected, TranslateRequest
from nmt_core.text.translation import Translation

BREACH = Breach("number", "5", "5", "missing")
CHECK = {"kind": "number", "text": "5", "expected": "5", "problem": "missing"}
MATCH = {"source": "s", "target": "t", "score": 0.9, "difference": []}
MATCHES = {"b": [MATCH]}


def translation(text="x", **more):
    tokens = more.pop("tokens", tuple(text.split()))
    return Translation(text, more.pop("score", -0.5), tokens, (), (), **more)


def text(number):
    best = [
        translation(f"t{number}", breaches=(BREACH,), confidence=0.5, origin="memory"),
        translation("b", confidence=0.75),
    ]
    return TranslatedText(
        f"s{number} b.",
        [f"t{number} b.", f"a{number}", f"t{number} b.", f"a{number}"],
        [*zip([f"s{number}", "b"], [[each] for each in best], strict=True)],
    )


FIELDS = {
    "translatedText": ["t0 b.", "t1 b."],
    "alternatives": [["a0"], ["a1"]],
    "checks": [[CHECK]] * 2,
    "confidence": [0.5] * 2,
    "matches": [[MATCH]] * 2,
    "memory": [True] * 2,
    "detectedLanguage": [{"language": "de", "confidence": 90.0}] * 2,
}
"""All fields of an answer to two texts, except the details."""


@pytest.mark.parametrize("count", [None, 1, 2])
@pytest.mark.parametrize(
    "wanted", [(), ("alternatives",), ("checks", "confidence"), ("matches",), ("auto",)]
)
@pytest.mark.parametrize("has_memory", [True, False])
def test_answer_has_the_requested_fields(count, wanted, has_memory):
    request = TranslateRequest(
        q="q" if count is None else ["q"] * count,
        source="auto" if "auto" in wanted else "de",
        target="en",
        **{name: 1 for name in wanted if name != "auto"},
    )
    texts = [text(number) for number in range(count or 1)]
    names = {"translatedText", *wanted} - {"auto"}
    names |= {"memory"} if has_memory else set()
    names |= {"detectedLanguage"} if "auto" in wanted else set()

    fields = FIELDS if has_memory else FIELDS | {"matches": [[]] * 2}
    guess = Detected(language="de", confidence=90.0) if "auto" in wanted else None
    assert json.loads(write_answer(request, texts, guess, MATCHES if has_memory else None)) == {
        name: fields[name][:count] if count else fields[name][0] for name in names
    }


def test_details_join_to_the_whole_text():
    request = TranslateRequest(q="q", source="de", target="en", details=True)
    details = json.loads(write_answer(request, [text(1)], None, MATCHES))["details"]

    assert [
        [sentence[name] for name in ("source_before", "source", "before", "text")]
        for sentence in details["sentences"]
    ] == [["", "s1", "", "t1"], [" ", "b", " ", "b"]]
    assert details["after"] == "."
    assert [sentence["matches"] for sentence in details["sentences"]] == [[], [MATCH]]


@pytest.mark.parametrize(
    ("confidences", "lowest"),
    [([], None), ([None], None), ([0.7, None, 0.123456], 0.1235), ([1.0], 1.0), ([0.0, 0.5], 0.0)],
)
def test_a_text_has_its_lowest_sentence_confidence(confidences, lowest):
    assert find_confidence([translation(confidence=each) for each in confidences]) == lowest


def test_unknown_words_leave_a_text_without_confidence():
    known, unknown = translation(confidence=0.7), translation(unknown_words=("x",))

    assert find_confidence([known, unknown]) is None
    assert find_confidence([known, unknown._replace(confidence=0.4)]) == 0.4


def test_sentence_is_described_by_its_best_translation():
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
    text = TranslatedText("(b b", ["[B"], [("b b", [best, other])])
    [described] = describe_sentences(text, {})["sentences"]

    assert described.model_dump() == {
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


@given(st.lists(st.tuples(st.text("\n\t- ", max_size=3), st.text("abc d", min_size=1)), max_size=6))
def test_places_join_to_the_whole_text(parts):
    pieces = [piece for _, piece in parts if piece.strip()]
    whole = "".join(gap + piece for gap, piece in parts)
    places, after = locate_pieces(whole, pieces)

    assert "".join(before + piece for before, piece in places) + after == whole
    assert ["".join(piece.split()) for _, piece in places] == ["".join(p.split()) for p in pieces]


@pytest.mark.parametrize(
    ("whole", "pieces", "places", "after"),
    [
        ("- a\nb.", ["a b"], [("- ", "a\nb")], "."),
        ("- a\nb.", ["ab"], [("- ", "a\nb")], "."),
        ("a b\n\na b", ["a b", "a b"], [("", "a b"), ("\n\n", "a b")], ""),
        ("x y", ["nothing", "y"], [("", ""), ("x ", "y")], ""),
        ("x ", [""], [("", "")], "x "),
    ],
)
def test_places_ignore_white_space(whole, pieces, places, after):
    assert locate_pieces(whole, pieces) == (places, after)

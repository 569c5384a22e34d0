"""Fields of requests are read strictly, and refused by name."""

import pytest

from nmt_core.base.errors import ConfigError
from nmt_core.server.errors import RequestError
from nmt_core.server.schemas import (
    DetectRequest,
    FileRequest,
    SuggestRequest,
    TranslateRequest,
    build_request,
)
from nmt_core.server.service import read_glossary

REQUIRED = {
    TranslateRequest: {"q": "x", "source": "de", "target": "en"},
    FileRequest: {"source": "de", "target": "en"},
    DetectRequest: {"q": "x"},
    SuggestRequest: {"q": "x", "s": "y", "source": "de", "target": "en"},
}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, fields in REQUIRED.items() for name in fields]
)
def test_required_field_is_named(kind, name):
    fields = REQUIRED[kind]

    assert build_request(kind, fields | {"more": 1}).model_dump(include=fields.keys()) == fields
    for empty in ("", None, []):
        with pytest.raises(RequestError, match=f"^Invalid request: missing {name} parameter$"):
            build_request(kind, fields | {name: empty})
    with pytest.raises(RequestError, match=name):
        build_request(kind, fields | {name: 5})


def test_defaults_request_no_extra_fields():
    request = build_request(TranslateRequest, REQUIRED[TranslateRequest])

    assert request.model_dump(exclude=REQUIRED[TranslateRequest].keys()) == {
        "format": "text",
        "alternatives": 0,
        **dict.fromkeys(("details", "checks", "confidence", "matches"), False),
        **dict.fromkeys(("glossary", "tag", "api_key"), None),
        "project": "",
    }


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ({"alternatives": "many"}, "alternatives parameter is not a number"),
        ({"format": "pdf" * 20}, f"{('pdf' * 20)[:20]} format is not supported"),
        ({"details": "perhaps"}, "details must be boolean.*got 'perhaps'"),
        ({"project": "x" * 201}, "project .* at most 200 characters"),
        ({"project": "\ud800"}, "project must be string"),
        ({"q": ["a", None]}, r"q must be string, got \['a', None\]"),
        ({"q": "half \ud83d"}, "q must be string"),
        ({"target": ["en"]}, r"target must be string, got \['en'\]"),
    ],
)
def test_wrong_field_is_named(field, reason):
    with pytest.raises(RequestError, match=reason) as refused:
        build_request(TranslateRequest, REQUIRED[TranslateRequest] | field)
    assert refused.value.status == 400


PAIR = ("de", "en")


def test_equal_glossaries_are_one():
    glossary = read_glossary("a\tb\n" * 1000, PAIR)

    assert glossary.translations == {"a": ("b",)}
    assert read_glossary("a\tb\n" * 1000, PAIR) is glossary
    assert read_glossary("a\tc\n" * 1000, PAIR) is not glossary


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("a\tb\n" * 1001, "glossary has 1,001 lines; the limit is 1,000"),
        ("a\tb\na\tc", "glossary, line 2"),
        ("a\t\tb", "glossary, line 1"),
    ],
)
def test_wrong_glossary_is_refused(lines, reason):
    with pytest.raises(ConfigError, match=reason):
        read_glossary(lines, PAIR)

import json
import re
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import DocumentError
from nmt_core.documents.catalogues import read_arb, read_json_strings
from tests.support.echoes import Echo, answer, garble, keep, shout, show_passages

FIELD = re.compile(r"\{\{n\}\}|\{n\}|\$t\(key\)|</?b>|%s")
CODES = ("en", "de")
BITS = ["Hi you", "{{n}}", "{n}", "$t(key)", "<b>x</b>", '"', "\\", "\n", "é", "100%", "%s", ""]
TEXT = st.one_of(st.lists(st.sampled_from(BITS), max_size=4).map(" ".join), st.text(max_size=5))
VALUES = st.recursive(
    st.one_of(TEXT, st.integers(), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
LOOKS = st.sampled_from(
    [
        partial(json.dumps, indent=2, ensure_ascii=False),
        partial(json.dumps, indent="\t"),
        partial(json.dumps, separators=(",", " : ")),
    ]
)


@settings(max_examples=50)
@given(VALUES, LOOKS, st.sampled_from(["\n", "\r\n"]))
def test_unchanged_file_stays_byte_for_byte(value, write, end):
    data = write(value).replace("\n", end).encode("utf-8", "surrogatepass")

    for read in (read_json_strings, read_arb):
        assert keep(read(data, CODES)) == data


def list_strings(value, path=()):
    """Yield each string that is no key, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from list_strings(inner, (*path, number))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from list_strings(inner, (*path, key))


@settings(max_examples=50)
@given(VALUES, LOOKS, st.integers(0, 9))
def test_keys_and_placeholders_are_kept(value, write, seed):
    written = garble(read_json_strings(write(value).encode(), CODES), seed)

    before, after = dict(list_strings(value)), dict(list_strings(json.loads(written)))
    assert after.keys() == before.keys()
    for path, text in before.items():
        found, kept = (
            re.findall(r"\{\{n\}\}|\{n\}|\$t\(key\)|</?b>|%s", t) for t in (text, after[path])
        )
        assert sorted(kept) == sorted(found)


def test_values_are_translated():
    data = b'{"a": "one",\n "one": ["two", {"b": "three \\u00fc {{N}} \\/"}], "n": 1}'

    assert shout(read_json_strings(data, CODES)) == (
        b'{"a": "ONE",\n "one": ["TWO", {"b": "THREE \\u00dc {{N}} /"}], "n": 1}'
    )


ARB = """{
  "@@locale": "en",
  "greeting": "Hi {NAME}",
  "@greeting": {"description": "Says hi", "placeholders": {"name": {"example": "Bob"}}},
  "files": "{n, plural, =0{no files} other{{N} files}}"
}
"""


def test_figures_alone_stay():
    data = b'{"version": "1.0", "rate": "1.5 of 5", "share": "100%"}'

    assert show_passages(read_json_strings(data, CODES))[0] == "1.0"
    assert answer(read_json_strings(data, CODES), "x") == data.replace(b"1.5 of 5", b"x")


def test_model_reads_placeholders():
    echo = Echo(lambda line: f"of {line.partition(' ')[0]}")

    assert echo.translate(read_json_strings(b'["%1 a", ":by c"]', None)) == b'["of %1", "of :by"]'
    assert echo.calls == [(["%1 a", ":by c"], False)]


def test_metadata_stay_and_locale_changes():
    read = read_arb(ARB.encode(), ("en", "pt-BR"))

    assert show_passages(read) == ["Hi {NAME}"]
    assert read.untranslated.total() == 1
    assert shout(read_arb(ARB.encode(), ("en", "pt-BR"))).decode() == (
        ARB.replace('"en"', '"pt_BR"').replace("Hi {NAME}", "HI {NAME}")
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1 of this document is not JSON"),
        (b'{"a": "b",}', "not JSON"),
        (b'{\n"a": b}', "line 2 of this document is not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff", "not UTF-8"),
        (b'["%s"]' % (b"a" * 10**6), "unit of .* 100,000"),
        (b'{"@@locale": "fr"}', "is in 'fr', and not 'en'"),
    ],
)
def test_wrong_file_is_refused(data, message):
    with pytest.raises(DocumentError, match=message):
        read_arb(data, CODES)

from itertools import pairwise

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import DocumentError
from nmt_core.documents import yaml_strings as module
from nmt_core.documents.yaml_strings import read_yaml_strings
from tests.support.echoes import answer, garble, keep, shout, show_passages
from tests.unit.documents.test_json_strings import FIELD, VALUES, list_strings

CODES = ("en", "de")
FILE = """\
# Strings of Rails
en:
  a: plain text
    goes on   # kept
  "b": |
    One thing.
      - two

  c: >-
    A sentence over
    two lines.
    three

    Another.
  d: &anchor "quoted \\u0041"
  e: *anchor
  f: [flow, 'it''s', {g: here}]
  h: yes
  i: !ruby/symbol x
  j: 3
"""
TRANSLATED = """\
# Strings of Rails
de:
  a: PLAIN TEXT GOES ON   # kept
  "b": |
    ONE THING.
      - TWO

  c: >-
    A SENTENCE OVER
    TWO LINES.
    THREE

    ANOTHER.
  d: &anchor "QUOTED A"
  e: *anchor
  f: [FLOW, 'IT''S', {g: HERE}]
  h: yes
  i: !ruby/symbol x
  j: 3
"""


@pytest.mark.parametrize("loader", [yaml.CSafeLoader, yaml.SafeLoader])
def test_strings_are_translated_where_they_stand(loader, monkeypatch):
    monkeypatch.setattr(module, "LOADER", loader)

    for end in ("\n", "\r\n"):
        data = FILE.replace("\n", end).encode()
        assert shout(read_yaml_strings(data, CODES)) == TRANSLATED.replace("\n", end).encode()
    assert show_passages(read_yaml_strings(FILE.encode(), CODES)) == [
        *("plain text goes on", "One thing.", "two", "A sentence over\ntwo lines.\nthree"),
        *("Another.", "quoted A", "flow", "it's", "here"),
    ]


def test_tags_in_a_block_go_around_their_words():
    file = "a: |\n  <p>See <b>this\n  word</b></p>\n  R&D\nb: >\n  See <1>it</1>\n\n  here.\n"

    assert show_passages(read_yaml_strings(file.encode(), None)) == [
        *("See <this\n  word>", "\n  R&D\n", "  See <it>\n\n  here.\n"),
    ]
    assert shout(read_yaml_strings(file.encode(), None)).decode() == (
        "a: |\n  <p>SEE <b>THIS WORD</b></p>\n  R&D\nb: >\n  SEE <1>IT</1> HERE.\n"
    )


def dump(value, style, flow, width):
    return yaml.dump(
        value,
        default_style=style,
        default_flow_style=flow,
        width=width,
        allow_unicode=True,
        sort_keys=False,
    ).encode("utf-8", "replace")


LOOKS = st.tuples(
    st.sampled_from([None, "'", '"', "|", ">"]), st.booleans(), st.sampled_from([9, 80])
)


@settings(max_examples=50)
@given(VALUES, LOOKS)
def test_what_is_translated_to_itself_stays_byte_for_byte(value, look):
    data = dump(value, *look)

    assert keep(read_yaml_strings(data, None)) == data
    assert keep(read_yaml_strings(b"\xef\xbb\xbf" + data, None)) == b"\xef\xbb\xbf" + data


@settings(max_examples=50)
@given(VALUES, LOOKS, st.integers(0, 9))
def test_whatever_is_answered_no_placeholder_and_no_key_is_lost_or_doubled(value, look, seed):
    data = dump(value, *look)
    written = garble(read_yaml_strings(data, None), seed)

    before, after = (dict(list_strings(yaml.safe_load(each))) for each in (data, written))
    assert after.keys() == before.keys()
    for path, text in before.items():
        assert sorted(FIELD.findall(after[path])) == sorted(FIELD.findall(text))


@pytest.mark.parametrize(
    "answered", ["no", "a: b", "- a", "a #b", "x'y", "[", "1", "é", "\\", "@a"]
)
@pytest.mark.parametrize(
    "written", ["a: word", "a: 'word'", 'a: "word"', "- {a: word}", "a: [word]"]
)
def test_what_is_written_is_read_back(answered, written):
    data = answer(read_yaml_strings(written.encode(), None), answered)

    assert [text for _, text in list_strings(yaml.safe_load(data))] == [answered]


def test_the_language_of_the_root_is_that_of_the_translation():
    assert keep(read_yaml_strings(b"en-GB: {a: b}", ("en", "de"))) == b"de: {a: b}"
    for other in (b"en: a\nfr: b\n", b"fr:\n  en: b\n"):
        assert keep(read_yaml_strings(other, ("en", "de"))) == other


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"a: b: c", "line 1 of this document is no YAML"),
        (b"a: b\n c: [d", "is no YAML"),
        (b"a: \x00", "is no YAML"),
        (b"\xff", "not UTF-8"),
        (b"[" * 100_000, "nests deeper than 100"),
        (b"a: %s" % (b"a" * 10**6), "unit of .* 100,000"),
    ],
)
def test_what_is_wrong_is_told(data, told):
    with pytest.raises(DocumentError, match=told):
        read_yaml_strings(data, CODES)


def test_entities_that_grow_are_not_read():
    bomb = "a: &a [x, x]\n" + "".join(
        f"{name}: &{name} [*{before}, *{before}]\n" for before, name in pairwise("abcdefghi")
    )

    assert len(read_yaml_strings(bomb.encode(), CODES).passages) == 2

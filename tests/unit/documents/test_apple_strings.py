import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import DocumentError
from nmt_core.documents.apple_strings import read_apple_strings
from tests.support.echoes import answer, garble, keep, shout, show_passages

FILE = r"""/* The "title" = "of"; the page */
"title" = "Hello, World!";
// "no" = "entry";
key.bare = Cancel ;
"Share…" ;  'one'='it\'s' /* now */ ;
"count" = "%1$@ has \"%2$@\" files\n\U00e4\\ and %#@DAYS@ 100%%";
"old" = "caf\351";
"empty" = "";
"""
BITS = [*("Hi", "%@", "%1$lu", "%#@n@", r"\"", r"\n", r"\\", "é", "😀", r"\Ud83d\Ude00", r"\U00fc")]
BITS += [*("\n", "\t", "{n}", "<b>x</b>", "100% ", "//", "/* x */", ";", "=", "'", r"\351", r"\0")]
GAPS = [" ", "", "\n", "\r\n", "/* c; */", '// d "\n', "\t"]
FIELD = re.compile(r"%@|%1\$lu|%#@n@|\{n\}|</?b>")


def compose(seed, *, short=0.1):
    draw = random.Random(seed)
    pieces = []
    for number in range(draw.randint(0, 5)):
        key = draw.choice([f'"key {number}"', f"key_{number}", f"'\\\"{number}'"])
        value = '"' + "".join(draw.choices(BITS, k=draw.randint(0, 6))) + '"'
        signs = [key, ";"] if draw.random() < short else [key, "=", value, ";"]
        pieces += [part for sign in signs for part in (draw.choice(GAPS), sign)]
    return "".join([*pieces, draw.choice(GAPS)])


SEEDS = st.integers(0, 2**32)
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])


def encode(text, encoding):
    mark = "\ufeff" if encoding.startswith("utf-16") else ""
    return (mark + text).encode(encoding)


@settings(max_examples=50)
@given(SEEDS, ENCODINGS)
def test_what_is_translated_to_itself_stays_byte_for_byte(seed, encoding):
    data = encode(compose(seed), encoding)

    assert keep(read_apple_strings(data)) == data


TOKEN = re.compile(
    r"""\s+|//[^\r\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[=;]|\w+""", re.DOTALL
)


def split(text):
    """The values of a file, and all else."""
    values, others, is_value = [], [], False
    for part in TOKEN.findall(text):
        (values if is_value and part[0] == '"' else others).append(part)
        is_value = part == "=" or (is_value and part[0] in " \r\n\t/")
    return values, others


@settings(max_examples=50)
@given(SEEDS, ENCODINGS, st.integers(0, 9))
def test_whatever_is_answered_nothing_else_changes_and_no_placeholder_is_lost(
    seed, encoding, garbled
):
    text = compose(seed, short=0)
    written = garble(read_apple_strings(encode(text, encoding)), garbled).decode(encoding)

    before, after = split(text), split(written.removeprefix("\ufeff"))
    assert before[1] == after[1]
    for old, new in zip(before[0], after[0], strict=True):
        assert sorted(FIELD.findall(old)) == sorted(FIELD.findall(new))


def test_strings_are_translated_where_they_stand():
    assert show_passages(read_apple_strings(FILE.encode())) == [
        *("Hello, World!", "Cancel", "Share…", "it's"),
        '%1$@ has "%2$@" files',
        "ä\\ and %#@DAYS@ 100%%",
    ]
    assert shout(read_apple_strings(FILE.encode())).decode() == (
        FILE.replace("Hello, World", "HELLO, WORLD")
        .replace("Cancel", '"CANCEL"')
        .replace('"Share…" ;', '"Share…" = "SHARE…" ;')
        .replace(r"it\'s", r"IT\'S")
        .replace("has", "HAS")
        .replace(r"files\n\U00e4\\ and", r"FILES\n\U00c4\\ AND")
    )


@pytest.mark.parametrize(
    ("answered", "written"),
    [('"a" \\', r'"\"a\" \\"'), ("l'été 😀", '"l\'été 😀"'), ("a\x07\ud800", r'"a\U0007\Ud800"')],
)
def test_signs_of_the_syntax_are_escaped(answered, written):
    assert answer(read_apple_strings(b'"a" = "x";'), answered).decode() == f'"a" = {written};'


def test_what_is_escaped_is_written_so():
    data = rb'"a" = "\U00e4 b";'
    assert answer(read_apple_strings(data), "ü 😀") == rb'"a" = "\U00fc \Ud83d\Ude00";'


def test_a_value_of_fields_alone_stays():
    data = b'a = "%lu {n}"; b = "%#@days@";'
    assert answer(read_apple_strings(data), "so many") == data


def test_a_stray_percent_sign_is_dropped_where_fields_are():
    assert answer(read_apple_strings(b'a = "%d of";'), "%d % von") == b'a = "%d  von";'
    assert answer(read_apple_strings(b'a = "half";'), "50 %") == b'a = "50 %";'


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"bplist00\xd1", "is compiled"),
        (b'"a" = "b"', "line 1 of this document is not as in a .strings file"),
        (b'"a" = "b";\n/* open', "line 2 .* plutil"),
        (b'"a" = "b";\n"a" = ;', "line 2"),
        (b'"a" = {"b" = "c";};', "line 1"),
        (b"<?xml version='1.0'?><plist/>", "line 1"),
        (b'"' * 99_999, "line 1"),
        (b" /" * 99_999, "line 1"),
        (b"\xff\xfe\x00\xd8", "not in UTF-16"),
        (b"\xe9", "not UTF-8"),
        (b'a = "%s";' % (b"a" * 10**6), "unit of .* 100,000"),
    ],
)
def test_what_is_wrong_is_told(data, told):
    with pytest.raises(DocumentError, match=told):
        read_apple_strings(data)

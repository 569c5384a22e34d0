import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from nmt_core.base.errors import DocumentError
from nmt_core.documents.android_strings import read_android_strings
from tests.support.echoes import answer, garble, keep, shout, show_passages

FILE = r"""<?xml version="1.0" encoding="utf-8"?>
<!-- kept --><resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2" >
    <string name="a">It\'s <b>very</b> good\nand &lt; new</string>
    <string name="b" translatable="false">Name</string>
    <string name='c'>@string/a</string>
    <string name="d">" Hi \u0041 "</string>
    <string name="e">By <xliff:g id="who" example="Bob">%1$S</xliff:g>: {N}</string>
    <plurals name="f"><item quantity="one">{N} file</item>
    <item quantity="other">{N} files</item></plurals>
    <string-array name="g"><item>one</item><item/></string-array>
    <integer name="h">3</integer>
</resources>
"""
BITS = [*("Hi", r"it\'s", "<b>to</b>", '<xliff:g id="a">%1$s</xliff:g>', "%2$s", r"\n", "&amp;")]
BITS += [*("\n    ", r"\"so\"", "<![CDATA[x]]>", r"\u00e4", "<br/>", "<!-- c -->", "?")]
BITS += ["&lt;i>to&lt;/i&gt;", r"&lt;a href=\"x\"&gt;", "&lt;br/>", "1 &lt; 2"]


def compose(seed):
    draw = random.Random(seed)
    strings = [
        f'<string name="s{number}">{"".join(draw.choices(BITS, k=draw.randint(0, 6)))}</string>'
        for number in range(draw.randint(0, 4))
    ]
    return FILE.replace("</resources>", "".join([*strings, "</resources>"])).encode()


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_what_is_translated_to_itself_stays_byte_for_byte(seed):
    data = compose(seed)

    assert keep(read_android_strings(data)) == data


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(0, 9))
def test_whatever_is_answered_no_tag_or_placeholder_is_lost_or_doubled(seed, garbled):
    data = compose(seed)
    before, after = map(etree.fromstring, (data, garble(read_android_strings(data), garbled)))

    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        assert new.attrib == old.attrib
        assert sorted(each.tag for each in new.iter(etree.Element)) == sorted(
            each.tag for each in old.iter(etree.Element)
        )
        fields = [
            re.findall(r"%\d?\$?[sS]|[{]N[}]", "".join(each.itertext())) for each in (old, new)
        ]
        assert sorted(fields[0]) == sorted(fields[1])


def test_strings_are_translated_where_they_stand():
    assert show_passages(read_android_strings(FILE.encode())) == [
        *("It's <very> good", "and < new", " Hi A ", "By*: {N}", "{N} file", "{N} files", "one")
    ]
    assert shout(read_android_strings(FILE.encode())).decode() == (
        FILE.replace(r"It\'s <b>very</b> good", r"IT\'S <b>VERY</b> GOOD")
        .replace("and &lt; new", "AND &lt; NEW")
        .replace(r"Hi \u0041", "HI A")
        .replace("By <", "BY <")
        .replace("} file", "} FILE")
        .replace("FILEs", "FILES")
        .replace(">one<", ">ONE<")
    )


def test_a_sign_that_is_escaped_ends_nothing():
    for text in (r"say \"hi\"", r"\"hi\" you", r"in C:\\new"):
        data = f'<resources><string name="a">{text}</string></resources>'.encode()
        assert shout(read_android_strings(data)).decode() == data.decode().replace(
            text, text.upper()
        )


def test_items_that_are_no_strings_stay():
    data = b"""<resources><style name="a"><item name="android:textStyle">bold</item></style>
    <item name="b" type="drawable">a/b</item><item name="c" type="string">c</item>
    <integer-array name="d"><item>0x1f</item></integer-array></resources>"""

    assert shout(read_android_strings(data)) == data.replace(b">c<", b">C<")


@pytest.mark.parametrize(
    ("answered", "written"),
    [("l'a", r"l\'a"), ('"a" \\ n', r"\"a\" \\ n"), ("@a", r"\@a"), ("a < b", "a &lt; b")],
)
def test_signs_of_the_syntax_are_escaped(answered, written):
    data = b"<resources><string name='a'>x</string></resources>"

    assert answer(read_android_strings(data), answered) == data.replace(b"x", written.encode())


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"<a/>", "no <resources>"),
        (b"<resources>", "no well-formed XML"),
        (b'<!DOCTYPE r [<!ENTITY a "b">]><resources>&a;</resources>', "document type"),
        (b"<resources><string>%s</string></resources>" % (b"a" * 10**6), "unit of .* 100,000"),
    ],
)
def test_what_is_wrong_is_told(data, told):
    with pytest.raises(DocumentError, match=told):
        read_android_strings(data)


def test_tags_that_are_escaped_go_around_their_words():
    text = r"a &lt;b>b&lt;/b> &lt;a href=\"x\"&gt;c&lt;/a&gt;&lt;br/>1 &lt; d"
    document = read_android_strings(
        f'<resources><string name="a">{text}</string></resources>'.encode()
    )

    assert show_passages(document) == ["a <b> <c>", "1 < d"]
    numbered = b"<resources><string>a &lt;1>b&lt;/1> &lt;0/&gt; c &lt;3 d> e</string></resources>"
    assert show_passages(read_android_strings(numbered)) == ["a <b> *c <3 d> e"]

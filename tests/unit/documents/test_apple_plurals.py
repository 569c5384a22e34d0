import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from nmt_core.base.errors import DocumentError
from nmt_core.documents.apple_plurals import read_apple_plurals
from tests.support.echoes import answer, garble, keep, shout, show_passages

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"
  "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
"""
FILE = f"""{HEAD}<!-- kept --><plist version="1.0">
<dict>
  <key>files</key>
  <dict>
    <key>NSStringLocalizedFormatKey</key>
    <string>%#@N@</string>
    <key>N</key>
    <dict>
      <key>NSStringFormatSpecTypeKey</key> <string>NSStringPluralRuleType</string>
      <key>NSStringFormatValueTypeKey</key>
      <string>ld</string>
      <key>one</key>
      <string>%@ file &amp; more</string><key>other</key>
      <string>%@ files</string>
    </dict>
  </dict>
</dict>
</plist>
"""
BITS = ["Hi", "%@", "%1$lu", "%#@n@", "&amp;", "&#228;", "\n", " ", "<![CDATA[x]]>", "{n}", "100% "]
FIELD = re.compile(r"%@|%1\$lu|%#@n@|\{n\}")


def compose(seed):
    draw = random.Random(seed)
    rows = []
    for number in range(draw.randint(0, 4)):
        bits = [*BITS, "<!-- c -->"]
        rows.append(f"<key>{number}</key><string>{''.join(draw.choices(bits, k=4))}</string>\n")
    rows.append(draw.choice(["", "<key>e</key><string/>", "<key>a</key><true/>"]))
    text = FILE.replace("  </dict>\n</dict>", f"{''.join(rows)}</dict></dict>")
    return text.replace("\n", draw.choice(["\n", "\r\n"])).encode()


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_what_is_translated_to_itself_stays_byte_for_byte(seed):
    for data in (compose(seed), compose(seed).partition(b'dtd">')[2], b"\xef\xbb\xbf" + compose(0)):
        assert keep(read_apple_plurals(data)) == data


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(0, 9))
def test_whatever_is_answered_no_key_or_placeholder_is_lost_or_doubled(seed, garbled):
    data = compose(seed)
    before, after = map(etree.fromstring, (data, garble(read_apple_plurals(data), garbled)))

    for old, new in zip(before.iter(), after.iter(), strict=True):
        assert old.tag == new.tag
        if old.tag == "string":
            assert sorted(FIELD.findall(old.text or "")) == sorted(FIELD.findall(new.text or ""))
        else:
            assert old.text == new.text


def test_strings_are_translated_but_those_of_the_format():
    assert show_passages(read_apple_plurals(FILE.encode())) == ["%@ file & more", "%@ files"]
    assert shout(read_apple_plurals(FILE.encode())).decode() == (
        FILE.replace("file &amp; more", "FILE &amp; MORE").replace("%@ files", "%@ FILES")
    )
    once = b"<plist><key>a</key><string>b</string></plist>"
    assert answer(read_apple_plurals(once), "x < y") == once.replace(b">b<", b">x &lt; y<")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"<a/>", "no <plist>"),
        (b"<plist>", "no well-formed XML"),
        (b"bplist00\xd1", "not in utf-8"),
        (HEAD.replace("apple.com", "a[b").encode() + b"<plist>&c;</plist>", "no well-formed XML"),
        (b'<!DOCTYPE plist [<!ENTITY a "b">]><plist/>', "document type"),
        (b'<!DOCTYPE plist PUBLIC "a" "b" [<!ENTITY a "b">]><plist/>', "document type"),
        ((HEAD + HEAD.partition("\n")[2] + "<plist/>").encode(), "document type"),
        (HEAD.encode() + b"<plist>\n</p>", "line 5 of this document is no well-formed XML"),
        (b"<plist><string>%s</string></plist>" % (b"a" * 10**6), "unit of .* 100,000"),
    ],
)
def test_what_is_wrong_is_told(data, told):
    with pytest.raises(DocumentError, match=told):
        read_apple_plurals(data)

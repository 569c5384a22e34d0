import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.documents.plain_text import read_subtitles
from tests.support.echoes import Echo, answer, keep, shout

TIMES = "00:00:01,000 --> 00:00:02,500"
BITS = [TIMES, "\n", "\r\n", "\n\n", "12", "<i>", "</i>", "<font color=red>", "</font>", "- "]
BITS += ["Hello you", "{\\an8}", "more of it.", " ", "\ufeff", "NOTE"]
documents = st.lists(st.sampled_from(BITS)).map("".join)
TIMED = r"(?:\A|\n\n)(\d+)\n(\S+) --> (\S+)$"
"""The number and times of a subtitle at the start of a block."""

FILE = f"""\
\ufeff1
{TIMES}
Hello <i>there</i>,
my friend. How are you?

2
00:00:03,000 --> 00:00:04,000
- Fine.
- <b>And you
today</b>?


3
01:00:00,000 --> 01:00:01,000
{{\\an8}}Top
"""


@given(st.one_of(documents, st.text("1\n\r:, ->a<>/ib{\\}")))
def test_unchanged_text_stays(text):
    assert keep(read_subtitles(text)) == text


@given(
    st.lists(
        st.lists(
            st.sampled_from(["One two.", "<i>three</i>", "four <b>five", "six</b>", "- seven"]),
            min_size=1,
            max_size=3,
        ),
        max_size=4,
    ),
    st.one_of(documents, st.text(max_size=20)).filter(lambda text: TIMES not in text),
)
def test_times_and_tags_stay(said, answered):
    text = "".join(
        f"{number}\n00:00:0{number},000 --> 00:00:0{number},900\n" + "\n".join(lines) + "\n\n"
        for number, lines in enumerate(said, start=1)
    )
    translated = answer(read_subtitles(text), answered)

    assert re.findall(TIMED, translated, re.MULTILINE) == re.findall(TIMED, text, re.MULTILINE)
    assert sorted(re.findall("</?[bi]>", translated)) == sorted(re.findall("</?[bi]>", text))
    assert [e for e in translated.split("\n\n") if e.startswith(tuple("123456789"))] == [
        e for e in translated.split("\n\n") if e
    ]


def test_speech_is_translated():
    expected = FILE.upper().replace("\\AN8", "\\an8")
    for tag in "ib":
        expected = expected.replace(f"{tag.upper()}>", f"{tag}>")

    assert shout(read_subtitles(FILE)) == expected


SHORT = f"1\n{TIMES}\n{{}}"
WEBVTT = "WEBVTT\n\n{}00:01.000 --> 00:02.000{}\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (FILE, ["Hello there, my friend.", "How are you?", "Fine.", "And you today?", "Top"]),
        (SHORT.format("<i>- one two.\n{\\an8}- three four.</i>\n"), ["one two.", "three four."]),
        (SHORT.format(f"one\ntwo\n2\n{TIMES}\nthree\n4\n"), ["one two", "three 4"]),
        (WEBVTT.format("", "") + "<b>Q&amp;A</b> a &lt; b\n", ["Q&A a < b"]),
    ],
)
def test_sentences_over_lines(text, lines):
    echo = Echo(str.upper)

    echo.translate(read_subtitles(text))

    assert echo.calls[0][0] == lines


@pytest.mark.parametrize(
    ("text", "shouted"),
    [
        (WEBVTT.format("NOTE kept\n\n", " line:0") + "<v Bob>hi <00:01.500>you\n",
         WEBVTT.format("NOTE kept\n\n", " line:0") + "<v Bob>HI <00:01.500>YOU\n"),
        (SHORT.format("♪ one ♪\n<i>♪ two ♪</i>\n"), SHORT.format("♪ ONE ♪\n<i>♪ TWO ♪</i>\n")),
        (SHORT.format("♪ one\ntwo ♪♪\n"), SHORT.format("♪ ONE\nTWO ♪♪\n")),
        (
            WEBVTT.format("", "") + "one&#10;two\nthree four\n",
            WEBVTT.format("", "") + "ONE TWO\nTHREE FOUR\n",
        ),
        (WEBVTT.format("", "") + "<b>Q&amp;A</b> a &lt; b\n",
         WEBVTT.format("", "") + "<b>Q&amp;A</b> A &lt; B\n"),
    ],
)  # fmt: skip
def test_markup_stays(text, shouted):
    assert shout(read_subtitles(text)) == shouted


@pytest.mark.parametrize("answered", ["a --> b", "<<i>b>", f"1\n{TIMES}\nx", "{\\an8}"])
def test_answer_is_escaped(answered):
    translated = answer(read_subtitles(FILE), answered)

    assert "&lt;i&gt; --&gt; &amp;" in answer(
        read_subtitles(f"{WEBVTT.format('', '')}a\n"), "<i> --> &"
    )
    assert translated.count("-->") == FILE.count("-->")
    assert translated.count("<") == FILE.count("<")
    assert translated.count("{") == FILE.count("{")

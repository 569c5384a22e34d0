import re

import pysubs2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.documents.subtitles import read_subtitles
from tests.support.echoes import Echo, answer, keep, shout, show_passages

TIMES = "00:00:01,000 --> 00:00:02,500"
BITS = [TIMES, "\n", "\r\n", "\n\n", "12", "<i>", "</i>", "<font color=red>", "</font>", "- "]
BITS += ["Hello you", "{\\an8}", "more of it.", " ", "\ufeff", "NOTE"]
documents = st.lists(st.sampled_from(BITS)).map("".join)

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
def test_what_is_translated_to_itself_stays_as_it_was(text):
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
def test_subtitles_stay_as_many_at_their_times_with_their_tags(said, answered):
    text = "".join(
        f"{number}\n00:00:0{number},000 --> 00:00:0{number},900\n" + "\n".join(lines) + "\n\n"
        for number, lines in enumerate(said, start=1)
    )
    translated = answer(read_subtitles(text), answered)

    before, after = (pysubs2.SSAFile.from_string(each, "srt") for each in (text, translated))
    assert [(e.start, e.end) for e in after] == [(e.start, e.end) for e in before]
    assert sorted(re.findall("</?[bi]>", translated)) == sorted(re.findall("</?[bi]>", text))
    assert [e for e in translated.split("\n\n") if e.startswith(tuple("123456789"))] == [
        e for e in translated.split("\n\n") if e
    ]


def test_what_is_said_is_translated():
    expected = FILE.upper().replace("\\AN8", "\\an8")
    for tag in "ib":
        expected = expected.replace(f"{tag.upper()}>", f"{tag}>")

    assert shout(read_subtitles(FILE)) == expected


def test_a_sentence_over_two_lines_is_one():
    echo = Echo(str.upper)

    echo.translate(read_subtitles(FILE))

    [(lines, links)] = echo.calls
    assert links
    assert sorted(lines) == [
        "And you today?", "Fine.", "Hello there, my friend.", "How are you?", "Top"
    ]  # fmt: skip


@pytest.mark.parametrize("answered", ["a --> b", "<<i>b>", f"1\n{TIMES}\nx", "{\\an8}"])
def test_what_is_answered_is_no_markup(answered):
    translated = answer(read_subtitles(FILE), answered)

    assert translated.count("-->") == FILE.count("-->")
    assert translated.count("<") == FILE.count("<")
    assert translated.count("{") == FILE.count("{")


def test_webvtt_is_read_too():
    text = "WEBVTT\n\nNOTE kept\n\n00:01.000 --> 00:02.000 line:0\n<v Bob>hi <00:01.500>you\n"

    assert shout(read_subtitles(text)) == text.replace("hi", "HI").replace("you", "YOU")


def test_a_dash_before_speech_may_stand_in_a_tag():
    """Both dashes stay, and what two people say is no sentence."""
    text = f"1\n{TIMES}\n<i>- one two.\n{{\\an8}}- three four.</i>\n"
    echo = Echo(str.upper)

    echo.translate(read_subtitles(text))

    assert [lines for lines, _ in echo.calls] == [["one two.", "three four."]]
    assert answer(read_subtitles(text), "x").count("- x") == 2


def test_a_number_begins_a_subtitle_without_a_blank_line_before():
    text = f"1\n{TIMES}\none\ntwo\n2\n{TIMES}\nthree\n4\n"
    echo = Echo(str.upper)

    echo.translate(read_subtitles(text))

    assert [lines for lines, _ in echo.calls] == [["one two", "three 4"]]


def test_notes_around_a_song_are_markup():
    text = f"1\n{TIMES}\n♪ one\ntwo ♪♪\n"

    assert show_passages(read_subtitles(text)) == ["one\ntwo*"]
    assert answer(read_subtitles(text), "x y") == f"1\n{TIMES}\n♪ x\ny ♪♪\n"


def test_each_line_of_a_song_keeps_the_notes_around_it():
    text = f"1\n{TIMES}\n♪ one two ♪\n<i>♪ three four ♪</i>\n"

    assert shout(read_subtitles(text)) == text.replace("one two", "ONE TWO").replace(
        "three four", "THREE FOUR"
    )
    assert answer(read_subtitles(text), "x").count("♪ x ♪") == 2


def test_a_line_end_that_is_written_as_a_character_is_a_space():
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\none&#10;two\nthree four\n"

    assert shout(read_subtitles(text)).endswith("ONE TWO\nTHREE FOUR\n")


def test_signs_of_webvtt_are_read_and_written_as_in_html():
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\n<b>Q&amp;A</b> a &lt; b\n"
    echo = Echo(str.upper)

    assert "<b>Q&amp;A</b> A &lt; B\n" in echo.translate(read_subtitles(text))
    assert [lines for lines, _ in echo.calls] == [["Q&A a < b"]]
    assert "&lt;i&gt; --&gt; &amp;" in answer(read_subtitles(text.replace("<b>", "")), "<i> --> &")

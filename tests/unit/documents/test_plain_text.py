import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.documents.plain_text import LINE_END, read_plain_text
from tests.support.echoes import Echo, answer, keep, shout

SIGNS = "aB. \n\r\t-*>1•\u2028\x85\x0b,é。本\0\u3000"
texts = st.one_of(st.text(SIGNS), st.text(st.characters(exclude_categories=["Cs"])))
paragraphs = st.lists(
    st.sampled_from(["one", "two,", "three", "four", "fourteen", "seventeen.", "and"]), min_size=30
)

WRAPPED = """\
This is a paragraph of text that somebody has wrapped at some column, as
people do in mails, so that its sentences run over lines. It should be
translated as one.
"""


@given(texts)
def test_what_is_translated_to_itself_stays_as_it_was(text):
    assert keep(read_plain_text(text)) == text


@given(texts, st.text(SIGNS, max_size=20))
def test_line_ends_stay_as_many_and_in_order(text, answered):
    translated = answer(read_plain_text(text), answered)

    assert LINE_END.findall(translated) == LINE_END.findall(text)


@given(paragraphs, st.integers(30, 120), st.sampled_from(["\n", "\r\n"]), st.text(SIGNS))
@settings(max_examples=50)
def test_wrapped_lines_stay_as_many(words, width, end, answered):
    text = end.join(textwrap.wrap(" ".join(words), width))

    assert keep(read_plain_text(text)) == text
    assert shout(read_plain_text(text)) == text.upper()
    assert answer(read_plain_text(text), answered).count(end) == text.count(end)


def test_all_sentences_are_translated_together_and_nothing_else():
    echo = Echo(str.upper)
    text = "Dear Sir,\n\n- first. And second\n  * third\n12. fourth\n> > fifth\n"
    text += "***\n\tSixth\tseven  \n"

    translated = echo.translate(read_plain_text(text))

    sentences = ["Dear Sir,", "first.", "And second", "third", "fourth", "fifth", "Sixth", "seven"]
    assert echo.calls == [(sentences, False)]
    assert translated == text.upper()


QUOTED, TWICE = (textwrap.indent(WRAPPED, marks) for marks in ("> ", "> > "))
ITEM = "- an item of a list that is so long that its line is full at about here\n"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [(WRAPPED, 2), (QUOTED, 2), (TWICE + QUOTED, 4), (ITEM * 3, 3)],
    ids=["wrapped", "quoted", "quoted within a quotation", "items"],
)
def test_lines_that_were_wrapped_are_one_passage_and_others_are_not(text, sentences):
    """What is quoted twice is no part of a quotation, though its lines are as full."""
    echo = Echo(str.upper)

    assert echo.translate(read_plain_text(text)) == text.upper()
    assert len(echo.calls[0][0]) == sentences


def test_lines_that_were_not_wrapped_are_translated_by_themselves():
    echo = Echo(str.upper)
    verses = "Roses are red\nviolets are blue\nsugar is sweet\n"
    titles = "A title that is so long that it could be the width of a block\nA\nB\nC d e\n"

    echo.translate(read_plain_text(verses + "\n" + titles))

    assert len(echo.calls[0][0]) == 7


def test_what_a_line_parts_is_translated_apart():
    echo = Echo(str.upper)

    echo.translate(read_plain_text("| a b | c |\none|two d || e\nf {{ g | h }} [[i|j]] k\n"))

    assert echo.calls == [(["a b", "c", "one", "two d || e", "f {{ g | h }} [[i|j]] k"], False)]


def test_nothing_is_asked_where_there_is_nothing():
    echo = Echo(str.upper)

    assert echo.translate(read_plain_text(" \n\n?, € — !\n")) == " \n\n?, € — !\n"
    assert echo.calls == []


def test_figures_are_asked_for_where_the_language_is_known():
    for language, calls in (("de", [(["1,5"], False)]), ("", [])):
        echo = Echo(lambda _: "1.5", language=language)

        assert echo.translate(read_plain_text("- 1,5\n")) == ("- 1.5\n" if calls else "- 1,5\n")
        assert echo.calls == calls

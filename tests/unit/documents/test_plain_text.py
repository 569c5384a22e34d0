import textwrap

from hypothesis import given
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

    assert echo.calls == [
        (
            [
                "Dear Sir,",
                "first.",
                "And second",
                "third",
                "fourth",
                "fifth",
                "Sixth",
                "seven",
            ],
            False,
        )
    ]
    assert translated == text.upper()


def test_wrapped_lines_are_one_passage():
    echo = Echo(str.upper)

    assert echo.translate(read_plain_text(WRAPPED)) == WRAPPED.upper()
    assert len(echo.calls[0][0]) == 2


def test_lines_that_were_not_wrapped_are_translated_by_themselves():
    echo = Echo(str.upper)
    verses = "Roses are red\nviolets are blue\nsugar is sweet\n"
    titles = "A title that is so long that it could be the width of a block\nA\nB\nC d e\n"

    echo.translate(read_plain_text(verses + "\n" + titles))

    assert len(echo.calls[0][0]) == 7


def test_items_of_a_list_are_not_joined():
    echo = Echo(str.upper)
    item = "- an item of a list that is so long that its line is full at about here\n"

    assert echo.translate(read_plain_text(item * 3)) == item.upper() * 3
    assert len(echo.calls[0][0]) == 3


def test_a_quoted_paragraph_keeps_its_marks():
    quoted = textwrap.indent(WRAPPED, "> ")
    echo = Echo(str.upper)

    assert echo.translate(read_plain_text(quoted)) == quoted.upper()
    assert len(echo.calls[0][0]) == 2


def test_what_is_quoted_within_a_quotation_is_no_part_of_it():
    """Its lines are as full, and begin otherwise."""
    inner, outer = textwrap.indent(WRAPPED, "> > "), textwrap.indent(WRAPPED, "> ")
    echo = Echo(str.upper)

    assert echo.translate(read_plain_text(inner + outer)) == (inner + outer).upper()
    assert len(echo.calls[0][0]) == 4


def test_nothing_is_asked_where_there_is_nothing():
    echo = Echo(str.upper)

    assert echo.translate(read_plain_text(" \n\n1, 2 — 3\n")) == " \n\n1, 2 — 3\n"
    assert echo.calls == []

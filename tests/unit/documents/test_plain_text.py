import textwrap

import pytest
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
def test_unchanged_text_stays(text):
    assert keep(read_plain_text(text)) == text


@given(texts, st.text(SIGNS, max_size=20))
def test_line_ends_stay(text, answered):
    translated = answer(read_plain_text(text), answered)

    assert LINE_END.findall(translated) == LINE_END.findall(text)


@given(paragraphs, st.integers(30, 120), st.sampled_from(["\n", "\r\n"]), st.text(SIGNS))
def test_number_of_wrapped_lines_stays(words, width, end, answered):
    text = end.join(textwrap.wrap(" ".join(words), width))

    assert keep(read_plain_text(text)) == text
    assert shout(read_plain_text(text)) == text.upper()
    assert answer(read_plain_text(text), answered).count(end) == text.count(end)


QUOTED, TWICE = (textwrap.indent(WRAPPED, marks) for marks in ("> ", "> > "))
ITEM = "- an item of a list that is so long that its line is full at about here\n"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [(WRAPPED, 2), (QUOTED, 2), (TWICE + QUOTED, 4), (ITEM * 3, 3)],
    ids=["wrapped", "quoted", "quoted within a quotation", "items"],
)
def test_wrapped_lines_are_one_passage(text, sentences):
    """A double quotation is no part of a single one, even if its lines are as long."""
    echo = Echo(str.upper)

    assert echo.translate(read_plain_text(text)) == text.upper()
    assert len(echo.calls[0][0]) == sentences


LIST = "- first. And second\n  * third\n12. fourth\n> > fifth\n***\n\tSixth\tseven  \n"
VERSES = "Roses are red\nviolets are blue\nsugar is sweet\n"
TITLES = "A title that is so long that it could be the width of a block\nA\nB\nC d e\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"Dear Sir,\n\n{LIST}", "Dear Sir,|first.|And second|third|fourth|fifth|Sixth|seven"),
        (VERSES + TITLES, (VERSES + TITLES).rstrip().replace("\n", "|")),
        ("| a b | c |\none|two d || e\n", "a b|c|one|two d || e"),
        ("f {{ g | h }} [[i|j]] k\n", None),
        ("- 1,5\n", "1,5"),
    ],
)
def test_lines_reach_the_model(text, lines):
    echo = Echo(str.upper)

    assert echo.translate(read_plain_text(text)) == text.upper()
    expected = lines.replace("two d || e", "two d \0 e").split("|") if lines else [text.rstrip()]
    assert echo.calls == [([line.replace("\0", "||") for line in expected], False)]


@pytest.mark.parametrize(("text", "language"), [(" \n\n?, € — !\n", "en"), ("- 1,5\n", "")])
def test_nothing_to_translate(text, language):
    echo = Echo(str.upper, language=language)

    assert echo.translate(read_plain_text(text)) == text
    assert echo.calls == []

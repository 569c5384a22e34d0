"""Quotation marks are read as known marks and put around a line again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.literals.masking import list_known_marks, replace_quotes, requote, unquote

LOW, STRAIGHT = frozenset("„“"), frozenset('"')


@pytest.mark.parametrize(
    ("line", "known", "read"),
    [
        ('das Programm "Kultur 2010" ist', LOW, "das Programm „Kultur 2010“ ist"),
        ("das Programm «Kultur» ist", LOW, "das Programm „Kultur“ ist"),
        ("das Programm « Kultur » ist", LOW, "das Programm „Kultur“ ist"),
        ("das Programm »Kultur« ist", LOW, "das Programm „Kultur“ ist"),
        ("das Programm ‚Kultur‘ ist", LOW, "das Programm „Kultur“ ist"),
        ("das Programm ‹Kultur›, „Sport“", LOW, "das Programm „Kultur“, „Sport“"),
        ("das Programm „Kultur“ ist", LOW, "das Programm „Kultur“ ist"),
        ("das Programm „Kultur“ ist", STRAIGHT, 'das Programm "Kultur" ist'),
        ("(“Kultur”) und “Sport”", STRAIGHT, '("Kultur") und "Sport"'),
        ('ein Rohr von 5" und "Kultur"', LOW, 'ein Rohr von 5" und „Kultur“'),
        ('ein Rohr von 5"', LOW, 'ein Rohr von 5"'),
        ('das "Programm', LOW, 'das "Programm'),
        ("das „Programm“", frozenset("„"), "das „Programm“"),
        ("das ‘Programm’ geht's", STRAIGHT, "das ‘Programm’ geht's"),
        ("das Programm", LOW, "das Programm"),
    ],
)
def test_unknown_marks_are_read_as_known_marks(line, known, read):
    assert replace_quotes(line, known) == read


def test_known_marks_are_those_of_the_vocabulary():
    assert list_known_marks(["▁„", "Haus", "“.", "'"]) == LOW


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("„Das Haus steht.“", "Das Haus steht."),
        (' " Das Haus steht. " ', "Das Haus steht."),
        ('"Ja", sagte er, "nein"', '"Ja", sagte er, "nein"'),
        ("„Ja“.", "„Ja“."),
        ("„Ja", "„Ja"),
        ('""', '""'),
        ("", ""),
    ],
)
def test_marks_around_a_whole_line_are_removed(line, bare):
    assert unquote(line) == bare


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ('"Ja."', '"Yes."'),
        ("„Ja.“", '"Yes."'),
        ("«Ja.»", '"Yes."'),
        ("Ja.", "Yes."),
        ("„Ja“, sagte er.", "Yes."),
    ],
)
def test_translation_of_a_quoted_line_is_quoted(source, written):
    assert requote("Yes.", source) == written
    assert requote("“Yes.", source) == "“Yes."
    assert requote("", source) == ""


@given(st.text("„“”\"«»‚‘' ab.5", max_size=12), st.sets(st.sampled_from('„“”"«»')))
def test_marks_are_read_without_loss_of_words(line, known):
    kept = [sign for sign in replace_quotes(line, known) if sign in "ab.5"]
    assert kept == [sign for sign in line if sign in "ab.5"]
    assert unquote(line) in line

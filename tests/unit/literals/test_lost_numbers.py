"""Numbers in words that a translation does not say are found; those it says in any way are not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unicode_rbnf import RbnfEngine

from nmt_core.literals.added_numbers import MOST, find_added_numbers
from nmt_core.literals.checking import Breach
from nmt_core.literals.lost_numbers import find_lost_numbers

SAID = [
    ("Wir haben zwölf Berichte.", "We have twelve reports."),
    ("Wir haben zwölf Berichte.", "We have 12 reports."),
    ("Wir haben zwölf Berichte.", "We have a dozen reports."),
    ("zwölf Millionen Euro", "12,000,000 euros"),
    ("in zehn Jahren", "within a ten-year period"),
    ("in zehn Jahren", "in a decade"),
    ("Tom ist über vierzig.", "Tom is in his forties."),
    ("das einundzwanzigste Jahrhundert", "the century"),
    ("um halb zwölf", "at half past eleven"),
    ("um halb zwölf", "at eleven-thirty"),
    ("um vierzehn Uhr", "at two"),
    ("Es dauert dreißig Minuten.", "It takes half an hour."),
    ("Tom ist Anfang dreißig.", "Tom is young."),
    ("hundert und zwölf Seiten", "some pages"),
    ("fünfzehn hundert Seiten", "some pages"),
    ("Konzerne wie Elf oder Total", "groups such as Total"),
    ("zwölf und vierzig", "XII and XL"),
    ("acht Berichte", "some reports"),
    ("zwei Millionen Euro", "a couple of million euros"),
    ("acht Millionen Euro", "8 million euros"),
    ("Er hilft und vergisst vierzig-mal", "He helps and forgets 40 times"),
    ("zwölf Millionen", "twelve million"),
    ("fünfhunderttausend", "half a million"),
    ("eine Million Leute", "1,000,000 people"),
    ("eine halbe Million", "500,000"),
    ("zwei Milliarden", "2,000 million"),
    ("ein Millionär", "a millionaire"),
    ("organische Bio-Nahrung", "organic food"),
    ("dreihundert Beamte", "three hundred officials"),
    ("dreihunderttausend", "300,000"),
    ("dreihundertzwanzig Seiten", "320 pages"),
    ("dreihundertzwanzig Seiten", "three hundred and twenty pages"),
    ("hundertzwanzig Seiten", "a hundred and twenty pages"),
    ("hundert Seiten", "some pages"),
    ("zweitausend Seiten", "2,000 pages"),
    ("zweitausend Seiten", "2000 pages"),
    ("im Jahr zweitausend", "in the year two thousand"),
]
LOST = [
    ("Wir haben zwölf Berichte.", "We have the reports.", [("zwölf", "12")]),
    ("Elf Soldaten", "15 soldiers", [("Elf", "11")]),
    ("zwölf oder vierzig", "twelve or fourteen", [("vierzig", "40")]),
    ("zwölf Millionen Euro", "twelve euros", [("Millionen", "")]),
    ("zwölf Millionen Euro", "million euros", [("zwölf", "12")]),
    ("zwei Millionen Euro", "million euros", [("zwei", "2")]),
    ("einundzwanzig Seiten", "some pages", [("einundzwanzig", "21")]),
    ("dreihundert Beamte", "three officials", [("dreihundert", "300")]),
    ("zweitausend Seiten", "2 pages", [("zweitausend", "2000")]),
    ("Er hilft Millionen und 5 Millionen.", "He helps 5.", [("Millionen", "")]),
]


@pytest.mark.parametrize(("source", "translation"), SAID)
def test_a_number_that_is_said_in_another_way_is_not_lost(source, translation):
    assert find_lost_numbers(source, translation, ("de", "en")) == []


@pytest.mark.parametrize(("source", "translation", "lost"), LOST)
def test_a_number_that_is_said_in_no_way_is_lost(source, translation, lost):
    expected = [Breach("number in words", *one, "missing") for one in lost]
    assert find_lost_numbers(source, translation, ("de", "en")) == expected


@pytest.mark.parametrize(
    ("source", "translation", "languages", "lost"),
    [
        ("vingt et un ans", "some years", ("fr", "en"), ["vingt et un"]),
        ("quatre-vingt-dix-neuf ans", "99 years", ("fr", "en"), []),
        ("les années quatre-vingt", "the eighties", ("fr", "en"), []),
        ("cent vingt-neuf pages", "a few pages", ("fr", "en"), ["cent vingt-neuf"]),
        ("a hundred and one pages", "101 pages", ("en", "fr"), []),
        ("a hundred and one pages", "des pages", ("en", "fr"), ["a hundred and one"]),
        ("the two hundred two", "les", ("en", "fr"), ["two hundred two"]),
        ("onze soldats", "12 soldiers", ("fr", "en"), ["onze"]),
        ("trois cents gens", "three additional cents", ("fr", "en"), ["trois cents"]),
        ("trois cent mille gens", "300,000 people", ("fr", "en"), []),
        ("trois cent vingt gens", "some people", ("fr", "en"), ["trois cent vingt"]),
        ("mille trois cent vingt gens", "some people", ("fr", "en"), []),
        ("deux mille pages", "2 000 pages", ("fr", "en"), []),
        ("five thousand pages", "des pages", ("en", "fr"), ["five thousand"]),
        ("five thousand pages", "5 000 pages", ("en", "fr"), []),
        ("five thousand and twelve pages", "des pages", ("en", "fr"), []),
        ("quinze jours", "a fortnight", ("fr", "en"), []),
        ("twenty-five years ago", "vor Jahren", ("en", "de"), ["twenty-five"]),
        ("Mrs Sanders-ten Holte", "Frau Sanders", ("en", "de"), []),
        ("often written in cities", "oft", ("en", "de"), []),
        ("doce informes", "the reports", ("es", "en"), []),
        ("zwölf Berichte", "los informes", ("de", "es"), []),
        ("doce millones", "twelve reports", ("es", "en"), ["millones"]),
        ("doce millones", "twelve reports", ("es", "ia"), []),
    ],
)
def test_numbers_are_looked_for_in_languages_that_are_known(source, translation, languages, lost):
    found = find_lost_numbers(source, translation, languages)
    assert [breach.text for breach in found] == lost


@given(
    st.sampled_from(["de", "en", "fr"]),
    st.sampled_from(["de", "en", "fr"]),
    st.integers(10, 98) | st.integers(101, 999) | st.sampled_from(range(2000, 10_000, 1000)),
)
def test_a_number_is_said_in_words_or_digits_or_lost(source, target, value):
    words, other = (
        RbnfEngine.for_language(language).format_number(value).text for language in (source, target)
    )
    languages = source, target
    assert find_lost_numbers(f"… {words} Y", f"… {other} Y", languages) == []
    assert find_lost_numbers(f"… {words} Y", f"… {value} Y", languages) == []
    assert [one.text for one in find_lost_numbers(f"… {words} Y", "… Y", languages)] == [words]


@pytest.mark.parametrize(
    ("source", "translation", "added"),
    [
        ("zwölf Euro", "twelve million euros", ["million"]),
        ("12 Euro oder zwölf Euro", "12 million euros or a million", ["12 million"]),
        ("zwölf Millionen Euro", "twelve million euros", []),
        ("fünfhunderttausend Leute", "half a million people", []),
        ("1.500.000 Leute", "more than a million people", []),
    ],
)
def test_words_of_a_million_and_more_that_are_added_are_told(source, translation, added):
    found = find_added_numbers(source, translation, ("de", "en"))
    assert found == [Breach("number", text, "", "added") for text in added]


def test_many_numbers_take_no_time():
    started = time.process_time()
    line = "zwölf Millionen und " * 5000
    assert len(find_lost_numbers(line, "x", ("de", "en"))) == 2 * MOST
    assert time.process_time() - started < 10

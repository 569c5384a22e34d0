"""Numbers that a translation adds are found; those that its source says in any way are not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unicode_rbnf import RbnfEngine

from nmt_core.literals.added_numbers import (
    MOST,
    find_added_numbers,
    load_spelling,
    write_roman,
)
from nmt_core.literals.checking import Breach
from nmt_core.literals.finding import KINDS
from nmt_core.literals.glossary import Glossary

LANGUAGES = ("cs", "de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "sv", "uk", "zh")


def find(source, translation, languages=("de", "en"), kinds=KINDS):
    found = find_added_numbers(source, translation, languages, kinds)
    assert {("number", "", "added")} >= {(b.kind, b.expected, b.problem) for b in found}
    return [breach.text for breach in found]


@pytest.mark.parametrize(
    ("source", "translation", "added"),
    [
        ("Die Grenze liegt bei 50 km/h.", "The limit is 50 km/h and not 500 km/h.", ["500"]),
        ("Es kamen viele.", "17 came, then 2,300.", ["17", "2,300"]),
        ("Es kamen 17 und 2300.", "17 came, then 2,300.", []),
        ("Elf Soldaten", "15 soldiers", ["15"]),
        ("Elf Soldaten", "11 soldiers", []),
        ("zwölf Grad", "-12 degrees", []),
        ("der elfte Bericht", "the 11th report", []),
        ("fünfzehnjährige Kinder", "children of 15 years", []),
        ("einundzwanzig", "21", []),
        ("einundzwanzig", "20", ["20"]),
        ("hundert oder tausend Euro", "100 or 1,000 euros", []),
        ("zweihundert Millionen", "200 million", []),
        ("zwei Millionen", "2,000,000", []),
        ("Er endete neunzehnhundertvierundfünfzig.", "It ended in 1954.", []),
        ("die 90er Jahre", "the 1990s", []),
        ("die 90er Jahre", "the 1980s", ["1980"]),
        ("die 90er Jahre", "2190 years", ["2190"]),
        ("100.000 Euro", "1000 euros", ["1000"]),
        ("Abschnitt XII", "section 12", []),
        ("Abschnitt XII", "section 11", ["11"]),
        ("um 14h30", "at 14.30", []),
        ("Haus", "1 house", []),
        ("im Jahr 05", "in 2005", []),
        ("zwei Grad", "2.5 degrees", ["2.5"]),
        ("am 03.02.", "on February 3", []),
        ("ohne", "2.5", ["2.5"]),
        ("bei -5 °C", "at -5 5 °C", ["5"]),
        ("5 oder 5", "-5 or 5", []),
        ("seit 90", "since 1990", []),
        ("seit 90", "since 90 or 1990", ["1990"]),
        ("viereinhalb, 5 und eine halbe", "5 of 5.5", []),
        ("ohne", "{name}, https://example.org/12 and A4-0317/98", []),
    ],
)
def test_what_the_source_does_not_say_is_added(source, translation, added):
    assert find(source, translation) == added


@pytest.mark.parametrize(
    ("source", "translation", "language", "added"),
    [
        ("vingt et un ans", "21 years", "fr", []),
        ("dix-huit mois", "10 months", "fr", ["10"]),
        ("dix-huit mois", "18 months", "fr", []),
        ("le premier amendement", "Amendment No 2", "fr", ["2"]),
        ("la deuxième fois", "the 2nd time", "fr", []),
        ("au XXIe siècle", "in the 21st century", "fr", []),
        ("au XIXe siècle", "in the 21st century", "fr", ["21"]),
        ("C'est ce que M. Dupont dit", "100, 500, 1,000", "fr", ["100", "500", "1,000"]),
        ("in the 1980s", "années 80", "en", []),
        ("the third time", "3 fois", "en", []),
        ("no ordinal of it", "21001", "ru", ["21001"]),
        ("no words for it at all", "1000000000000", "km", []),
        ("forty-two and sixty two", "42 et 62", "en", []),
        ("约三百人", "300 people", "zh-Hant", []),
        ("в трехстах метрах", "300 metres away", "ru", []),
        ("ثلاثة", "3", "ar", []),
        ("no rules for it", "77", "ia", []),
    ],
)
def test_numbers_are_read_as_their_language_spells_them(source, translation, language, added):
    assert find(source, translation, (language, "en")) == added


@given(
    language=st.sampled_from(LANGUAGES),
    value=st.one_of(st.integers(2, 120), st.integers(2, 10**6)),
    other=st.integers(2, 10**6),
)
def test_a_number_in_words_is_said_and_without_them_added(language, value, other):
    words = RbnfEngine.for_language(language).format_number(value).text
    assert [] == find(f"({words})", f"= {value}", (language, "en"))
    assert [] == find(words.upper(), str(value), (language, "en"))
    assert [str(other)] == find("…", f"= {other}", (language, "en"))


@given(value=st.integers(1, 3999))
def test_roman_numerals_are_added_up(value):
    worth = dict(zip("IVXLCDM", (1, 5, 10, 50, 100, 500, 1000), strict=True))
    each = [worth[letter] for letter in write_roman(value)]
    total = sum(-one if one < max(each[at:]) else one for at, one in enumerate(each))
    assert total == value
    assert all(4 * letter not in write_roman(value) for letter in "IXCM")


def test_there_are_roman_numerals_up_to_3999():
    assert [write_roman(value) for value in (0, 4000)] == ["", ""]


def test_numbers_of_a_term_are_the_glossarys():
    glossary = Glossary({"Fassung": ("Release 7",)}, ("de", "en"))
    kinds = (*glossary.kinds, *KINDS)
    assert find("Die Fassung", "Release 7 is 8", kinds=kinds) == ["8"]


def test_each_number_is_told_once_and_of_very_many_the_first():
    assert find("ohne", "7, 7 and 7") == ["7"]
    assert find("ohne", ", ".join(map(str, range(100, 200)))) == [*map(str, range(100, 100 + MOST))]


def test_long_numbers_and_many_of_them_take_no_time():
    started = time.process_time()
    many = "; ".join(map(str, range(10, 5010)))
    assert len(find("ohne", many)) == MOST
    assert [] == find(many, many)
    assert find("elf", "9" * 5000) == ["9" * 5000]
    assert time.process_time() - started < 10


def test_a_breach_names_the_number_of_the_translation():
    [breach] = find_added_numbers("50 km", "50 or 500 km", ("de", "en"))
    assert breach == Breach("number", "500", "", "added")


def test_rules_are_those_of_the_variant_or_else_of_the_language():
    assert load_spelling("de-CH").language == "de_CH"
    assert load_spelling("de-LU").language == "de"
    assert load_spelling("ia") is None

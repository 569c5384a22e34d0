"""Values of numbers and their forms."""

from decimal import Decimal

import pytest

from nmt_core.literals.cldr import load_conventions, load_units, spells_number
from nmt_core.literals.number import (
    list_days,
    read_date,
    read_number,
    read_times,
    to_ascii,
    write_amount,
    write_number,
)


@pytest.mark.parametrize(
    ("text", "language", "value"),
    [
        ("1234", "en", "1234"),
        ("1,234", "en", "1234"),
        ("1,234", "de", "1.234"),
        ("1.234", "en", "1.234"),
        ("1.234,5", "de", "1234.5"),
        ("1.234,5", "en", "1234.5"),
        ("12,34,567", "en", "1234567"),
        ("1'234'567", "en", "1234567"),
        ("1 234,5", "fr", "1234.5"),
        ("1.400", "fr", "1400"),
        ("-0.5", "en", "-0.5"),
        ("٣٫٥", "en", "3.5"),
        ("01", "en", "1"),
        *(
            (text, "en", None)
            for text in ("123,45,678", "1.2.3", "1,234'567", "1;234", "3-4", "5.")
        ),
    ],
)
def test_numbers_are_read_in_the_formats_of_languages(text, language, value):
    assert read_number(text, language) == (value and Decimal(value))


@pytest.mark.parametrize(
    ("text", "languages", "written"),
    [
        ("1.234,5", ("de", "en"), "1,234.5"),
        ("1,234.5", ("de", "en"), "1,234.5"),
        ("-1.234", ("de", "en"), "-1,234"),
        ("1.2.3.4", ("de", "en"), "1.2.3.4"),
        ("1 234,5", ("de", "de-CH"), "1’234.5"),
        ("\N{MINUS SIGN}1,5", ("de", "en"), "-1.5"),
        ("\N{MINUS SIGN}1,5", ("de", "de"), "\N{MINUS SIGN}1,5"),
        ("1234", ("de", "en"), "1234"),
        ("1.400", ("fr", "en"), "1,400"),
        ("12.50", ("fr", "en"), "12.50"),
        ("1,234.50", ("de-CH", "de"), "1.234,50"),
    ],
)
def test_numbers_get_the_targets_marks(text, languages, written):
    assert write_number(text, *languages) == written


@pytest.mark.parametrize(
    ("number", "unit", "target", "written"),
    [
        ("6,5", "€", "en", "€6.5"),
        ("6,5", "€", "fr", "6,5\N{NO-BREAK SPACE}€"),
        ("-5", "%", "en", "-5%"),
        ("5", "US$", "en", "US$5"),
        ("20", "°C", "en", ""),
    ],
)
def test_amounts_get_signs_where_the_target_uses_them(number, unit, target, written):
    assert write_amount(number, unit, "de", target) == written


@pytest.mark.parametrize(
    ("code", "like"),
    [("de-JP", "de"), ("zh-Hant-JP", "zh-Hant"), ("sr-Latn-JP", "sr-Latn"), ("xx-JP", "en")],
)
def test_unknown_region_writes_as_its_language(code, like):
    assert load_conventions(code) == load_conventions(like)
    assert load_units(code) == load_units(like)


def test_leading_zeros_make_names_in_ascii_digits():
    assert [read_number(text, "en") for text in ("007", "0049")] == ["007", "0049"]
    assert [to_ascii(text) for text in ("−5", "٣٫٥", "५")] == ["-5", "3.5", "5"]


@pytest.mark.parametrize(
    ("text", "is_date"),
    [
        ("31.12.2006", True),
        ("12/31/06", True),
        ("2006-12-31", True),
        ("31.13.2006", False),
        ("0.1.2006", False),
        ("1.2/2006", False),
    ],
)
def test_dates_have_a_day_and_a_month(text, is_date):
    assert (read_date(text) is not None) == is_date


def test_dates_are_equal_in_any_order():
    assert read_date("31.12.2006") == read_date("12/31/06") == read_date("2006-12-31")
    assert {*list_days("3.5.2006")} == {(3, 5), (5, 3)}
    assert {*list_days("31.12")} == {(31, 12)}
    assert [*list_days("94")] == []


@pytest.mark.parametrize(
    ("text", "behind", "said"),
    [
        ("15:30", "", ("time", 15, 30, 0)),
        ("15.30", " Uhr", ("time", 15, 30, 0)),
        ("15h30", "", ("time", 15, 30, 0)),
        ("3.30", " p.m.", ("time", 15, 30, 0)),
        ("3", " pm", Decimal(15)),
        ("12.09", " a.m.", ("time", 0, 9, 0)),
        ("14:00", "", Decimal(14)),
        *((text, "", None) for text in ("25:00", "12:60", "1:2", "94")),
    ],
)
def test_times_mean_the_same_in_any_form(text, behind, said):
    found = {*read_times(text, behind)}
    assert said in found if said else not found


@pytest.mark.parametrize(
    ("line", "value", "language"),
    [
        ("die fünf Häuser", 5, "de"),
        ("am fünften Mai", 5, "de"),
        ("fünfunddreißig Stimmen", 35, "de"),
        ("hundert Berichte", 100, "de"),
        ("two hundred and five", 205, "en"),
        ("the twenty-first century", 21, "en"),
        ("quatre-vingt-dix-neuf", 99, "fr"),
        ("Fünf Häuser", 5, "de"),
        ("Ludwig XIV.", 14, "de"),
        ("三十五", 35, "ja"),
    ],
)
def test_numbers_in_words_are_recognised(line, value, language):
    assert spells_number(line, Decimal(value), language)


@pytest.mark.parametrize(
    ("line", "value", "language"),
    [
        ("sixty votes", 6, "en"),
        ("fünfzig Stimmen", 5, "de"),
        ("the C programme", 100, "en"),
        ("one and a half", "1.5", "en"),
        ("nothing", 5, "xx"),
    ],
)
def test_words_of_other_numbers_do_not_count(line, value, language):
    assert not spells_number(line, Decimal(value), language)

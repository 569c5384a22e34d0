"""Numbers with their units: where they stand, how they are written, and the words for units."""

import re

import pytest
from babel import Locale, localedata
from babel.numbers import get_currency_name
from babel.units import format_unit

from nmt_core.literals.amount import Amount, find_pattern
from nmt_core.literals.kind import Literal
from nmt_core.literals.number import Number
from nmt_core.literals.units import names_unit

CODES = {"€": "EUR", "$": "USD", "£": "GBP"}
UNITS = {"%": "concentr-percent", "°C": "temperature-celsius"}
FIVE = Literal(Number(), 0, 1, "5")
LANGUAGES = "bg cs da de el en es et fi fr hr hu it ja lt lv nb nl pl pt ro ru sk sl sv tr uk zh"


@pytest.mark.parametrize(
    ("line", "numbers", "found"),
    [
        ("für 12,50 € und 3 kg", {"12,50", "3"}, ["12,50 €", "3 kg"]),
        ("für 12,50 € und 3 kg", {"3"}, ["3 kg"]),
        ("US$ 5 oder 7 Äpfel", {"5", "7"}, ["US$ 5"]),
        ("5 $ 6", {"5", "6"}, ["5 $"]),
        ("5 $ 6", {"6"}, ["$ 6"]),
        ("EUR 5 und 7 GBP", {"5", "7"}, ["EUR 5", "7 GBP"]),
        ("5€50 und 6 €", {"5", "50", "6"}, ["6 €"]),
        ("nichts", {"5"}, []),
        (
            "5 Mio. Euro oder 6 Mio. €, 7 Mio.",
            {"5 Mio", "6 Mio", "7 Mio"},
            ["5 Mio.", "6 Mio. €", "7 Mio"],
        ),
        ("5 Mio. Euro oder 6 Mio. €", {"5", "6"}, ["6 Mio. €"]),
        ("6 Mio. € und 5 Millionen €", {"5 Millionen"}, ["5 Millionen"]),
    ],
)
def test_an_amount_is_a_number_with_the_sign_beside_it(line, numbers, found):
    assert [line[one.start : one.end] for one in Amount(numbers).find(line, "de")] == found


@pytest.mark.parametrize(
    ("text", "target", "written"),
    [
        ("12,50 €", "en", "€12.50"),
        ("1.234,5 US$", "en-GB", "US$1,234.5"),
        ("-3 €", "en", "-€3"),
        ("12,50 Euro", "en", "€12.50"),
        ("12,5 Prozent", "fr", "12,5\N{NO-BREAK SPACE}%"),
        ("300 US-Dollar", "en", "$300"),
        ("+3 €", "nl", "+€\N{NO-BREAK SPACE}3"),
        ("$ 5", "fr", "5\N{NO-BREAK SPACE}$"),
        ("5 %", "en", "5%"),
        ("3,5 Mio. €", "en", "€3,500,000"),
        (
            "3,5 Mio. €",
            "fr",
            "3\N{NARROW NO-BREAK SPACE}500\N{NARROW NO-BREAK SPACE}000\N{NO-BREAK SPACE}€",
        ),
        ("5 Milliarden", "es", "5.000.000.000"),
        ("-1,25 Tsd.", "en", "-1,250"),
        ("2 k$", "fr", "2 k$"),
        ("EUR 1.500", "en", "EUR 1,500"),
        ("5%", "sv", "5\N{NO-BREAK SPACE}%"),
        ("5 ‰", "tr", "‰5"),
        ("5 %", "es-MX", "5%"),
        ("37,5 °C", "en", "37.5 °C"),
        ("1.500 km/h", "en", "1,500 km/h"),
        ("12,50 €", "de", "12,50 €"),
    ],
)
def test_an_amount_is_written_as_its_language_does(text, target, written):
    assert Amount({}).write(text, "de", target) == written


def read_pattern(pattern):
    """Return where a pattern of CLDR has the sign and the number."""
    plain = re.sub("[\N{LEFT-TO-RIGHT MARK}\N{RIGHT-TO-LEFT MARK}]", "", pattern).partition(";")[0]
    return re.sub("[#0,.]+", "#", plain).replace("%", "¤")


def test_signs_stand_where_cldr_has_them():
    for code in localedata.locale_identifiers():
        locale = Locale.parse(code)
        if not (locale.script or locale.variant):
            language = code.replace("_", "-")
            percent = locale.percent_formats[None].pattern
            assert find_pattern("%", language) == read_pattern(percent), code
            if "standard" in locale.currency_formats:
                currency = locale.currency_formats["standard"].pattern
                assert find_pattern("€", language) == read_pattern(currency), code


def list_phrases(sign, language):
    """Return how CLDR says numbers of a unit in words, in forms for several numbers."""
    for count in (1, 2, 5):
        if sign in CODES:
            yield f"{count} {get_currency_name(CODES[sign], count=count, locale=language)}"
            yield f"{CODES[sign]} {count}"
        else:
            yield format_unit(count, UNITS[sign], "long", locale=language)


@pytest.mark.parametrize("language", LANGUAGES.split())
def test_words_for_a_unit_are_known_in_languages_of_europe(language):
    for sign in (*CODES, *UNITS):
        for phrase in list_phrases(sign, language):
            assert names_unit(phrase, FIVE, sign), (sign, phrase)


def test_what_only_looks_like_the_word_for_a_unit_is_none():
    for line in (
        "5 in Europe",
        "5 of the European Union",
        "5 в Европе",
        "5 in Evropa",
        "5 neurons",
    ):
        assert not names_unit(line, FIVE, "€"), line
    assert not names_unit("5 in a box of wood, kilometres away", FIVE, "km")
    assert names_unit("5 square kilometres", FIVE, "km")

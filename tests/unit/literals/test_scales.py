"""Words of scale beside numbers: they are CLDR's, and neither lost, added nor told where alike."""

import re

import pytest
from babel import Locale
from hypothesis import given
from hypothesis import strategies as st
from unicode_rbnf import RbnfEngine

from nmt_core.literals.added_numbers import find_added_numbers
from nmt_core.literals.checking import Breach, check_literals
from nmt_core.literals.scales import load_scale_words

LANGUAGES = [language.replace("_", "-") for language in RbnfEngine.get_supported_languages()]
WITHOUT_WORDS = {"ccp", "ff", "lrc", "mt", "qu", "su"}
"""Languages for which CLDR has letters alone."""
FEWEST_LETTERS = 3
LEFT_OUT = {"az min", "hi क॰", "hi अ॰", "hi ख॰", "ne शंख", "pt tri", "my ကောဋိ", "zu sezigidi"}
LEFT_OUT |= {"ne करोड", "es M", "en-IN kcr", "en-IN lcr"}
"""Words that beside a number are mostly others, or that few write."""


def list_compact(language):
    """Return the words of CLDR for compact numbers, those of letters, with their powers of ten."""
    locale = Locale.parse(language.replace("-", "_"))
    for forms in locale.compact_decimal_formats.values():
        for magnitudes in forms.values():
            for magnitude, pattern in magnitudes.items():
                number, *words = re.split("[ \xa0]", pattern.pattern.partition(";")[0])
                if set(number) == {"0"} and words:
                    word = re.sub("^(de|na) ", "", " ".join(words).strip("'."))
                    yield word, len(magnitude) - len(number)


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_behind_numbers_are_those_of_cldr(language):
    words = load_scale_words(language)
    assert (words is None) == (language in WITHOUT_WORDS)
    compact = [*list_compact(language)] if words else []
    for word, power in compact:
        if len(word) >= FEWEST_LETTERS and f"{language} {word.split()[-1]}" not in LEFT_OUT:
            found = words.find(f"5 {word}.", 1)
            assert (found, words.read(found)) == (word, power)


@pytest.mark.parametrize(
    ("language", "line", "found", "power"),
    [
        ("de", "5 Millionen", "Millionen", 6),
        ("de", "5-Millionen-Paket", "Millionen", 6),
        ("de", "5 Mio. Euro", "Mio", 6),
        ("de", "5 Hunderttausend", "Hunderttausend", 5),
        ("de", "5 Millimeter", "", 0),
        ("de", "5 Mietshäuser", "", 0),
        ("en", "5 hundred thousand", "hundred thousand", 5),
        ("en", "5bn", "bn", 9),
        ("en", "5 of a million", "", 0),
        ("es", "5 mil millones de euros", "mil millones", 9),
        ("es", "5 militares", "", 0),
        ("ca", "5 milers de milions", "milers de milions", 9),
        ("ro", "5 de milioane de euro", "milioane", 6),
        ("zh", "5千万人", "千万", 7),
        ("zh", "5千克", "", 0),
        ("ja", "5億円", "億", 8),
        ("ko", "5만 원", "만", 4),
        ("tr", "5 MİLYON", "MİLYON", 6),
        ("ru", "5 млн", "млн", 6),
    ],
)
def test_words_of_scale_are_read(language, line, found, power):
    words = load_scale_words(language)
    assert words.find(line, 1) == found
    assert words.read(found) == power
    assert words.list_behind_digits(line) == ([power] if found else [])


ALIKE = [
    ("1,5 Mio. Euro", "1,500,000 euros", "de"),
    ("1.500.000 Euro", "1.5 million euros", "de"),
    ("1,5 million d'euros", "1,500 thousand euros", "fr"),
    ("2 Milliarden", "2,000 million", "de"),
    ("5 mil millones", "5 billion", "es"),
    ("3 bis 5 Millionen", "3 million to 5 million", "de"),
    ("3 Millionen bis 5 Millionen", "3 to 5 million", "de"),
    ("500万人", "5 million people", "zh"),
    ("5 Mio. €", "€5m", "de"),
    ("5 Millionen", "5 M", "de"),
    ("5 k€", "5 thousand euros", "fr"),
    ("2 Millionäre", "2 millionaires", "de"),
    ("1999 starben Tausende", "in 1999 thousands died", "de"),
    ("-5 Millionen", "-5,000,000", "de"),
]


@pytest.mark.parametrize(("source", "translation", "language"), ALIKE)
def test_what_is_worth_the_same_is_no_breach(source, translation, language):
    assert check_literals(source, translation, (language, "en")) == []
    assert find_added_numbers(source, translation, (language, "en")) == []
    assert check_literals(translation, source, ("en", language)) == []
    assert find_added_numbers(translation, source, ("en", language)) == []


@pytest.mark.parametrize(
    ("source", "translation", "language", "lost", "added"),
    [
        ("1.234,50 Euro", "1,234.50 million euros", "de", [], ["1,234.50 million"]),
        ("zwölf Euro", "12 thousand euros", "de", [], ["12 thousand"]),
        ("Elf Soldaten", "15 million soldiers", "de", [], ["15"]),
        ("5 Millionen", "5", "de", [("5 Millionen", "5,000,000")], []),
        ("5 Billionen", "5 billion", "de", [("5 Billionen", "5,000,000,000,000")], []),
        ("5 Millionen", "5 trillion", "de", [("5 Millionen", "5,000,000")], []),
        ("5 Tsd. und 5 Mrd.", "5 thousand and 5", "de", [("5 Mrd", "5,000,000,000")], []),
        ("5 mil millones", "5 million", "es", [("5 mil millones", "5,000,000,000")], []),
        ("1,5 Mio.", "1,5 million", "de", [("1,5", "1.5")], []),
        ("5 Mio. und 5 Mio.", "5,000,000", "de", [("5", "5")], []),
        ("5 und 5", "5", "de", [("5", "5")], []),
        ("5 Millionen", "5 million", "ia", [], []),
        ("zwei Milliarden", "2,000 million", "de", [], []),
    ],
)
def test_words_of_scale_that_are_lost_or_added_are_told(source, translation, language, lost, added):
    languages = language, "en"
    lost = [Breach("number", *one, "missing") for one in lost]
    added = [Breach("number", one, "", "added") for one in added]
    assert check_literals(source, translation, languages) == lost
    assert find_added_numbers(source, translation, languages) == added


@given(
    languages=st.tuples(*2 * [st.sampled_from(["de", "en", "es", "fr", "it", "nl", "pl", "ru"])]),
    number=st.integers(2, 999),
    power=st.sampled_from([6, 12]),
)
def test_a_number_with_its_word_is_worth_the_same_in_any_language(languages, number, power):
    word, other = (
        next(word for word, one in list_compact(language) if one == power and len(word) > 5)
        for language in languages
    )
    source, translation = f"{number} {word}", f"{number} {other}"
    assert check_literals(source, translation, languages) == []
    assert find_added_numbers(source, translation, languages) == []
    assert check_literals(source, str(number), languages) != []
    assert find_added_numbers(str(number), translation, languages) != []
    assert check_literals(source, str(number * 10**power), languages) == []


@pytest.mark.parametrize(
    ("source", "translation", "added"),
    [
        ("36 Millionen, davon 10 für Hilfe", "36 million, 10 million for aid", []),
        ("3 Mrd. Euro und 250 €", "3 billion euros, 250 billion euros", ["250 billion"]),
        ("58 Mio., 3 Mrd. und 250 Euro", "58 million, 3 billion, 250 billion", ["250 billion"]),
        ("von 3 auf 5 Millionen Euro", "from 3 million to 5 million euros", []),
        ("3, 4 oder gar 5 Millionen", "3 million, 4 million or even 5 million", []),
        ("die Millionen: 3 und 5", "3 million and 5 million", []),
        ("3 Euro. Es sind 5 Millionen.", "3 million. There are 5 million.", ["3 million"]),
    ],
)
def test_a_word_of_scale_behind_a_number_serves_none_behind_it(source, translation, added):
    found = find_added_numbers(source, translation, ("de", "en"))
    assert [breach.text for breach in found] == added

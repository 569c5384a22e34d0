"""What is a literal, and what is not, by example."""

import pytest

from nmt_core.literals.finding import KINDS, find_literals
from nmt_core.literals.names import OwnPattern
from nmt_core.literals.terms import KeptTerms

FOUND = {
    "mit 94 gegen 77 Stimmen": {"94": "number", "77": "number"},
    "am 3. Mai 2006": {"3": "number", "2006": "number"},
    "283,82 € und 1.234.567,89": {"283,82": "number", "1.234.567,89": "number"},
    "1 800 Beobachter, 20\u202f000 andere": {"1 800": "number", "20\u202f000": "number"},
    "in den Jahren 1999-2004": {"1999": "number", "2004": "number"},
    "bei -5 °C oder −7": {"-5": "number", "−7": "number"},
    "§5 und der 20-jährige, die 1990er": {"5": "number", "20": "number", "1990": "number"},
    "um 15.30 Uhr, 3:30 pm oder 15h30": {"15.30": "time", "3:30": "time", "15h30": "time"},
    "vom 31.12.2006 bis 2007-01-15": {"31.12.2006": "date", "2007-01-15": "date"},
    "(A4-0317/98), COM(2004)0123.": {"A4-0317/98": "code", "COM(2004)0123": "code"},
    "CO2 auf dem G20-Gipfel mit x86_64": {"CO2": "code", "G20": "code", "x86_64": "code"},
    "siehe https://x.org/a?b=c, www.x.de.": {
        "https://x.org/a?b=c": "address",
        "www.x.de": "address",
    },
    "mail an vor.nach@x-y.de.": {"vor.nach@x-y.de": "email"},
    "{a} {{b}} %s %1$s ${c} %(d)s <0> </b>": dict.fromkeys(
        ("{a}", "{{b}}", "%s", "%1$s", "${c}", "%(d)s", "<0>", "</b>"), "placeholder"
    ),
    "ja 😀 👨‍👩‍👧 🇩🇪": {"😀": "emoji", "👨‍👩‍👧": "emoji", "🇩🇪": "emoji"},
    "\ue001 hier": {"\ue001": "private use"},
    "c&#39;est 5 &#x27; &amp;2 R&D;": {"5": "number", "2": "number"},
    "https://x.org/?a=1&amp;b=2 &#39": {"https://x.org/?a=1&amp;b=2": "address", "39": "number"},
}
NOTHING = [
    "Der Punkt ist klar: so ist es, oder?",
    "50%",  # no placeholder
    "die UN-Resolution und der EU-Rat",
    "a < b und b > c",
    "z.B. und d.h., usw.",
]


@pytest.mark.parametrize("line", FOUND)
def test_literals_are_found_and_nothing_else(line):
    assert {one.text: one.kind.name for one in find_literals(line, "de")} == FOUND[line]


@pytest.mark.parametrize("line", NOTHING)
def test_words_are_no_literals(line):
    assert {one.kind.name for one in find_literals(line, "de")} <= {"number"}


@pytest.mark.parametrize(
    ("line", "unit"),
    [
        ("5 km weit", "km"),
        ("30 % davon", "%"),
        ("€ 50", "€"),
        ("US$ 500", "US$"),
        ("5 nM", "nM"),
        ("50 euros", "euros"),
        ("50 Euro-Schein", ""),
        ("50 Europäer", ""),
        ("5 m2", "m2"),
        ("1 l'eau", ""),
        ("3 gute", ""),
        ("3 m-Brett", "m"),
        ("7 $20", ""),
        ("5 %s", ""),
        ("5 %1$s", ""),
        ("5 %(n)d", ""),
        ("5 %ig", "%"),
        ("5%dort", "%"),
    ],
)
def test_units_are_read_beside_numbers(line, unit):
    assert find_literals(line, "fr")[0].unit == unit


def test_longer_terms_come_first_and_words_are_whole():
    terms = KeptTerms(["New", "New York", "C++", ""])
    found = find_literals(
        "In New York heißt Neues C++ so, Newton nicht, new auch nicht", "de", [terms]
    )
    assert [one.text for one in found] == ["New York", "C++"]
    assert find_literals("New York", "de", [KeptTerms([])]) == []


def test_own_patterns_come_before_other_kinds():
    kinds = [OwnPattern(r"T-\d+"), *KINDS]
    assert [one.kind.name for one in find_literals("T-12 und 13", "de", kinds)] == ["own", "number"]
    with pytest.raises(ValueError, match="no regular expression"):
        OwnPattern("(")

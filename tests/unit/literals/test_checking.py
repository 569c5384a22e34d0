"""Which changes of a literal a translation can make, by example."""

import pytest

from nmt_core.literals.checking import check_literals

KEPT = [
    ("2.200.112 Einwohner", "2,200,112 inhabitants"),
    ("2.200.112 Einwohner", "2 200 112 inhabitants"),
    ("283,82 €", "€283.82"),
    ("im Jahr 2006", "in 2006"),
    ("um 15.30 Uhr", "at 3.30 p.m."),
    ("um 15.30 Uhr", "at 15:30"),
    ("am 31.12.2006", "on 12/31/2006"),
    ("am 31.12.2006", "on 2006-12-31"),
    ("30 % und 5 km", "30 per cent and 5 kilometres"),
    ("US$ 500", "$500"),
    ("9 km, 5 km/h und 2 m²", "9 kilometres, 5 kilometres per hour, and 2 square metres"),
    ("7 µg und 2 m/s²", "7 micrograms and 2 m/s2"),
    ("3 % bis 5 %", "3 to 5%"),
    ("3 km oder 5 km", "3 or else at the most 5 km"),
    ("3 m³ oder 5 m³", "3 or else at the most 5 m³"),
    ("5 GB", "5 gigabytes"),
    ("{preis} € und {teil}%", "€{preis} and {teil} %"),
    ("Preis in €, auch in US$", "price in euros, in $, too, and $ only"),
    ("1,5 Milliarden €", "€1.5 billion"),
    ("€ oder €", "in €"),
    ("2 m² und 3 m³", "2 m2 and 3 m3"),
    ("3 Mio. € und 4 Mrd. US$", "€3 million and 4 billion dollars"),
    ("20 °C", "20 degrees"),
    ("12,50 €", "EUR 12.50"),
    ("EUR 12,50 und 5 USD", "12.50 euros and $5"),
    ("15 EURO und EUROPA 15", "15 euros and 15 of it"),
    ("5 Mio. £", "£5m"),
    ("£5 und 5 m", "£5 and 5 m"),
    ("12,50 €", "12.50 (in €)"),
    ("der 20. Mai", "the 20th of May"),
    ("zwei der 1990er", "2 of the 1990s"),
    ("007 und 0049", "007 and 0049"),
    ("Pi ist 3.14", "Pi is 3.14"),
    ("25 Euro", "EUR 25"),
    ("12 Prozent", "12 per cent"),
    ("300 Dollar", "US$300"),
    ("12 Prozent mehr", "12 percentage points more"),
    ("um 11.00 Uhr", "at 11.00"),
    ("um 14.20 Uhr", "at 2.20 p.m."),
    ("um 15 Uhr", "at 3 pm"),
    ("5 Stimmen", "five votes"),
    ("fünf Stimmen", "5 votes"),
    ("der 3. Bericht", "the third report"),
    ("3-4 Tage", "3 to 4 days"),
    ("3-4 Tage", "3–4 days"),
    ("2013/14", "2013-2014"),
    ("am 31.12.2006", "on 31 December 2006"),
    ("am 31.12.2006", "on the 31st of December 2006"),
    ("am 31.12.2006", "on Dec 31, 2006"),
    ("am 31. Dezember 2006", "on 12/31/2006"),
    ("in den achtziger Jahren, den 80ern", "in the eighties, the 1980s"),
    ("1998 und 1999", "1998 and 99"),
    ("Artikel 81(3)", "Article 81, paragraph 3"),
    ("1.234,5", "1.234,5"),
    ("1 Bericht, 1 Million", "a report, a million"),
    ("5 Millionen Euro", "5,000,000 euros"),
    ("5 Millionen Euro", "five million euros"),
    ("3 bis 5 Millionen", "3 million to 5 million"),
    ("580 Millionen €", "€580m"),
    ("im XX. Jahrhundert", "in the 20th century"),
    ("DE89 3704 0044", "DE89 3704 0044"),
    ("A4-0317/98", "A4 - 0317/98"),
]
BROKEN = [
    ("mit 94 gegen 77 Stimmen", "by 974 votes to 77", [("94", "missing"), ("974", "added")]),
    ("2.200.112 Einwohner", "no inhabitants", [("2.200.112", "missing")]),
    ("283,82 €", "€28.82", [("283,82 €", "missing"), ("€28.82", "added")]),
    ("7500 $", "7500 €", [("7500 $", "unit")]),
    ("25 Euro", "25 of it", [("25", "unit")]),
    ("25 US-Dollar", "25 euros", [("25", "unit")]),
    ("12 Prozent", "12 of it", [("12", "unit")]),
    ("5 € in Europa", "5 in Europe", [("5 €", "unit")]),
    ("EUR 15 und 7", "15 and 7 of it", [("EUR 15", "unit")]),
    ("5 PLN", "5 of it", [("5 PLN", "unit")]),
    ("9" * 85, "9" * 84 + "8", [("9" * 85, "missing"), ("9" * 84 + "8", "added")]),
    ("kostet $1", "it costs", [("$1", "missing")]),
    ("20 °C", "20 centuries", [("20 °C", "unit")]),
    ("50 km von hier", "50 of it", [("50", "unit")]),
    ("½ Tasse", "a cup", [("½", "missing")]),
    ("{preis} €", "{preis}", [("€", "missing")]),
    ("Anteil in ‰", "share in %", [("‰", "missing"), ("%", "added")]),
    ("Preis in US$", "price in Europe", [("US$", "missing")]),
    ("Nummer 007", "number 7", [("007", "missing"), ("7", "added")]),
    ("sag 5", "say 5, 5", [("5", "added")]),
    ("5 und 5", "5", [("5", "missing")]),
    ("Artikel 1 gilt, Nr. 1 und [1] Rat", "it holds", [("1", "missing")] * 3),
    ("{x} und {x}", "{x}", [("{x}", "missing")]),
    ("um 15:30", "at 3:31 pm", [("15:30", "missing"), ("3:31", "added")]),
    ("am 31.12.2006", "on 30.12.2006", [("31.12.2006", "missing"), ("30.12.2006", "added")]),
    ("hallo {name}", "hello {Name}", [("{name}", "missing"), ("{Name}", "added")]),
    ("A4-0317/98", "A4-0317/89", [("A4-0317/98", "missing"), ("A4-0317/89", "added")]),
    ("3-4 Tage", "3 4 days", [("3-4", "missing")]),
    ("3-4 Tage", "4 to 3 days", [("3-4", "missing")]),
    ("6 Stimmen", "sixty votes", [("6", "missing")]),
    ("5 Millionen", "5 of it", [("5", "missing"), ("5", "added")]),
    ("5 Millionen", "5 billion", [("5", "missing"), ("5", "added")]),
    ("kein Literal", "no literal, but 5", [("5", "added")]),
    ("☰ § 5 → ✓", "5", [("☰", "missing"), ("§", "missing"), ("→", "missing"), ("✓", "missing")]),
    ("siehe orf.at", "see it", [("orf.at", "missing")]),
]


@pytest.mark.parametrize(("source", "translation"), KEPT)
def test_other_forms_of_a_value_are_allowed(source, translation):
    assert check_literals(source, translation, ("de", "en")) == []


@pytest.mark.parametrize(("source", "translation", "expected"), BROKEN)
def test_each_lost_or_added_literal_is_reported(source, translation, expected):
    found = check_literals(source, translation, ("de", "en"))
    assert [(breach.text, breach.problem) for breach in found] == expected


@pytest.mark.parametrize(
    ("source", "translation", "languages"),
    [
        ("cena 12,50 zł", "price 12.50 zł", ("pl", "en")),
        ("On 3/4/2021 at 5:45 p.m.", "Am 4.3.2021 um 17:45 Uhr.", ("en", "de")),
        ("1 234,50 € (TVA 19,6 %)", "€1,234.50 (VAT 19.6%)", ("fr", "en")),
        ("٢٠٢٠ و ٥٪", "2020 and 5%", ("ar", "en")),
        ("5万人", "50,000 people", ("ja", "en")),
        ("100 000 kr", "SEK 100,000", ("sv", "en")),
    ],
)
def test_other_languages_have_their_own_forms(source, translation, languages):
    assert check_literals(source, translation, languages) == []


def test_a_breach_says_what_was_expected():
    [breach, _] = check_literals("mit 1.234,50 €", "with €123.40", ("de", "en"))
    assert (breach.kind, breach.expected) == ("number", "€1,234.50")


def test_many_numbers_take_no_time_beyond_their_length():
    line = " x ".join(map(str, range(2000)))
    assert check_literals(line, line, ("de", "en")) == []
    assert len(check_literals(line, "", ("de", "en"))) == 2000

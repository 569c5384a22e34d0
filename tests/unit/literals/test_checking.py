"""What a translation may do with a literal, by example."""

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
    ("5 km und 5 km", "5 and as much again, 5 kilometres"),
    ("3 m³ oder 5 m³", "3 or else at the most 5 m³"),
    ("5 GB", "5 gigabytes"),
    ("{preis} € und {teil}%", "€{preis} and {teil} %"),
    ("Preis in €, auch in US$", "price in euros, in $, too, and $ only"),
    ("1,5 Milliarden €", "€1.5 billion"),
    ("€ oder €", "in €"),
    ("2 m² und 3 m³", "2 m2 and 3 m3"),
    ("3 Mio. € und 4 Mrd. US$", "€3 million and 4 billion dollars"),
    ("½ Tasse und 2 ½ l", "½ cup and 2½ litres"),
    ("5 km", "5 километров"),
    ("20 °C", "20 degrees"),
    ("12,50 €", "EUR 12.50"),
    ("EUR 12,50 und 5 USD", "12.50 euros and $5"),
    ("15 EURO und EUROPA 15", "15 euros and 15 of it"),
    ("5 Mio. £", "£5m"),
    ("£5 und 5 m", "£5 and 5 m"),
    ("12,50 €", "12.50 (in €)"),
    ("der 20. Mai", "the 20th of May"),
    ("zwei von 1990er", "2 of the 1990s"),
    ("007 und 0049", "007 and 0049"),
    ("Pi ist 3.14", "Pi is 3.14"),
    ("kein Literal", "no literal, but 5"),
    ("25 Euro", "EUR 25"),
    ("12 Prozent", "12 per cent"),
    ("300 Dollar", "US$300"),
    ("12 Prozent mehr", "12 percentage points more"),
]
BROKEN = [
    ("mit 94 gegen 77 Stimmen", "by 974 votes to 77", ("94", "missing", "94")),
    ("2.200.112 Einwohner", "2,200,12 inhabitants", ("2.200.112", "missing", "2,200,112")),
    ("283,82 €", "€28.82", ("283,82", "missing", "283.82")),
    ("1.234,5", "1.234,5", ("1.234,5", "missing", "1,234.5")),
    ("283,82", "283,82", ("283,82", "missing", "283.82")),
    ("1.234", "1.234", ("1.234", "missing", "1,234")),
    ("7500 $", "7500 €", ("7500", "unit", "7500")),
    ("5 nM", "5 nm", ("5", "unit", "5")),
    ("25 Euro", "25 of it", ("25", "unit", "25")),
    ("25 US-Dollar", "25 euros", ("25", "unit", "25")),
    ("12 Prozent", "12 of it", ("12", "unit", "12")),
    ("5 € in Europa", "5 in Europe", ("5", "unit", "5")),
    ("EUR 15 und 7", "15 and 7 of it", ("15", "unit", "15")),
    ("12,50 £", "12.50 of it", ("12,50", "unit", "12.50")),
    ("20 °C", "20 centuries", ("20", "unit", "20")),
    ("½ Tasse", "a cup", ("½", "missing", "½")),
    ("2 ½ Tassen", "2 cups", ("2 ½", "missing", "2 ½")),
    ("3,5 M€", "3.5 million of it", ("3,5", "unit", "3.5")),
    ("50 m von hier", "50 of here, from my time", ("50", "unit", "50")),
    ("5 € und 5 €", "5 of it", ("5", "missing", "5")),
    ("3 km oder 5,5 km", "3 or else at the most 5,5 km", ("5,5", "missing", "5.5")),
    ("{preis} €", "{preis}", ("€", "missing", "€")),
    ("Preis in US$", "price in Europe", ("US$", "missing", "US$")),
    ("Anteil in ‰", "share in %", ("‰", "missing", "‰")),
    ("5 ¥", "5 yen", ("5", "unit", "5")),
    ("50 km von hier", "50 of here, far from the king", ("50", "unit", "50")),
    ("5 % und 6 %", "5 and 6", ("5", "unit", "5")),
    ("Nummer 007", "number 7", ("007", "missing", "007")),
    ("Nummer 007", "number 008", ("007", "missing", "007")),
    ("sag 5", "say 5, 5", ("5", "repeated", "5")),
    ("5 und 5", "5", ("5", "missing", "5")),
    ("um 15:30", "at 3:31 pm", ("15:30", "missing", "15:30")),
    ("am 31.12.2006", "on 30.12.2006", ("31.12.2006", "missing", "31.12.2006")),
    ("hallo {name}", "hello {Name}", ("{name}", "missing", "{name}")),
    ("A4-0317/98", "A4-0317/89", ("A4-0317/98", "missing", "A4-0317/98")),
]


@pytest.mark.parametrize(("source", "translation"), KEPT)
def test_other_forms_of_a_value_are_no_breach(source, translation):
    assert check_literals(source, translation, ("de", "en")) == []


@pytest.mark.parametrize(("source", "translation", "expected"), BROKEN)
def test_breaches_say_what_was_expected(source, translation, expected):
    breach, *_ = check_literals(source, translation, ("de", "en"))
    assert (breach.text, breach.problem, breach.expected) == expected


def test_many_numbers_take_no_time_beyond_their_length():
    line = " x ".join(map(str, range(10_000)))
    assert check_literals(line, line, ("de", "en")) == []
    assert len(check_literals(line, "", ("de", "en"))) == 10_000

"""Literals of a line, by example."""

import pytest

from nmt_core.literals.finding import LiteralKind, find_literals, join_adjacent
from nmt_core.literals.glossary import Glossary

V, N, D = LiteralKind.VERBATIM, LiteralKind.NUMBER, LiteralKind.DATE

FOUND = {
    "mit 94 gegen 77 Stimmen": {"94": N, "77": N},
    "am 3. Mai 2006": {"3": N, "2006": N},
    "283,82 € und 1.234.567,89": {"283,82": N, "1.234.567,89": N},
    "1 800 Beobachter, 20\u202f000 andere": {"1 800": N, "20\u202f000": N},
    "von 1999-2004 oder 3–4": {"1999-2004": N, "3–4": N},
    "bei -5 °C oder −7 (+3)": {"-5": N, "−7": N, "+3": N},
    "§5, der 20-jährige, die 1990er": {"§5": V, "20": N, "1990": N},
    "um 15.30 Uhr, 3:30 pm, 15h30, 7 h 05": {"15.30": N, "3:30": D, "15h30": D, "7 h 05": D},
    "vom 31.12.2006 bis 2007-01-15": {"31.12.2006": D, "2007-01-15": D},
    "am 32.13.2006": {"32.13.2006": V},
    "(A4-0317/98), COM(2004)0123.": {"A4-0317/98": V, "COM(2004)0123": V},
    "CO2 auf dem G20-Gipfel mit x86_64": {"CO2": V, "G20": V, "x86_64": V},
    "die 3D-Brille, MP3s, 100km, 2ème": {"3D": V, "MP3s": V, "100": N, "2": N},
    "96/35/EG und 2013/14 oder 81(3)": {"96/35": N, "2013/14": N, "81(3)": N},
    "(siehe https://x.org/a?b=c), www.x.de.": {"https://x.org/a?b=c": V, "www.x.de": V},
    "https://de.wikipedia.org/wiki/Recht_(Recht).": {
        "https://de.wikipedia.org/wiki/Recht_(Recht)": V
    },
    "(https://example.org/a_(b)) orf.at, web.dev": dict.fromkeys(
        ("https://example.org/a_(b)", "orf.at", "web.dev"), V
    ),
    r"\\server\x\b.docx, film.mkv, /usr/bin, ~/a": dict.fromkeys(
        (r"\\server\x\b.docx", "film.mkv", "/usr/bin", "~/a"), V
    ),
    "--help -v f(x) foo_bar() 10^6 1e-5": dict.fromkeys(
        ("--help", "-v", "f(x)", "foo_bar()", "10^6", "1e-5"), V
    ),
    "10.0.0.0/8, 1.2.3, 12:00:01,123": dict.fromkeys(("10.0.0.0/8", "1.2.3", "12:00:01,123"), V),
    "mail an vor.nach@x-y.de. @name #Wort R&D": dict.fromkeys(
        ("vor.nach@x-y.de", "@name", "#Wort", "R&D"), V
    ),
    "{a} {{b}} %s %1$s ${c} %(d)s <0> </b> `x y`": dict.fromkeys(
        ("{a}", "{{b}}", "%s", "%1$s", "${c}", "%(d)s", "<0>", "</b>", "`x y`"), V
    ),
    "%'d %S %*d %<x>d $name %I'd %ju %[1]s %+v :name :+1:": dict.fromkeys(
        ("%'d", "%S", "%*d", "%<x>d", "$name", "%I'd", "%ju", "%[1]s", "%+v", ":name", ":+1:"), V
    ),
    "ja 😀 👨‍👩‍👧 🇩🇪 1️⃣ Haus🚀": dict.fromkeys(("😀", "👨‍👩‍👧", "🇩🇪", "1️⃣", "🚀"), V),
    "☰ → ▾ ± H₂O x² ½": dict.fromkeys(("☰", "→", "▾", "±", "H₂O", "x²", "½"), V),
    "\ue001 hier": {"\ue001": V},
    "IBAN DE89 3704 0044 0532 0130 00": {"DE89": V, "3704 0044 0532 0130 00": V},
    "978 3 16 148410 0 oder 4111 1111 1111 1111": {
        "978 3 16 148410 0": V,
        "4111 1111 1111 1111": V,
    },
    "Tel. +49 30 1234567 6,5 € dazu": {"+49 30 1234567": V, "6,5": N},
    "am 7. Oktober 2012 64 Stimmen": {"7": N, "2012": N, "64": N},
    "2004年に5億円": {"2004": N, "5": N},
    "c&#39;est 5 &#x27; &amp;2": {"5": N, "2": N},
    "Art. 5(2)(b), (+1) 555-0100, --no-cache=1": {"5(2)": N, "(+1) 555-0100": V, "--no-cache=1": V},
    "doi:10.1000/182, *.txt, a|b": {"doi:10.1000/182": V, "*.txt": V, "|": V},
    "{preis} € in %": {"{preis}": V, "€": V, "%": V},
}
NOTHING = [
    "Der Punkt ist klar: so ist es, oder?",
    "die UN-Resolution und der EU-Rat",
    "z.B. und d.h., usw. Ph.D. (siehe oben) U.S.",
    "und/oder, Bürger:innen, Präsident(in), Ende.Der Satz",
    "„Ja“ – ‚nein‘ ... «oui» (EN) [sic] 'x' L’an",
    "Import- oder -export, Kosten\N{SOFT HYPHEN}Nutzen\N{ZERO WIDTH SPACE}",
    "東京へ行く。",
]


@pytest.mark.parametrize("line", FOUND)
def test_literals_are_found_with_their_kinds(line):
    assert {one.text: one.kind for one in find_literals(line, "de")} == FOUND[line]


@pytest.mark.parametrize("line", NOTHING)
def test_words_and_marks_are_not_literals(line):
    assert find_literals(line, "de") == []


@pytest.mark.parametrize(
    ("line", "unit", "scale"),
    [
        ("5 km weit", "km", 0),
        ("30 % davon", "%", 0),
        ("€ 50", "€", 0),
        ("US$ 500", "US$", 0),
        ("CHF 12'345.60", "CHF", 0),
        ("5 PLN", "PLN", 0),
        ("50 euros", "euros", 0),
        ("5,- Euro", "Euro", 0),
        ("25 US-Dollar", "US-Dollar", 0),
        ("50 Euro-Schein", "", 0),
        ("50 Europäer", "", 0),
        ("5 m2", "m2", 0),
        ("1 l'eau", "", 0),
        ("3 gute", "", 0),
        ("am 1. 2000 in Kraft", "", 0),
        ("5 %s", "", 0),
        ("5%ig", "%", 0),
        ("5 millions €", "€", 6),
        ("5 mille", "", 3),
    ],
)
def test_units_and_scales_are_read_beside_numbers(line, unit, scale):
    number = find_literals(line, "fr")[-1 if "2000" in line else 0]
    assert (number.unit, number.scale) == (unit, scale)


GLOSSARY = Glossary({"Rat": ("Board",), "Amt": ("Office",)}, ("de", "en"))


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        ("{a} Rat 5 {b}", [("{a}",), ("Rat",), ("5", "{b}")]),
        ("Rat Amt", [("Rat",), ("Amt",)]),
        ("DE89 3704 0044 0532 und 5", [("DE89", "3704 0044 0532"), ("5",)]),
        ("§ 5 und {a}{b} {c}, {d}", [("§", "5"), ("{a}", "{b}", "{c}"), ("{d}",)]),
        ("5 € {x}", [("5", "{x}")]),
    ],
)
def test_literals_side_by_side_are_grouped(line, groups):
    found = join_adjacent(find_literals(line, "de", GLOSSARY.finders), line)
    assert [tuple(one.text for one in group) for group in found] == groups

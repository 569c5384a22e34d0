"""What each kind of literal is, by statements of our own about all its members."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.symbols import ALL_SYMBOLS, SYMBOLS, SYMBOLS_PER_CLASS
from nmt_core.literals.checking import check_literals, judge_literals
from nmt_core.literals.date import Date, TimeOfDay
from nmt_core.literals.finding import KINDS, find_literals
from nmt_core.literals.kind import Literal, LiteralKind, LiteralSpan
from nmt_core.literals.masking import Masked, insert_word, mask, repair, restore
from nmt_core.literals.names import (
    Code,
    Email,
    Handle,
    JoinedNumbers,
    LoneSign,
    OwnPattern,
    Path,
    Placeholder,
    Telephone,
    WebAddress,
)
from nmt_core.literals.number import Number, parse_as, to_ascii
from nmt_core.literals.number_format import COMMA, POINT, NumberFormat
from nmt_core.literals.stems import find_stem, split_words, stem_words
from nmt_core.literals.terms import has_fitting_case
from nmt_core.literals.units import LONGEST_UNIT, find_unit


def found(kind, line, language="de"):
    return [line[one.start : one.end] for one in kind.find(line, language)]


def test_a_date_has_a_day_and_a_month_in_whatever_order():
    for first, second in product(range(34), repeat=2):
        is_one = 0 < min(first, second) <= 12 and 0 < max(first, second) <= 31
        for text in (f"{first}.{second}.2006", f"2006-{first:02}-{second}", f"{first}/{second}/06"):
            assert found(Date(), f"am {text}, ja") == [text] * is_one


@pytest.mark.parametrize(
    "text",
    ["1.2/2006", "1-2.2006", "11.12.206", "111.12.2006", "x1.2.2006", "1.2.20067", "1.2.2006.3"],
)
def test_what_looks_like_a_date_and_is_none(text):
    assert found(Date(), text) == []


@given(st.dates(), st.dates())
@settings(max_examples=50)
def test_dates_are_equal_where_year_and_both_numbers_are(one, other):
    def read(text):
        return Date().read(text, "de")

    forms = [f"{one:%d.%m.}{one.year:04}", f"{one:%m/%d/}{one.year:04}", f"{one:%d-%m-%y}"]
    [value] = {read(form) for form in [*forms, one.isoformat()]}
    equal = (one.year % 100, {one.day, one.month}) == (other.year % 100, {other.day, other.month})
    assert (read(other.isoformat()) == value) == equal
    assert read(one.replace(year=1 + one.year % 9999).isoformat()) != value


def test_a_time_has_at_most_24_hours_and_59_minutes_and_seconds():
    for hour, minute in product(range(27), range(57, 63)):
        is_one = hour <= 24 and minute <= 59
        for text in (f"{hour}:{minute}", f"{hour}h{minute}", f"{hour}:07:{minute}"):
            assert found(TimeOfDay(), f"um {text} da") == [text] * is_one
    for hour in range(27):
        assert found(TimeOfDay(), f"{hour} Uhr") == [f"{hour}"] * (hour <= 24)
        assert found(TimeOfDay(), f"at {hour} p.m.") == [f"{hour}"] * (hour <= 24)


@given(st.times(), st.times())
@settings(max_examples=50)
def test_times_are_equal_on_a_clock_with_hands(one, other):
    def place(time):
        return (time.hour % 12, time.minute, time.second)

    def read(text):
        return TimeOfDay().read(text, "de")

    assert (read(f"{one:%H:%M:%S}") == read(f"{other:%H:%M:%S}")) == (place(one) == place(other))
    assert read(f"{one:%H:%M}") == read(f"{one:%H.%M}") == read(f"{one:%I:%M:00}")
    assert (read(f"{one:%H}") == read(f"{one:%H:%M:%S}")) == (place(one)[1:] == (0, 0))
    assert TimeOfDay().write(f"{one:%Hh%M}", "fr", "en") == f"{one:%H:%M}"
    assert TimeOfDay().write(f"{one:%Hh%M}", "fr", "fr") == f"{one:%Hh%M}"
    for text in (f"{one:%Hh%M}", f"{one:%H h %M}"):
        assert not TimeOfDay().is_form_of(text, "en-GB")
        assert TimeOfDay().is_form_of(text, "fr")
    assert TimeOfDay().is_form_of(f"{one:%H:%M}", "en")


CODES = [
    "A4", "CO2", "G20", "x86_64", "A4-0317/98", "COM(2004)0123", "AK-47", "B-52", "2B", "4G",
    "EU-27", "ISO/9001", "mp3", "a1b", "1a2b", "C6-0001", "m2x", "H(5)", "U-2",
]  # fmt: skip
NO_CODES = ["42", "12-13", "m2", "km3", "µm2", "5th", "20er", "EU", "EU-UN", "x-5", "Ä5", "(5)"]


@pytest.mark.parametrize("text", CODES)
def test_codes_stand_alone_or_beside_words(text):
    assert found(Code(), text) == [text]
    assert found(Code(), f"die {text}-Debatte, und") == [text]
    assert found(Code(), f"(Nicht-{text}) und") == [text]
    assert found(Code(), f"{text}. {text}, {text}") == [text] * 3


@pytest.mark.parametrize("text", NO_CODES)
def test_numbers_units_and_words_are_no_codes(text):
    assert found(Code(), text) == []
    assert found(Code(), f"die {text}-Debatte") == []


def test_a_bracket_is_a_codes_where_it_opens_it():
    assert found(Code(), "(COM(04)) und (A4) und H(A4) da") == ["COM(04)", "A4", "H(A4)"]


@pytest.mark.parametrize(
    ("kind", "whole"),
    [
        (WebAddress(), ["https://a.b/c", "http://x", "ftp://x/y", "mailto:a", "www.a", "a.de"]),
        (WebAddress(), ["x-y.co.uk", "a.org/b?c=d", "s3://b/c", "gs://b", "file:///a"]),
        (Email(), ["a@b.de", "a.b+c@d-e.f.org", "a%b@x.y", "ä@ö.de"]),
        (Placeholder(), ["%d", "%5.2f", "%-3s", "%(a.b)s", "%{a}", "%2$s", "%ld", "#{a}", "$A_B"]),
        (Placeholder(), ["</a>", "<br/>", '<a href="b">', "[[a b]]", "##a##", "{}", "{{}}"]),
    ],
)
def test_what_stays_as_it_is_is_found_whole(kind, whole):
    for text in whole:
        assert found(kind, text) == [text]
        assert found(kind, f"so {text} ,") == [text]


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (WebAddress(), "a.b, x.dex, me@a.de, ://a, -a.de"),
        (Email(), "a@b, @b.de, a@, a @b.de"),
        (Placeholder(), "5%d, %%d, 100%, %dx, a < b > c, $a, [a], #a#, { "),
    ],
)
def test_what_only_looks_like_it_is_left(kind, line):
    assert found(kind, line) == []


@pytest.mark.parametrize("pattern", ["b*", "b?", "(?=b)", "b+"])
def test_a_pattern_of_ones_own_finds_nothing_empty(pattern):
    longest = {"b*": ["bb", "b"], "b+": ["bb", "b"], "b?": ["b", "b", "b"]}.get(pattern, [])
    assert found(OwnPattern(pattern), "abbab") == longest


# numbers


@pytest.mark.parametrize(
    ("digits", "form", "value"),
    [
        ("1234", POINT, "1234"),
        ("1,234", POINT, "1234"),
        ("1.234", POINT, "1.234"),
        ("1,234.50", POINT, "1234.5"),
        ("1.234,5", COMMA, "1234.5"),
        ("12,34,567", POINT, "1234567"),
        ("1,23,456", POINT, "123456"),
        ("123,45,678", POINT, None),
        ("1,2345", POINT, None),
        ("1234,567", POINT, None),
        ("1,234'567", POINT, None),
        ("1'234'567", POINT, "1234567"),
        ("1 234", COMMA, "1234"),
        ("1.234.567", POINT, None),
        ("1.2.3", POINT, None),
        ("1.", POINT, None),
        ("-1,234.5", POINT, "-1234.5"),
        ("+7", POINT, "7"),
        ("-7", POINT, "-7"),
        ("-0.5", POINT, "-0.5"),
        ("1;234", POINT, None),
    ],
)
def test_a_number_is_read_by_its_decimal_mark_and_its_groups(digits, form, value):
    read = parse_as(digits, form)
    assert (None if read is None else f"{read:f}") == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("00", 0),
        ("01", 1),
        ("007", "007"),
        ("0049", "0049"),
        ("1.2.3.4", "1.2.3.4"),
        ("0.5", "0.5"),
    ],
)
def test_three_digits_led_by_a_zero_are_a_name(text, value):
    assert str(Number().read(text, "en")) == str(value)


@pytest.mark.parametrize(
    ("text", "languages", "written"),
    [
        ("1.234,5", ("de", "en"), "1,234.5"),
        ("1,234.5", ("de", "en"), "1,234.5"),
        ("-1.234", ("de", "en"), "-1,234"),
        ("+12", ("de", "en"), "+12"),
        ("1.2.3.4", ("de", "en"), "1.2.3.4"),
        ("1 234,5", ("de", "de-CH"), "1’234.5"),
        ("\N{MINUS SIGN}1,5", ("de", "en"), "-1.5"),
        ("\N{MINUS SIGN}1,5", ("de", "de"), "\N{MINUS SIGN}1,5"),
        ("1234", ("de", "en"), "1234"),
        ("٣٫٥", ("de", "en"), "3.5"),
        ("١٬٢٣٤", ("en", "de"), "1.234"),
        ("1.400", ("fr", "en"), "1,400"),
        ("1.234,50", ("fr", "en"), "1,234.50"),
        ("12.50", ("fr", "en"), "12.50"),
        ("12.50", ("fr", "de"), "12,50"),
        ("1,234.50", ("de-CH", "de"), "1.234,50"),
    ],
)
def test_a_number_is_written_with_the_marks_of_the_target(text, languages, written):
    assert Number().write(text, *languages) == written


@pytest.mark.parametrize(
    ("text", "plain"), [("−5", "-5"), ("٣٫٥", "3.5"), ("५", "5"), ("½5", "½5")]
)
def test_a_number_has_ascii_digits_and_marks(text, plain):
    assert to_ascii(text) == plain


@pytest.mark.parametrize("text", ["1.234,5", "1 234", "1’234", "1234", "12,5", "-5"])
def test_a_number_is_of_the_form_of_a_language_that_reads_it_first(text):
    for language, form in (("de", COMMA), ("en", POINT)):
        assert Number().is_form_of(text, language) == (parse_as(text, form) is not None)


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("a-5 -5 (-5) =-5 5-6 x+7", ["5", "-5", "-5", "-5", "5", "6", "7"]),
        ("1 234 567 und 1 2345 und 12 34", ["1 234 567", "1", "2345", "12", "34"]),
        ("1 234,5 1.5.2 3,", ["1 234,5", "1.5.2", "3"]),
        ("a5 _5 é5 5a", ["5"]),
    ],
)
def test_a_number_begins_at_no_letter_and_has_a_sign_where_nothing_stands_before(line, numbers):
    assert found(Number(), line) == numbers


def test_a_sign_that_stands_alone_is_a_literal():
    alone = {"{x} €": "€", "in % und": "%", "($)": "$", "{x}%": "%", "€ {x}": "€", "%.": "%"}
    alone |= {"in US$": "US$", "1,5 Milliarden €": "€", "50,- €": "€", "in ‰ von": "‰"}
    for line, sign in alone.items():
        assert found(LoneSign(), line) == [sign], line
    beside = ("5 €", "5%", "½ %", "½%", "$ 5", "€5", "3 Mio. €", "5 k€", "x $ 5", "US$ 5", "10%ig")
    for line in (*beside, "5 % 5", "$x", "${x}", "C$", "10°%", "%(x)", "%%", "$$", "100%%"):
        assert not found(LoneSign(), line), line


def test_what_programs_and_people_are_called_by_is_a_literal():
    names = {
        Path: (
            *("C:\\Users\\me\\a.docx", "D:\\x", "/usr/bin/env", "~/a/b.c", "/a/b/"),
            *("report.final.pdf", "Node.js", "my-file_2.tar", "c:\\a", "docs/x/a.md", "../a.md"),
        ),
        Handle: ("@name", "#Topic", "@a1_b", "#2024wahl"),
        Placeholder: ("`x = 1`", "`a`", ":smile:", ":thumbs-up:"),
        Telephone: (
            *("01 23 45 67 89", "+33 1 23 45 67 89", "+49 (0)30 1234567", "+34 912 345 678"),
            *("0176/1234567", "030-1234567", "(555) 123-4567", "+4930123456", "0800 123 456"),
        ),
        JoinedNumbers: ("2013/14", "3:1", "2/3", "978-3-16-148410-0", "1-800-555-0199", "1/2/3/4"),
    }
    for kind, texts in names.items():
        for text in texts:
            assert found(kind(), text) == [text]
            assert found(kind(), f"Das ist ({text}), ja") == [text]
            assert found(kind(), f"{text} und {text}.") == [text] * 2


def test_what_looks_like_them_is_none():
    others = {
        Path: (
            *("km/h", "und/oder", "http://a/b", "A/B", "1/2", "z.B.", "a.b", "n:\\", "x.pdfx"),
            *("ab:\\x", "1c:\\x", "/ab", "a/b/c", ".a.pdf", "\\a.pdf", "a.pdf/b"),
        ),
        Handle: ("a@b.de", "C#", "#1", "@", "##a##", "&#x27;", "x#y", "a.@b", "1/@b"),
        Placeholder: (
            *("`a' und `b'", "``x``", "` x`", "`x `", "l`an`", "`an`x", "`an``", "``an`"),
            *("10:20:30", "1:b:", ":b:1", "::x:", ":x::", ":B:", ":1:"),
        ),
        Telephone: (
            *("+10 000 000", "1 000 300 000", "0,5", "0520/2000", "007 2006", "12 34 56 78"),
            *("+12 34 56 78 90 12 34 56 78", "+12 34 5", "(2) 345-6789", "+5 %", "(2) 34"),
            *("01 23 45", "A01 23 45 67 89", "01 23 45 67 89,5"),
        ),
        JoinedNumbers: (
            *("12-13", "1.5/2", "12:3456", "A4-5-6", "1/2x", "-1/2", "1/", "5/6.7", "a:1"),
        ),
    }
    for kind, texts in others.items():
        for text in texts:
            assert not found(kind(), text), text


def test_of_names_the_longest_and_dates_come_first():
    line = "12:30, 3:1, 31/12/2006, 5/6, 2006/123/EG, 1083/2006, http://a.de/b/c.pdf, a.pdf, x@y.de"
    line = f"{line}, 030 1234567 @me"
    known = [(one.kind.name, one.text) for one in find_literals(line, "de")]
    assert known == [
        *(("time", "12:30"), ("joined numbers", "3:1"), ("date", "31/12/2006")),
        *(("joined numbers", "5/6"), ("code", "2006/123/EG"), ("joined numbers", "1083/2006")),
        *(("address", "http://a.de/b/c.pdf"), ("path", "a.pdf"), ("email", "x@y.de")),
        *(("telephone number", "030 1234567"), ("handle", "@me")),
    ]


def unit_of(line):
    at = line.index("5")
    unit = find_unit(line, at, at + 1)
    return line[unit.start : unit.end] if unit else ""


def test_a_unit_stands_right_beside_its_number_the_one_behind_first():
    for before, after in product(("", "$", "$ ", "US$ ", "$  "), ("", "%", " km", "  km", "km/h")):
        line = f"{before}5{after}"
        behind = "" if after.startswith("  ") else after.strip()
        ahead = "" if before.endswith("  ") else before.strip()
        assert unit_of(line) == (behind or ahead)
    longest = "Mrd. US$"
    assert len(longest) < LONGEST_UNIT
    assert unit_of(f"5 {longest}") == longest
    assert unit_of("US$ 5 kg") == "kg"


def literals(*units):
    return [Literal(Number(), 0, 1, "5", unit) for unit in units]


@pytest.mark.parametrize(
    ("source", "target", "problem"),
    [
        ([""], [""], None),
        (["km"], [""], None),
        ([""], ["km"], None),
        (["km"], ["km"], None),
        (["km"], ["m"], "unit"),
        (["US$"], ["$"], None),
        (["$"], ["US$"], None),
        (["km", "m"], ["m", "km"], None),
        (["km", "m"], ["m", ""], None),
        (["km", "m"], ["m", "m"], "unit"),
        (["km", "m"], ["m"], "missing"),
        (["km"], ["km", "m"], "repeated"),
        (["km"], [], "missing"),
    ],
)
def test_units_are_judged_where_all_numbers_have_one(source, target, problem):
    assert judge_literals(literals(*source), literals(*target)) == problem


@pytest.mark.parametrize(
    ("source", "translation", "breaches"),
    [
        ("Paar 1.234 und 1234", "pair 1,234", [("1234", "1234", "missing")]),
        ("Paar 1.234 und 1234", "pair", [("1.234", "1,234", "missing")]),
        ("Paar 1234", "1,234 und 1,234 und 1234", [("1234", "1234", "repeated")]),
        ("6 und 5 und 6", "5 and 5", [("6", "6", "missing"), ("5", "5", "repeated")]),
        ("nichts", "5", []),
        ("", "5", []),
    ],
)
def test_a_breach_names_the_literal_that_was_lost_in_the_order_of_the_source(
    source, translation, breaches
):
    found_ones = check_literals(source, translation, ("de", "en"))
    assert [(one.text, one.expected, one.problem) for one in found_ones] == breaches
    assert {one.kind for one in found_ones} <= {"number"}


# finding and masking


class Letters(LiteralKind):
    """Finds where some letters stand."""

    def __init__(self, letters, **attributes):
        self.letters = letters
        for name, value in attributes.items():
            setattr(self, name, value)

    def find(self, line, language):
        at = line.find(self.letters)
        while at >= 0:
            yield LiteralSpan(at, at + len(self.letters))
            at = line.find(self.letters, at + len(self.letters))

    def write(self, text, source, target):
        return f"{text}{source}{target}"


@given(st.text("ab", max_size=12), st.lists(st.sampled_from(["a", "ab", "bab", "bb"]), unique=True))
@settings(max_examples=50)
def test_what_two_kinds_find_is_the_firsts(line, parts):
    kinds = [Letters(part) for part in parts]
    taken, expected = set(), []
    for kind in kinds:
        own = [place for place in kind.find(line, "de") if not taken & {*range(*place[:2])}]
        expected += [(place.start, place.end, kind) for place in own]
        taken |= {at for place in own for at in range(*place[:2])}
    found_ones = find_literals(line, "de", kinds)
    ordered = sorted(expected, key=lambda one: one[0])
    assert [(one.start, one.end, one.kind) for one in found_ones] == ordered
    assert all(one.text == line[one.start : one.end] == one.kind.letters for one in found_ones)


def test_a_line_has_ten_symbols_of_each_class_and_they_are_of_no_text():
    assert SYMBOLS_PER_CLASS == 10
    assert len({*ALL_SYMBOLS}) == 2 * SYMBOLS_PER_CLASS
    line = "B b " * 12
    kinds = [Letters("b", symbol_class="number"), Letters("B")]
    masked = mask(line, find_literals(line, "de", kinds))
    assert masked.line == "".join(
        f"{SYMBOLS['name'][n]} {SYMBOLS['number'][n]} " for n in range(10)
    ) + ("B b B b ")
    assert {symbol: one.text for symbol, one in masked.literals.items()} == {
        **dict.fromkeys(SYMBOLS["name"], "B"),
        **dict.fromkeys(SYMBOLS["number"], "b"),
    }


A, B, C, OTHER = *SYMBOLS["name"][:3], SYMBOLS["number"][0]


def masked_line(line):
    held = {sign: Literal(Letters("x"), 0, 1, sign) for sign in line if sign in {A, B, C}}
    return Masked(line, held)


@pytest.mark.parametrize(
    ("source", "translation", "repaired"),
    [
        (f"a {A}", f"b {A}", f"b {A}"),
        (f"a {A}", f"{A} b {A}", f"{A} b"),
        (f"a {A}", f"b {OTHER} {A}", f"b {A}"),
        (f"a {A}", f"b{A}c", f"b {A} c"),
        (f"a {A}", f"b {A}.5 c", f"b {A} c"),
        (f"a {A}", f"b {A}, c", f"b {A}, c"),
        (f"a {A} {B}", f"b {A} {B}", f"b {A}, {B}"),
        (f"a {A} {B}", f"b {A}-{B}", f"b {A}, {B}"),
        (f"a {A} {B}", f"b {A}{B}", f"b {A}, {B}"),
        (f"{A} a b c", "d e f.", f"{A} d e f."),
        (f"a b c {A}", "d e f.", f"d e f {A}."),
        (f"a b {A} c d", "e f g h", f"e f {A} g h"),
        (f"a {A} b c d", "e f g h?!", f"e {A} f g h?!"),
        (f"{A}", "", f"{A}"),
        (f"{A}", "...", f"{A}..."),
        (f"a {A} b {B}", "c d", f"c {A} d {B}"),
        (f"a {A}-{B}", f"b {A} {B}", f"b {A}-{B}"),
        (f"a {A}:{B}", f"b {B}, {A} c", f"b {A}:{B} c"),
        (f"a {A}–{B}", f"b {A} {B}", f"b {A}–{B}"),
        (f"a {A}/{B}/{C}", f"b {A} {B}", f"b {A}/{B}/{C}"),
        (f"a {A}–{B} {C}", f"b {A} to {B} {C}", f"b {A} to {B}, {C}"),
    ],
)
def test_each_symbol_of_a_source_stands_once_in_a_repaired_translation(
    source, translation, repaired
):
    assert repair(translation, masked_line(source)) == repaired


@given(st.integers(0, 6), st.integers(0, 6))
def test_a_word_is_put_behind_its_share_of_the_words(count, before):
    words = [f"w{at}" for at in range(count)]
    before = min(before, count)
    line = insert_word(" ".join(words) + "?!", before / max(1, count), "x")
    assert line == " ".join([*words[:before], "x", *words[before:]]) + "?!"


@pytest.mark.parametrize(
    ("translation", "has_capital", "in_capitals", "masked_first", "restored"),
    [
        (f"{A} b", False, False, False, "xdeen b"),
        (f"{A} b", True, False, False, "Xdeen b"),
        (f"b {A}", True, False, False, "b xdeen"),
        (f"{A} b {A}", True, True, False, "XDEEN b XDEEN"),
        (f"{A} b", True, True, True, "xdeen b"),
        (f"{OTHER}b{A}", True, False, False, "bxdeen"),
    ],
)
def test_a_literal_comes_back_in_the_targets_form(
    translation, has_capital, in_capitals, masked_first, restored
):
    held = {A: Literal(Letters("x", is_masked_first=masked_first), 0, 1, "x")}
    masked = Masked(A, held, has_capital)
    assert restore(translation, masked, ("de", "en"), in_capitals=in_capitals) == restored


@pytest.mark.parametrize("line", ["Ab", "ab", "", "1", "Äb", "b"])
def test_a_masked_line_knows_whether_it_began_with_a_capital(line):
    assert mask(line, []) == (line, {}, line[:1].isupper())


# words of terms


@given(st.text("aB ,.東京ü_5\u0301", max_size=15))
def test_words_hold_all_that_is_no_space_and_lie_in_order(line):
    words = stem_words(line, "en")
    assert [word.text for word in words] == split_words(line)
    assert "".join(word.text for word in words) == "".join(line.split())
    assert all(line[word.start : word.end] == word.text for word in words)
    assert all(word.stem == find_stem(word.text, "en") for word in words)


@pytest.mark.parametrize(
    ("word", "language", "stem"),
    [
        ("Committees", "en", "committe"),
        ("Committees", "en-GB", "committe"),
        ("Committees", "xx", "committees"),
        ("5s", "en", "5s"),
        ("Häuser", "de", "haus"),
        ("ab" * 98 + "dogs", "en", "ab" * 98 + "dog"),
        ("aba" * 66 + "dogs"[1:], "en", "aba" * 66 + "ogs"),
    ],
)
def test_a_stem_is_of_a_language_and_a_word(word, language, stem):
    assert find_stem(word, language) == stem


@pytest.mark.parametrize(
    ("wanted", "words", "others"),
    [
        ("gut", ["gut", "Gut", "GUT", "gUt"], []),
        ("Gut", ["Gut", "GUT", "Gute"], ["gut", "gUT"]),
        ("EU", ["EU"], ["eu", "Eu", "EUs"]),
        ("iPhone", ["iPhone", "IPHONE"], ["iphone", "Iphone", "IPhone"]),
        ("x", ["x", "X"], []),
        ("X", ["X"], ["x"]),
    ],
)
def test_a_word_may_have_more_capitals_than_its_term_but_no_fewer(wanted, words, others):
    assert all(has_fitting_case(word, wanted) for word in words)
    assert not any(has_fitting_case(word, wanted) for word in others)


def test_a_format_is_a_decimal_mark_and_one_of_groups():
    assert (POINT, COMMA) == (NumberFormat(".", ","), NumberFormat(",", "."))
    numbers = {"number", "date", "time", "joined numbers"}
    assert {kind.name for kind in KINDS if kind.symbol_class == "number"} == numbers
    assert {kind.name for kind in KINDS if not kind.is_masked_first} == numbers
    assert {kind.name for kind in KINDS if kind.may_repeat} == {"sign"}

"""Laws of literals: what was found can be put back to the byte, and what is lost is noticed."""

import unicodedata
from decimal import Decimal
from itertools import pairwise

import pytest
from babel import Locale, localedata
from babel.numbers import format_decimal, get_decimal_symbol, get_group_symbol
from hypothesis import assume, given
from hypothesis import strategies as st

from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.literals.checking import check_literals
from nmt_core.literals.finding import KINDS, find_literals
from nmt_core.literals.masking import mask, restore
from nmt_core.literals.number import Number
from nmt_core.literals.number_format import find_number_format

LANGUAGES = ("de", "en", "fr", "es", "pl", "sv", "ru", "tr", "hi", "ar", "ja", "zh", "de-CH")
TEXT = st.text(max_size=60)
DENSE = st.text(alphabet="aB5 0.,-/:{}%$<>@()_€k\u00a0\u202f٣५😀\ue003#’", max_size=40)
SAMPLES = (
    "{name}",
    "{{count}}",
    "%1$s",
    "${total}",
    "<0>",
    "https://example.org/a?b=c",
    "info@example.org",
    "😀",
    "👩‍🚀",
    "A4-0317/98",
    "COM(2004)0123",
    "31.12.2006",
    "94",
)
WORDS = st.lists(st.sampled_from(["das", "Haus", "und", "mit", "wir,"]), min_size=1, max_size=4)


@given(st.one_of(TEXT, DENSE), st.sampled_from(LANGUAGES))
def test_literals_lie_apart_and_hold_what_stands_there(line, language):
    literals = find_literals(line, language)
    assert all(one.text == line[one.start : one.end] != "" for one in literals)
    assert all(a.end <= b.start for a, b in pairwise(literals))


SIGNS = "aÄ .,:;!?'-–„“()…e\u0301²½٣@{}<$#[]©☎\ue000\ufe0f日\t\n1m"
PARTS = (*SIGNS, *SAMPLES, "z.B.", "www.x.org", "a.de", "mailto:ab", "%s", "x²")
ORDINARY = st.text("aÄé .,;!?'-–„“()…", max_size=9)


@given(ORDINARY, ORDINARY, st.sampled_from(LANGUAGES))
def test_lines_that_are_passed_over_hold_none(before, after, language):
    for part in PARTS:
        line = before + part + after
        assert find_literals(line, language) == find_literals(line, language, [*KINDS])


ENDS = ("\n", "\r", "\x0b", "\x1c", "\x85", "\u2028", "\u2029", "\t")


@given(
    st.lists(
        st.sampled_from(
            [*ENDS, "{", "<b", ">", "}", "15", "h", "30", "[[", "]]", "www.x.org", "a@b.de"]
        )
    )
)
def test_no_literal_holds_the_end_of_a_line_or_field(parts):
    line = "".join(parts)
    assert not any(end in one.text for one in find_literals(line, "fr") for end in ENDS)


@given(st.one_of(TEXT, DENSE), st.sampled_from(LANGUAGES))
def test_what_was_masked_comes_back_to_the_byte(line, language):
    masked = mask(line, find_literals(line, language))
    put_back = (masked.literals[c].text if c in masked.literals else c for c in masked.line)
    assert "".join(put_back) == line
    assert sorted(c for c in masked.line if c in ALL_SYMBOLS) == sorted(masked.literals) or any(
        sign in line for sign in ALL_SYMBOLS
    )
    assert restore(masked.line, masked, (language, language)) == line or set(line) & {*ALL_SYMBOLS}


@given(st.one_of(TEXT, DENSE), st.sampled_from(LANGUAGES))
def test_a_line_keeps_its_own_literals(line, language):
    assert check_literals(line, line, (language, language)) == []


@given(WORDS, st.lists(st.sampled_from(SAMPLES), min_size=1, max_size=4, unique=True), WORDS)
def test_each_lost_literal_is_named(before, samples, after):
    source = " ".join([*before, *samples, *after])
    assert check_literals(source, source, ("de", "en")) == []
    for lost in samples:
        kept = " ".join([*before, *(sample for sample in samples if sample != lost), *after])
        [breach] = check_literals(source, kept, ("de", "en"))
        assert (breach.text, breach.problem) == (lost, "missing")
        [breach] = check_literals(source, f"{source} {lost}", ("de", "en"))
        assert (breach.text, breach.problem) == (lost, "repeated")


@given(
    st.decimals(-(10**12), 10**12, places=3, allow_nan=False),
    st.sampled_from(LANGUAGES),
    st.sampled_from(LANGUAGES),
)
def test_a_number_keeps_its_value_in_every_language(value, source, target):
    number = Number()
    text = format_decimal(value, locale=source.replace("-", "_"), numbering_system="latn")
    assume(number.read(text, source) == Decimal(text_of(value)).normalize())
    written = number.write(text, source, target)
    assert number.read(written, target) == number.read(text, source)
    assert [one.text for one in find_literals(f"({written} .", target)] == [written]


@given(st.decimals(-(10**12), 10**12, places=2, allow_nan=False), st.sampled_from(LANGUAGES))
def test_a_number_is_read_as_cldr_writes_it(value, language):
    text = format_decimal(value, locale=language.replace("-", "_"), numbering_system="latn")
    unambiguous = len(str(abs(int(value)))) > 3 and value % 1
    if unambiguous:
        assert Number().read(text, language) == value.normalize()


def text_of(value):
    """Return a decimal as CLDR's standard pattern rounds it, without an exponent."""
    return f"{value:f}"


@pytest.mark.parametrize("zero", ["٠", "۰", "०", "０", "০"])
@given(st.integers(1, 10**9))
def test_digits_of_every_script_are_equal(zero, value):
    digits = "".join(chr(ord(zero) + int(digit)) for digit in str(value))
    assert unicodedata.digit(digits[0]) == int(str(value)[0])
    assert check_literals(f"x {digits} y", f"x {value} y", ("ar", "en")) == []
    [breach] = check_literals(f"x {digits} y", f"x {value + 1} y", ("ar", "en"))
    assert breach.expected == str(value)


def test_numbers_are_written_as_cldr_has_it():
    for code in localedata.locale_identifiers():
        locale = Locale.parse(code)
        if not (locale.script or locale.variant):
            form = find_number_format(code.replace("_", "-"))
            expected = [
                find(locale, numbering_system="latn")
                for find in (get_decimal_symbol, get_group_symbol)
            ]
            if expected[1] != "،":  # of which nobody writes Latin digits
                assert [*form] == expected, code


def test_every_kind_has_a_name_of_its_own():
    names = [kind.name for kind in KINDS]
    assert len({*names}) == len(names)

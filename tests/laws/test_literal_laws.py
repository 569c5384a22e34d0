"""Laws of literals: found literals can be restored to the byte, and lost ones are reported."""

import unicodedata
from decimal import Decimal
from itertools import pairwise

import pytest
from babel import Locale
from babel.numbers import format_decimal
from hypothesis import assume, given
from hypothesis import strategies as st

from nmt_core.base.symbols import ALL_SYMBOLS, SYMBOLS, SYMBOLS_PER_CLASS
from nmt_core.literals.checking import check_literals
from nmt_core.literals.finding import find_literals
from nmt_core.literals.masking import insert_missing, insert_word, mask, restore
from nmt_core.literals.number import read_number, write_number

LANGUAGES = ("de", "en", "fr", "es", "pl", "sv", "ru", "tr", "hi", "ar", "ja", "zh", "de-CH", "xx")
TEXT = st.text(max_size=60)
DENSE = st.text(alphabet="aB5 0.,-/:{}%$<>@()_€k\u00a0\u202f٣५😀\ue003#’&;h", max_size=40)
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
    "orf.at",
    "→",
)
WORDS = st.lists(st.sampled_from(["das", "Haus", "und", "mit", "wir,"]), min_size=1, max_size=4)


@given(st.one_of(TEXT, DENSE), st.sampled_from(LANGUAGES))
def test_literals_do_not_overlap_and_have_their_text(line, language):
    literals = find_literals(line, language)
    assert all(one.text == line[one.start : one.end] != "" for one in literals)
    assert all(a.end <= b.start for a, b in pairwise(literals))


@given(st.one_of(TEXT, DENSE), st.sampled_from(LANGUAGES))
def test_every_digit_is_in_a_literal(line, language):
    """Digits of a character reference, such as ``&#39;``, are an exception."""
    assume("&" not in line)
    literals = find_literals(line, language)
    for at, sign in enumerate(line):
        if unicodedata.category(sign) == "Nd":
            assert any(one.start <= at < one.end for one in literals)


ENDS = ("\n", "\r", "\x0b", "\x1c", "\x85", "\u2028", "\u2029", "\t")


@given(
    st.lists(
        st.sampled_from(
            [*ENDS, "{", "<b", ">", "}", "15", "h", "30", "[[", "]]", "www.x.org", "a@b.de"]
        )
    )
)
def test_no_literal_contains_the_end_of_a_line(parts):
    line = "".join(parts)
    assert not any(end in one.text for one in find_literals(line, "fr") for end in ENDS)


@given(st.one_of(TEXT, DENSE), st.sampled_from(LANGUAGES), st.booleans())
def test_masked_literals_are_restored_to_the_byte(line, language, numbers):
    assume(not {*line} & {*ALL_SYMBOLS})
    masked = mask(line, find_literals(line, language), (language, language), numbers=numbers)
    put_back = (masked.texts[c].source if c in masked.texts else c for c in masked.line)
    assert "".join(put_back) == line
    assert sorted(c for c in masked.line if c in ALL_SYMBOLS) == sorted(masked.texts)


def test_line_has_ten_symbols_of_each_class():
    assert len({*ALL_SYMBOLS}) == 2 * SYMBOLS_PER_CLASS
    line = " und ".join(f"{{x{n}}} mit {n}" for n in range(12))
    masked = mask(line, find_literals(line, "de"), ("de", "en"), numbers=True)
    assert {*masked.texts} == {*ALL_SYMBOLS}
    assert "{x10} mit 10 und {x11} mit 11" in masked.line


A, B = SYMBOLS["name"][:2]


@pytest.mark.parametrize(
    ("line", "translation", "whole"),
    [
        ("a {x}", f"b {A}", "b {x}"),
        ("a {x}", f"{A} b {A}", "{x} b "),
        ("{x} a b c", "d e f.", "{x} d e f."),
        ("a b c {x}", "d e f.", "d e f {x}."),
        ("a {x} b c d", "e f g h?!", "e {x} f g h?!"),
        ("{x} a", "", "{x}"),
        ("a {x} b {y}", "c d", "c {x} d {y}"),
        ("a 5", "b", "b"),
    ],
)
def test_lost_names_are_inserted_in_place(line, translation, whole):
    masked = mask(line, find_literals(line, "de"), ("de", "en"), numbers=True)
    assert restore(insert_missing(translation, masked), masked) == whole


@given(st.integers(0, 6), st.integers(0, 6))
def test_word_is_inserted_at_its_relative_position(count, before):
    words = [f"w{at}" for at in range(count)]
    before = min(before, count)
    line = insert_word(" ".join(words) + "?!", before / max(1, count), "x")
    assert line == " ".join([*words[:before], "x", *words[before:]]) + "?!"


@given(st.one_of(TEXT, DENSE), st.sampled_from(LANGUAGES))
def test_line_keeps_its_own_literals(line, language):
    assert check_literals(line, line, (language, language)) == []


@given(WORDS, st.lists(st.sampled_from(SAMPLES), min_size=1, max_size=4, unique=True), WORDS)
def test_each_lost_or_repeated_literal_is_reported(before, samples, after):
    source = " und ".join([*before, *samples, *after])
    assert check_literals(source, source, ("de", "en")) == []
    for lost in samples:
        kept = " und ".join([*before, *(one for one in samples if one != lost), *after])
        [breach] = check_literals(source, kept, ("de", "en"))
        assert (breach.text, breach.problem) == (lost, "missing")
        [breach] = check_literals(source, f"{source} und {lost}", ("de", "en"))
        assert (breach.text, breach.problem) == (lost, "added")


@given(
    st.decimals(-(10**12), 10**12, places=3, allow_nan=False),
    st.sampled_from(LANGUAGES[:-1]),
    st.sampled_from(LANGUAGES[:-1]),
)
def test_number_keeps_its_value_in_every_language(value, source, target):
    text = format_decimal(value, locale=source.replace("-", "_"), numbering_system="latn")
    assume(read_number(text, source) == Decimal(f"{value:f}").normalize())
    written = write_number(text, source, target)
    assert read_number(written, target) == read_number(text, source)
    assert [one.text for one in find_literals(f"({written} .", target)] == [written]


@pytest.mark.parametrize("zero", ["٠", "۰", "०", "０", "০"])
@given(st.integers(2, 10**9))
def test_digits_of_every_script_are_equal(zero, value):
    digits = "".join(chr(ord(zero) + int(digit)) for digit in str(value))
    assert check_literals(f"x {digits} y", f"x {value} y", ("ar", "en")) == []
    breach, _ = check_literals(f"x {digits} y", f"x {value + 1} y", ("ar", "en"))
    assert breach.expected == str(value)


def test_conventions_exist_for_every_cldr_language():
    for code in ("de", "en", "fr", "ja", "ar", "hi", "pt-BR", "no", "zh", "xx"):
        assert read_number("1234", code) == Decimal(1234)
    assert Locale.parse("de").number_symbols["latn"]["decimal"] == ","
    assert write_number("1.234,5", "de", "de-CH") == "1’234.5"

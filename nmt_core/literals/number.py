"""Numbers in digits, in the formats of all languages."""

import unicodedata
from collections.abc import Hashable, Iterator
from decimal import Decimal

import regex
from typing_extensions import override

from nmt_core.literals.kind import LiteralKind, LiteralSpan
from nmt_core.literals.number_format import COMMA, POINT, NumberFormat, find_number_format
from nmt_core.literals.scales import load_scale_words
from nmt_core.literals.units import SPACES, find_unit

APOSTROPHES = "'’"
"""Group digits in any language, as in Switzerland."""

ARABIC = str.maketrans({"٫": ".", "٬": ","})
"""Separators that stand among Arabic digits alone."""

MINUS = "\N{MINUS SIGN}"

ZEROS_OF_A_NAME = 3
"""So many digits, led by a zero, are a name and no value: an area code, an agent."""

DIGIT = regex.compile(r"\p{Nd}")
FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
"""Signs that all languages write alike."""

_NUMBER = regex.compile(
    r"(?<![\p{L}\p{M}\p{Nd}_])"
    rf"(?:(?<![^\s(\[/=])[+\-{MINUS}](?=\p{{Nd}}))?"
    rf"(?:(?:\p{{Nd}}+ ?)?[{FRACTIONS}]"
    r"|\p{Nd}{1,3}(?: \p{Nd}{3})+(?:[.,]\p{Nd}+)?(?![\p{Nd}])"
    rf"|\p{{Nd}}+(?:[.,{APOSTROPHES}٫٬{SPACES[1:]}]\p{{Nd}}+)*)"
)
_SIGNIFICANT = regex.compile(rf"\p{{Nd}}|[{FRACTIONS}]")
_SEPARATOR = regex.compile(r"\D")
_SIZES = regex.compile("[123]( 3)+|[12]( 2)* 3")


class Number(LiteralKind):
    """Numbers with their signs and separators, and fractions such as ½; units beside them count."""

    name = "number"
    symbol_class = "number"
    is_masked_first = False

    @override
    def find(self, line: str, language: str) -> Iterator[LiteralSpan]:
        if not _SIGNIFICANT.search(line):
            return
        words = load_scale_words(language)
        for match in _NUMBER.finditer(line):
            unit = find_unit(line, *match.span())
            sign = line[unit.start : unit.end] if unit else ""
            scale = words.find(line, match.end()) if words else ""
            yield LiteralSpan(*match.span(), sign, scale)

    @override
    def read(self, text: str, language: str) -> Hashable:
        digits = to_ascii(text)
        if len(digits) >= ZEROS_OF_A_NAME and digits.isdecimal() and digits.startswith("0"):
            return digits
        value = parse_number(digits, find_number_format(language))
        return digits.replace(" ", "") if value is None else value

    @override
    def is_form_of(self, text: str, language: str) -> bool:
        return text[-1] in FRACTIONS or (
            parse_as(to_ascii(text), find_number_format(language)) is not None
        )

    @override
    def write(self, text: str, source: str, target: str) -> str:
        if source == target:
            return text
        digits, own, other = to_ascii(text), find_number_format(source), find_number_format(target)
        used = next(
            (form for form in list_formats(own) if parse_as(digits, form) is not None), None
        )
        if used is None or digits.lstrip("+-").isdecimal():
            return digits
        whole, mark, decimals = digits.partition(used.decimal)
        grouped = "".join(sign if sign.isdigit() or sign in "+-" else other.group for sign in whole)
        return grouped + (other.decimal if mark else "") + decimals


def list_formats(own: NumberFormat) -> list[NumberFormat]:
    """Return the formats that a number may have in a text, the language's own first.

    Before the other decimal sign comes the same with the usual sign between groups: where decimals
    stand behind a comma, *1.400* is more than a thousand, though groups have spaces there.
    """
    return [own, *([COMMA, POINT] if own.decimal == COMMA.decimal else [POINT, COMMA])]


def to_ascii(text: str) -> str:
    """Return a number in ASCII digits, with a plain minus."""
    if text.isascii():
        return text
    digits = (
        str(unicodedata.digit(sign)) if unicodedata.category(sign) == "Nd" else sign
        for sign in text.translate(ARABIC)
    )
    return "".join(digits).replace(MINUS, "-")


def parse_number(digits: str, own: NumberFormat) -> Decimal | None:
    """Return the value of a number, read as its language writes it or else as others do."""
    values = (parse_as(digits, form) for form in list_formats(own))
    return next((value for value in values if value is not None), None)


def parse_as(digits: str, form: NumberFormat) -> Decimal | None:
    """Return the value of a number in a format, or None if it is not of that format."""
    if digits.isdecimal():
        return Decimal(digits).normalize()
    whole, mark, decimals = digits.partition(form.decimal)
    if mark and not decimals.isdecimal():
        return None
    sign = "-" if whole.startswith("-") else ""
    groups = _SEPARATOR.split(whole.lstrip("+-"))
    separators = set(_SEPARATOR.findall(whole.lstrip("+-")))
    allowed = {form.group, *APOSTROPHES, *SPACES}
    if len(separators) > 1 or not separators <= allowed or not is_grouped(groups):
        return None
    return Decimal(f"{sign}{''.join(groups)}.{decimals or 0}").normalize()


def is_grouped(groups: list[str]) -> bool:
    """Tell whether digits stand in threes, or as in India: the last three, twos before them."""
    if len(groups) == 1:
        return True
    return _SIZES.fullmatch(" ".join(str(len(group)) for group in groups)) is not None

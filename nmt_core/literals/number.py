"""Numbers in digits: what they are worth, and how the target language writes them."""

import unicodedata
from collections.abc import Hashable
from decimal import Decimal
from typing import NamedTuple

import regex

from nmt_core.literals.cldr import PERCENT, Conventions, load_conventions

SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
"""Spaces in numbers and before their units."""
APOSTROPHES = "'’"
"""Group digits in any language, as in Switzerland."""
MINUS = "\N{MINUS SIGN}"
ARABIC = str.maketrans({"٫": ".", "٬": ","})
"""Separators that stand among Arabic digits alone."""
ZEROS_OF_A_NAME = 3
"""Digits from which on a number that begins with zero is a name: an area code, an agent."""
MOST_DIGITS = 28
"""Characters of a number up to which its value is exact; a longer one is a name."""
FIRST_YEAR, LAST_YEAR, CENTURY = 1000, 2100, 100
"""Numbers that may be years, of which the last two digits say the same."""

DIGIT = regex.compile(r"\p{Nd}")
_SEPARATOR = regex.compile(r"\D")
_THREES = regex.compile(r"(?<=\d)(?=(?:\d{3})+$)")
_SIZES = regex.compile("[123]( 3)+|[12]( 2)* 3")
_WORD_AFTER = regex.compile(rf"[{SPACES}\-]?(\p{{L}}[\p{{L}}\p{{M}}]*+)\.?")
_UNIT_AFTER = regex.compile(
    rf"(?:[.,][\-–—])?[{SPACES}\-]?([%‰]|°\p{{Lu}}?(?!\p{{L}})|\p{{Lu}}{{0,3}}\p{{Sc}}"
    r"|\p{L}[\p{L}\p{M}/²³\-]*(?:\p{Nd}(?![\p{L}\p{Nd}]))?(?!['’]|\.\p{L}))"
)
_SIGN_BEFORE = regex.compile(
    rf"(?<![\p{{L}}\p{{Nd}}])(\p{{Lu}}{{0,3}}\p{{Sc}}|\p{{Lu}}{{3}})[{SPACES}]?$"
)
_MAY_BE_WORD = regex.compile(r"(?=.*[aeiouy])\p{Ll}{1,3}")
"""Short signs of units that are words, too, such as *in* and *a*; those without vowels are none."""
LONE_SIGN = regex.compile(r"[%‰]|°\p{Lu}?|\p{Lu}{0,3}\p{Sc}")
"""A sign of a unit or currency that stands beside no number, which a translation may write out."""
LONGEST_SIGN = 6
"""Characters before a number in which the sign or code of a currency stands."""
CODE = 3
"""Letters of a currency's code."""

_JOINT = regex.compile(r"[^\p{Nd}.,]+")

Value = Decimal | str
"""The value of a number; its digits if it is a name, such as 007."""


def to_ascii(text: str) -> str:
    """Return a number in ASCII digits, with a plain minus."""
    if text.isascii():
        return text
    digits = (
        str(unicodedata.digit(sign)) if unicodedata.category(sign) == "Nd" else sign
        for sign in text.translate(ARABIC)
    )
    return "".join(digits).replace(MINUS, "-")


def read_number(text: str, language: str) -> Value | None:
    """Return what a number is worth, read as its language writes it or else as others do.

    None if it is a number in no format.
    """
    digits = to_ascii(text)
    is_name = len(digits) >= ZEROS_OF_A_NAME and digits.isdecimal() and digits.startswith("0")
    if is_name or len(digits) > MOST_DIGITS:
        return digits
    for decimal, group in list_formats(load_conventions(language)):
        value = _parse(digits, decimal, group)
        if value is not None:
            return value
    return None


def list_formats(own: Conventions) -> list[tuple[str, str]]:
    """Return the signs before decimals and between groups that a number may have, own ones first.

    Where decimals stand behind a comma, *1.400* is more than a thousand, though CLDR may have
    spaces between groups there.
    """
    common = [(",", "."), (".", ",")]
    return [(own.decimal, own.group), *(common if own.decimal == "," else common[::-1])]


def _parse(digits: str, decimal: str, group: str) -> Decimal | None:
    if digits.isdecimal():
        return Decimal(digits).normalize()
    whole, mark, decimals = digits.partition(decimal)
    if mark and not decimals.isdecimal():
        return None
    sign = "-" if whole.startswith("-") else ""
    whole = whole.lstrip("+-")
    separators = set(_SEPARATOR.findall(whole))
    groups = _SEPARATOR.split(whole)
    sizes = " ".join(str(len(part)) for part in groups)
    if len(separators) > 1 or not separators <= {group, *APOSTROPHES, *SPACES}:
        return None
    if len(groups) > 1 and not _SIZES.fullmatch(sizes):
        return None
    return Decimal(f"{sign}{''.join(groups) or 0}.{decimals or 0}").normalize()


def write_number(text: str, source: str, target: str) -> str:
    """Return a number in the form of the target language; what is none in no format stays."""
    own, other = load_conventions(source), load_conventions(target)
    digits = to_ascii(text)
    formats = list_formats(own)
    used = next((form for form in formats if _parse(digits, *form) is not None), None)
    if source == target or used is None or digits.lstrip("+-").isdecimal():
        return text if source == target else digits
    whole, mark, decimals = digits.partition(used[0])
    figures = _SEPARATOR.sub("", whole)
    if figures != whole.lstrip("+-"):
        figures = _THREES.sub(other.group, figures)
    sign = whole[:1] if whole[:1] in {"+", "-"} else ""
    return sign + figures + (other.decimal if mark else "") + decimals


def write_amount(number: str, unit: str, source: str, target: str) -> str:
    """Return a number with the sign of its currency or per cent where the target has them.

    Nothing for another unit.
    """
    conventions = load_conventions(target)
    if has_currency_sign(unit):
        pattern = conventions.currency
    elif conventions.find_units(unit) == PERCENT:
        pattern = conventions.percent
    else:
        return ""
    written = write_number(number, source, target)
    digits = written.lstrip("+-")
    return written.removesuffix(digits) + pattern.replace("#", digits).replace("¤", unit)


def shorten_year(value: Hashable) -> Hashable:
    """Return the last two digits of what may be a year; everything else as it is."""
    if isinstance(value, Decimal) and FIRST_YEAR <= value < LAST_YEAR and value % 1 == 0:
        return value % CENTURY
    return value


class Beside(NamedTuple):
    """The unit and the word of scale beside a number."""

    unit: str = ""
    """Its unit or currency, in signs, as a code, or as a word."""
    extent: tuple[int, int] | None = None
    """The place of the number with the sign or code beside it."""
    scale: int = 0
    """The power of ten of the word of scale behind it."""


def read_beside(line: str, start: int, end: int, language: str) -> Beside:
    """Return the unit of a number of a line, and the word of scale behind it."""
    conventions = load_conventions(language)
    word = _WORD_AFTER.match(line, end)
    scale = conventions.read_scale(word[1]) if word and is_word(word[1]) else 0
    behind = _UNIT_AFTER.match(line, word.end() if word and scale else end)
    if behind and is_unit_sign(behind[1]):
        return Beside(behind[1], (start, behind.end()), scale)
    before = _SIGN_BEFORE.search(line, max(0, start - LONGEST_SIGN), start)
    if before and conventions.find_units(before[1]):
        return Beside(before[1], (before.start(), end), scale)
    unit = behind[1] if behind and not _MAY_BE_WORD.fullmatch(behind[1]) else ""
    if behind and unit and conventions.find_units(unit):
        is_name = unit.replace("-", "").isalpha() and not is_code(unit)
        return Beside(unit, None if is_name else (start, behind.end()), scale)
    return Beside(scale=scale)


def is_word(text: str) -> bool:
    """Tell whether a text is a word; a single Latin letter, as in *5 M*, may be a unit."""
    return len(text) > 1 or not text.isascii()


def is_code(unit: str) -> bool:
    """Tell whether a unit is the code of a currency."""
    return len(unit) == CODE and unit.isupper()


def is_unit_sign(unit: str) -> bool:
    """Tell whether a unit is a sign that stands beside numbers alone."""
    return unit[0] in "%‰°" or has_currency_sign(unit)


def has_currency_sign(unit: str) -> bool:
    """Tell whether a unit has the sign of a currency."""
    return any(unicodedata.category(sign) == "Sc" for sign in unit)


def list_joined(text: str) -> list[str]:
    """Return the numbers of a range or ratio, without their separators."""
    return [part.strip(".,") for part in _JOINT.split(text) if DIGIT.search(part)]

"""Parse numbers, dates and times in digits, and write numbers in the target language."""

import unicodedata
from collections.abc import Hashable, Iterator
from decimal import Decimal
from functools import lru_cache

import regex

from nmt_core.literals.cldr import Conventions, load_conventions, look_up_units

SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
"""Spaces in numbers and before their units."""
APOSTROPHES = "'’"
"""Separators of groups of digits that are valid in any language, as in Switzerland."""
MINUS = "\N{MINUS SIGN}"
ARABIC = str.maketrans({"٫": ".", "٬": ","})
"""ASCII equivalents of the separators between Arabic digits."""
MIN_CODE_DIGITS = 3
"""Minimum digits of a number with a leading zero that is a name, such as an area code."""
MAX_DIGITS = 28
"""Maximum length of a number with an exact value, in characters; longer ones are names."""

FIRST_YEAR, LAST_YEAR, CENTURY = 1000, 2100, 100
"""Range of numbers that may be years, which match their last two digits."""

DIGIT = regex.compile(r"\p{Nd}")
_SEPARATOR = regex.compile(r"\D")
_THREES = regex.compile(r"(?<=\d)(?=(?:\d{3})+$)")
_SIZES = regex.compile("[123]( 3)+|[12]( 2)* 3")
_WORD_AFTER = regex.compile(rf"[{SPACES}\-]?(\p{{L}}[\p{{L}}\p{{M}}]*+)\.?")
_UNIT_AFTER = regex.compile(
    rf"(?:[.,][\-–—])?[{SPACES}\-]?"
    r"([%‰]|°\p{Lu}?(?!\p{L})|\p{Lu}{0,3}\p{Sc}"
    r"|\p{L}[\p{L}\p{M}/²³\-]*(?:\p{Nd}(?![\p{L}\p{Nd}]))?(?!['’]|\.\p{L}))"
)
_SIGN_BEFORE = regex.compile(
    rf"(?<![\p{{L}}\p{{Nd}}])(\p{{Lu}}{{0,3}}\p{{Sc}}|\p{{Lu}}{{3}})[{SPACES}]?$"
)
_MAY_BE_WORD = regex.compile(r"(?=.*[aeiouy])\p{Ll}{1,3}")
"""Short signs of units that may also be words, such as *in* and *a*; words have a vowel."""
_CODE = regex.compile(r"\p{Lu}{3}")
LONE_SIGN = regex.compile(r"[%‰]|°\p{Lu}?|\p{Lu}{0,3}\p{Sc}")
"""A sign of a unit or currency without a number, which a translation may write as a word."""
MAX_SIGN_CHARACTERS = 6
"""Maximum length of a currency sign or code before a number, with its space."""

_JOINT = regex.compile(r"[^\p{Nd}.,]+")

Value = Decimal | str
"""The value of a number, or its digits if it is a name, such as 007."""


def to_ascii(text: str) -> str:
    """Return a number in ASCII digits, with an ASCII minus."""
    if text.isascii():
        return text
    digits = (
        str(unicodedata.digit(sign)) if unicodedata.category(sign) == "Nd" else sign
        for sign in text.translate(ARABIC)
    )
    return "".join(digits).replace(MINUS, "-")


@lru_cache(maxsize=10_000)  # a line is compared with its hypotheses
def read_number(text: str, language: str) -> Value | None:
    """Return the value of a number, in the format of its language or else in a common format.

    None if the text is not a number in any of these formats.
    """
    digits = to_ascii(text)
    is_name = len(digits) >= MIN_CODE_DIGITS and digits.isdecimal() and digits.startswith("0")
    if is_name or len(digits) > MAX_DIGITS:
        return digits
    for decimal, group in list_formats(load_conventions(language)):
        value = _parse(digits, decimal, group)
        if value is not None:
            return value
    return None


def list_formats(own: Conventions) -> list[tuple[str, str]]:
    """Return pairs of a decimal and a group separator to try, those of the language first.

    Formats with the same decimal separator are next, so that French *1.400* is a thousand.
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
    """Return a number in the format of the target language; other text only in ASCII digits."""
    other = load_conventions(target)
    digits = to_ascii(text)
    formats = list_formats(load_conventions(source))
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
    """Return a number with its currency or percent sign in the format of the target language.

    Empty for any other unit.
    """
    if unit != "%" and not any(unicodedata.category(sign) == "Sc" for sign in unit):
        return ""
    conventions = load_conventions(target)
    pattern = conventions.percent if unit == "%" else conventions.currency
    written = write_number(number, source, target)
    digits = written.lstrip("+-")
    return written.removesuffix(digits) + pattern.replace("#", digits).replace("¤", unit)


def shorten_year(value: Hashable) -> Hashable:
    """Return the last two digits of a possible year; other values are returned unchanged."""
    if isinstance(value, Decimal) and FIRST_YEAR <= value < LAST_YEAR and value % 1 == 0:
        return value % CENTURY
    return value


def read_unit(
    line: str, start: int, end: int, language: str
) -> tuple[str, int, tuple[int, int] | None]:
    """Return the unit of a number, the power of ten of its scale word, and a span.

    The span includes the number and the sign or code of its unit; None without a sign or code.
    """
    word = _WORD_AFTER.match(line, end)
    is_word = word is not None and (len(word[1]) > 1 or not word[1].isascii())  # not a unit
    scale = load_conventions(language).read_scale(word[1]) if word and is_word else 0
    behind = _UNIT_AFTER.match(line, word.end() if word and scale else end)
    if behind and LONE_SIGN.fullmatch(behind[1]):
        return behind[1], scale, (start, behind.end())
    before = _SIGN_BEFORE.search(line, max(0, start - MAX_SIGN_CHARACTERS), start)
    if before and look_up_units(before[1], language):
        return before[1], scale, (before.start(), end)
    unit = behind[1] if behind and not _MAY_BE_WORD.fullmatch(behind[1]) else ""
    if not behind or not unit or not look_up_units(unit, language):
        return "", scale, None
    is_name = unit.replace("-", "").isalpha() and not _CODE.fullmatch(unit)
    return unit, scale, None if is_name else (start, behind.end())


def list_joined(text: str) -> list[str]:
    """Return the numbers of a range or ratio."""
    return [part.strip(".,") for part in _JOINT.split(text) if DIGIT.search(part)]


_DATE = regex.compile(
    r"(\p{Nd}{4})([./\-])(\p{Nd}{1,2})\2(\p{Nd}{1,2})|(\p{Nd}{1,2})([./\-])(\p{Nd}{1,2})\6(\p{Nd}{4}|\p{Nd}{2})"
)
_DAY = regex.compile(r"\p{Nd}{1,2}[./]\p{Nd}{1,2}")
_TIME = regex.compile(
    rf"(\p{{Nd}}{{1,2}})(?:([:.])|[{SPACES}]?h[{SPACES}]?)(\p{{Nd}}{{2}})(?::(\p{{Nd}}{{2}}))?"
)
_HALF_OF_DAY = regex.compile(rf"[{SPACES}]?([ap])(?:\.[{SPACES}]?m\.|m\b)", regex.IGNORECASE)
MONTHS, DAYS, HOURS, SIXTY, NOON = 12, 31, 24, 60, 12


def read_date(text: str) -> tuple[int, frozenset[int]] | None:
    """Return the last two digits of the year of a date, and the set of its day and month.

    None if the text is not a date.
    """
    if (match := _DATE.fullmatch(text)) is None:
        return None
    numbers = [int(run) for run in regex.findall(r"\d+", to_ascii(text))]
    year, *others = numbers if match[1] else [numbers[2], *numbers[:2]]
    low, high = sorted(others)
    return (year % 100, frozenset(others)) if 1 <= low <= MONTHS and high <= DAYS else None


def list_days(text: str) -> Iterator[tuple[int, int]]:
    """Yield the possible days and months of a date with or without a year."""
    if date := read_date(text):
        numbers = [*date[1]]
    elif _DAY.fullmatch(text):
        numbers = [int(run) for run in regex.findall(r"\d+", to_ascii(text))]
    else:
        return
    for day, month in {(numbers[0], numbers[-1]), (numbers[-1], numbers[0])}:
        if 1 <= month <= MONTHS and 1 <= day <= DAYS:
            yield day, month


def read_times(text: str, behind: str = "") -> Iterator[Hashable]:
    """Yield the possible meanings of a time of day: *14:20*, *14.20*, *14h20* or an hour.

    A full hour is also yielded as a number. *p.m.* in ``behind`` adds twelve hours.
    """
    match, half = _TIME.fullmatch(text), _HALF_OF_DAY.match(behind)
    if match:
        hour, minute, second = int(match[1]), int(match[3]), int(match[4] or 0)
    elif half and text.isdecimal():
        hour, minute, second = int(text), 0, 0
    else:
        return
    if hour > HOURS or minute >= SIXTY or second >= SIXTY:
        return
    later = hour if half is None else hour % NOON + NOON * (half[1] in "pP")
    for candidate in {hour, later}:
        yield "time", candidate % HOURS, minute, second
        if not minute and not second:
            yield Decimal(candidate).normalize()


def is_time(text: str) -> bool:
    """Return whether a text is a time of day and not a number."""
    match = _TIME.fullmatch(text)
    return match is not None and match[2] != "." and any(read_times(text))

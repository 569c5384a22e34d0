"""Numbers that a translation adds to those of its source, in digits or in words.

Words of numbers are those of CLDR's rules for spelling them out (Unicode Technical Standard 35,
part 3, section 6), which know cardinals, ordinals and years of some eighty languages.
"""

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from pkgutil import resolve_name
from typing import Any

import regex

from nmt_core.literals.checking import Breach
from nmt_core.literals.finding import KINDS, find_literals, group_by_value
from nmt_core.literals.kind import LiteralKind
from nmt_core.literals.number import DIGIT, Number, to_ascii
from nmt_core.literals.worth import (
    count_worths,
    find_unsaid_scales,
    find_unsaid_words,
    find_worth,
    may_add_scale,
    name_scaled,
)

MOST = 20
"""Numbers of a line that are looked for in words, so that it takes no time without end."""
LARGEST = 10**12
"""Numbers above are not looked for in words."""
ONE = Decimal(1)
"""Articles say it, too."""

PURPOSES = ("CARDINAL", "ORDINAL", "YEAR")
"""What CLDR's rules write numbers as."""

ROMAN = {1000: "M", 900: "CM", 500: "D", 400: "CD", 100: "C", 90: "XC", 50: "L", 40: "XL", 10: "X"}
ROMAN |= {9: "IX", 5: "V", 4: "IV", 1: "I"}
INITIALS = {"C", "D", "L", "M"}
"""Roman numerals that are taken for letters."""
ROMAN_ENDING = "(?:[aeoèº°]|er|re|ère|ème|th|st|nd|rd)?"

_DIGITS = re.compile(r"\d+")
_YEAR = regex.compile("(?:1[0-9]|20)(?!00)([0-9]{2})")
"""The last two digits of a year may stand for all, as in "the 70s", but not two zeros."""
_HYPHEN = regex.compile(r"[\s-]+")
_JOINED = regex.compile(r"[\p{Han}\p{Hira}\p{Kana}\p{Thai}\p{Lao}\p{Khmer}\p{Arabic}\p{Hebrew}]")
"""Letters of scripts in which words stand behind others without a space."""


def find_added_numbers(
    source: str,
    translation: str,
    languages: tuple[str, str],
    kinds: Sequence[LiteralKind] = KINDS,
) -> list[Breach]:
    """Return the numbers of a translation that its source does not say.

    Args:
        source: a line.
        translation: its translation.
        languages: codes of both languages; nothing is found if the spelling of numbers in the
            first is not known.
        kinds: what to look for in the translation.
    """
    unsaid_words = [*islice(find_unsaid_words(translation, source, languages[::-1]), MOST)]
    digits, there = count_digits(source), count_digits(translation)
    scaled = bool(there) and may_add_scale(translation, source, languages[::-1])
    if (not scaled and there <= digits) or load_spelling(languages[0]) is None:
        return [Breach(Number.name, word, "", "added") for word in unsaid_words]
    said = find_literals(source, languages[0])
    written = find_literals(translation, languages[1], kinds)
    values, worths = {ONE, *group_by_value(said, languages[0])}, count_worths(said, languages[0])
    others = (
        (value, numbers[0])
        for value, numbers in group_by_value(written, languages[1]).items()
        if numbers[0].kind.name == Number.name
        and value not in values
        and find_worth(numbers[0], languages[1]) not in worths
    )
    said_short, short = shorten_years(digits), shorten_years(there)
    unread = (
        (value, number)
        for value, number in others
        if not has_digits(number.text, digits, said_short)
        or is_repeated(number.text, short, said_short)
    )
    added = [
        number.text
        for value, number in islice(unread, MOST)
        if not spells_any(source, {value, find_worth(number, languages[1])}, languages[0])
    ]
    if scaled:
        lost = find_unsaid_scales(said, written, translation, languages)
        told = {number.kind.read(number.text, languages[0]) for number in lost}
        unsaid = find_unsaid_scales(written, said, source, languages[::-1])
        added += (
            name_scaled(number.text, number.scale)
            for number in islice(unsaid, MOST)
            if number.text not in added
            and number.kind.read(number.text, languages[1]) not in told
            and not spells_any(source, {find_worth(number, languages[1])}, languages[0])
        )
    added += [word for word in unsaid_words if not any(word in text for text in added)]
    return [Breach(Number.name, text, "", "added") for text in added]


def count_digits(text: str) -> Counter[str]:
    """Return how often each run of digits is in a text, in ASCII and without zeros before it."""
    return Counter(to_ascii(digits).lstrip("0") for digits in _DIGITS.findall(text))


def has_digits(number: str, there: Counter[str], short: Counter[str]) -> bool:
    """Tell whether all digits of a number are there, or years by their last two."""
    wanted = count_digits(number)
    return wanted.keys() <= there.keys() or shorten_years(wanted).keys() <= short.keys()


def is_repeated(number: str, written: Counter[str], said: Counter[str]) -> bool:
    """Tell whether a number of one run of digits is written more often than it is said.

    Of years the last two digits count, in all three.
    """
    runs = [*shorten_years(count_digits(number)).elements()]
    return len(runs) == 1 and written[runs[0]] > said[runs[0]]


def shorten_years(numbers: Counter[str]) -> Counter[str]:
    """Return numbers, and in the place of those that may be years their last two digits."""
    short: Counter[str] = Counter()
    for digits, count in numbers.items():
        year = _YEAR.fullmatch(digits)
        short[year[1].lstrip("0") if year else digits] += count
    return short


def spells_any(line: str, values: Collection[Hashable], language: str) -> bool:
    """Tell whether a line has one of the values, of those that are numbers, in words."""
    numbers = {value.copy_abs() for value in values if isinstance(value, Decimal)}
    return any(spells(line, number, language) for number in numbers)


def spells(line: str, value: Decimal, language: str) -> bool:
    """Tell whether a line has a number in words, or in Roman numerals.

    Words may have any ending, for they are inflected, and form compounds. Where a language has no
    words for a number, any line may say it.

    Args:
        line: text of the language.
        value: of the number, not negative.
        language: its code.
    """
    if value > LARGEST or value % 1:
        return False
    ways = split_spellings(int(value), language)
    lower = line.lower()
    likely = (parts for parts in ways if all(part in lower for part in parts))
    if not ways or any(compile_words(parts).search(lower) for parts in likely):
        return True
    numeral = write_roman(int(value))
    return numeral in line and numeral not in INITIALS and has_numeral(line, numeral)


@lru_cache(maxsize=10_000)
def split_spellings(value: int, language: str) -> frozenset[tuple[str, ...]]:
    """Return the words of a whole number in lower case, each cut at spaces and hyphens."""
    return frozenset(tuple(_HYPHEN.split(way)) for way in list_spellings(value, language))


@lru_cache(maxsize=10_000)
def compile_words(parts: tuple[str, ...]) -> regex.Pattern[str]:
    """Return what finds words of a number, whether spaces, hyphens or nothing stand in them."""
    words = "[ -]?".join(map(regex.escape, parts))
    begin = "" if _JOINED.match(words) else r"(?<!\p{L})"
    return regex.compile(rf"{begin}{words}(?!-\p{{L}})")


def has_numeral(line: str, numeral: str) -> bool:
    """Tell whether a line has a Roman numeral, and not nothing, that is no part of a word."""
    return (
        numeral != ""
        and regex.search(rf"(?<!\p{{L}}){numeral}{ROMAN_ENDING}(?!\p{{L}})", line) is not None
    )


def list_spellings(
    value: int, language: str, purposes: tuple[str, ...] = PURPOSES
) -> Iterator[str]:
    """Yield the words of a whole number, of a hundred also without the one before it."""
    ones = format_number(1, language, purposes) if value > 1 else frozenset()
    for way in format_number(value, language, purposes):
        yield way
        yield from (rest for one in ones if (rest := way.removeprefix(one).strip(" -")) != way)


@lru_cache
def format_number(
    value: int, language: str, purposes: tuple[str, ...] = PURPOSES
) -> frozenset[str]:
    """Return the words of a whole number in lower case, in a language whose rules are known."""
    rules: Any = load_spelling(language)
    errors = ValueError, resolve_name("unicode_rbnf.engine:RbnfError")
    words = set()
    for purpose in purposes:
        try:
            ways = rules.format_number(value, resolve_name("unicode_rbnf:FormatPurpose")[purpose])
        except errors:  # the language has no such rules, or none of this number
            continue
        words |= {*ways.text_by_ruleset.values()}
    return frozenset(way.lower() for way in words if not DIGIT.search(way)) - {""}


@lru_cache
def load_spelling(language: str) -> Any | None:
    """Return the rules by which a language spells numbers; None if they are not known."""
    engine = resolve_name("unicode_rbnf:RbnfEngine")
    names = (language.replace("-", "_"), language.partition("-")[0])
    known = next((name for name in names if name in engine.get_supported_languages()), None)
    return engine.for_language(known) if known else None


def write_roman(value: int) -> str:
    """Return a number in Roman numerals; nothing above 3999."""
    letters = ""
    for worth, letter in ROMAN.items() if value < 4 * max(ROMAN) else ():
        letters += letter * (value // worth)
        value %= worth
    return letters

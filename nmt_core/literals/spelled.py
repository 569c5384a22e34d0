"""Detection of numbers in words, by CLDR's rules, and in Roman numerals.

The rules are those of Unicode Technical Standard 35, part 3, section 6; they know cardinal and
ordinal numbers and years of some eighty languages.
"""

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any

import regex

LARGEST = 10**12
"""Larger numbers are not looked for in words."""
SMALL = range(1, 100)
"""Numbers whose words begin others, as *six* begins *sixty*."""
ROMAN = {1000: "M", 900: "CM", 500: "D", 400: "CD", 100: "C", 90: "XC", 50: "L", 40: "XL", 10: "X"}
ROMAN |= {9: "IX", 5: "V", 4: "IV", 1: "I"}
INITIALS = {"C", "D", "L", "M"}
"""Roman numerals that are taken for letters."""

_GAP = regex.compile(r"[\s\-\N{SOFT HYPHEN}]+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hira}\p{Kana}\p{Thai}\p{Lao}\p{Khmer}\p{Arabic}\p{Hebrew}]")
"""Letters of scripts in which words stand behind others without a space."""


def spells(line: str, value: Decimal, language: str) -> bool:
    """Tell whether a line has a whole number in words or Roman numerals, regardless of its sign."""
    whole = int(abs(value))
    if whole > LARGEST or whole != abs(value):
        return False
    lower = line.lower()
    return any(
        parts[0] in lower and _is_there(parts, lower, language)
        for parts in split_spellings(whole, language)
    ) or _has_numeral(line, write_roman(whole))


def _is_there(parts: tuple[str, ...], lower: str, language: str) -> bool:
    """Tell whether the words of a number are there, inflected or not, and are not another's."""
    others = list_small_words(language) - {"".join(parts)}
    return any(
        match[0] not in others and match["last"] not in others - {parts[-1]}
        for match in _compile(parts).finditer(lower)
    )


@lru_cache(maxsize=10_000)
def _compile(parts: tuple[str, ...]) -> regex.Pattern[str]:
    """Return what finds words, whether spaces, hyphens, *and* or nothing stand between them."""
    *first, last = map(regex.escape, parts)
    words = "".join(rf"{word}[ \-]?(?:\p{{L}}{{1,3}} )?" for word in first)
    if _UNSPACED.search(parts[0]):
        return regex.compile(rf"{words}(?<last>{last})")
    return regex.compile(rf"(?<!\p{{L}}){words}(?<last>{last}\p{{L}}{{0,3}})(?!\p{{L}})")


@lru_cache(maxsize=10_000)
def split_spellings(value: int, language: str) -> frozenset[tuple[str, ...]]:
    """Return the words of a whole number in lower case; a hundred also without the *one* of it."""
    ones = {*_list_words(1, language)} if value > 1 else set()
    words = {*_list_words(value, language)}
    words |= {rest for way in words for one in ones if (rest := way.removeprefix(one)) != way}
    return frozenset(tuple(filter(None, _GAP.split(way))) for way in words) - {()}


@lru_cache(maxsize=16)
def list_small_words(language: str) -> frozenset[str]:
    """Return the cardinal numbers below a hundred in words, without gaps in them."""
    return frozenset(_GAP.sub("", word) for value in SMALL for word in _list_words(value, language))


def _list_words(value: int, language: str) -> Iterator[str]:
    """Yield a number in words by all rules of a language; nothing if there are none."""
    from unicode_rbnf import FormatPurpose  # takes 0.2 s, and few lines need it
    from unicode_rbnf.engine import RbnfError

    rules = load_rules(language)
    for purpose in (FormatPurpose.CARDINAL, FormatPurpose.ORDINAL, FormatPurpose.YEAR):
        try:
            ways = rules.format_number(value, purpose).text_by_ruleset if rules else {}
        except (ValueError, RbnfError):  # the language has no such rules, or none of this number
            continue
        yield from (way.lower() for way in ways.values() if way and not regex.search(r"\d", way))


@lru_cache(maxsize=16)
def load_rules(language: str) -> Any | None:
    """Return the rules by which a language spells numbers; None if they are not known."""
    from unicode_rbnf import RbnfEngine

    names = (language.replace("-", "_"), language.partition("-")[0])
    known = next((name for name in names if name in RbnfEngine.get_supported_languages()), None)
    return RbnfEngine.for_language(known) if known else None


def write_roman(value: int) -> str:
    """Return a number in Roman numerals; nothing above 3999."""
    letters = ""
    for worth, letter in ROMAN.items() if value < 4 * max(ROMAN) else ():
        letters += letter * (value // worth)
        value %= worth
    return letters


def _has_numeral(line: str, numeral: str) -> bool:
    """Tell whether a line has a Roman numeral that is not part of a word."""
    if not numeral or numeral in INITIALS or numeral not in line:
        return False
    return regex.search(rf"(?<!\p{{L}}){numeral}\p{{Ll}}{{0,3}}(?!\p{{L}})", line) is not None

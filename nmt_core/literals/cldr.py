"""Forms of numbers, currencies and months in each language, and numbers in words, from CLDR.

Babel has the forms. The rules for words are those of Unicode Technical Standard 35, part 3,
section 6: cardinal and ordinal numbers and years of some eighty languages.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, NamedTuple

import regex
from babel import Locale, UnknownLocaleError
from babel.numbers import get_currency_name, get_currency_symbol, list_currencies
from babel.units import get_unit_name

FALLBACK = "en"
"""Language whose conventions stand in for those of a language that CLDR does not know."""
LONGEST_ABBREVIATION = 4
"""Letters of a word of scale up to which it has no endings."""
BEGINNING = 3
"""Letters by which the name of a month, or of per cent and degrees, is known."""
ALIKE = 0.82
"""Ratio of Ratcliff and Obershelp of forms of a currency's name: *euros*, and not *Europe*."""
SIGNED_UNITS = {
    "%": ("concentr-percent",),
    "‰": ("concentr-permille",),
    "°": ("temperature-celsius", "angle-degree"),
}
"""CLDR's units of signs that are no currency."""

LARGEST = 10**12
"""Larger numbers are not looked for in words."""
SMALL = range(1, 100)
"""Numbers whose words begin others, as *six* begins *sixty*."""
ROMAN = {1000: "M", 900: "CM", 500: "D", 400: "CD", 100: "C", 90: "XC", 50: "L", 40: "XL", 10: "X"}
ROMAN |= {9: "IX", 5: "V", 4: "IV", 1: "I"}
INITIALS = {"", "C", "D", "L", "M"}
"""Roman numerals that are taken for letters, and none."""

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_NUMBERS = regex.compile(r"[\d#.,]+")
_GAP = regex.compile(r"[\s\-\N{SOFT HYPHEN}]+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hira}\p{Kana}\p{Thai}\p{Lao}\p{Khmer}\p{Arabic}\p{Hebrew}]")
"""Letters of scripts in which words stand behind others without a space."""


class Conventions(NamedTuple):
    """The conventions of one language."""

    decimal: str
    """The sign before decimals."""
    group: str
    """The sign between groups of digits."""
    currency: str
    """Place of a currency: ``¤`` and ``#`` for the number, with the space between them."""
    percent: str
    """Place of the percent sign, in the same way."""
    scales: Mapping[str, int]
    """Powers of ten by words of scale, in lower case; longer ones may have any ending."""
    months: tuple[str, ...]
    """Beginnings of the names of the twelve months, in lower case."""

    def read_scale(self, word: str) -> int:
        """Return the power of ten that a word of scale stands for; 0 for another word."""
        folded = word.casefold()
        while folded not in self.scales and len(folded) > LONGEST_ABBREVIATION:
            folded = folded[:-1]
        return self.scales.get(folded, 0)


@lru_cache(maxsize=64)
def load_conventions(language: str) -> Conventions:
    """Return the conventions of a language, of its region if the code names one."""
    locale = find_locale(language)
    symbols = locale.number_symbols.get("latn") or Locale.parse(FALLBACK).number_symbols["latn"]
    return Conventions(
        decimal=symbols["decimal"],
        group=symbols["group"],
        currency=_read_pattern(locale.currency_formats["standard"].pattern, "¤"),
        percent=_read_pattern(locale.percent_formats[None].pattern, "%"),
        scales=_read_scales(locale),
        months=tuple(
            name.casefold()[:BEGINNING] for name in locale.months["format"]["wide"].values()
        ),
    )


def find_locale(language: str) -> Locale:
    """Return CLDR's locale of a language, or that of the fallback if there is none."""
    for code in (language, language.partition("-")[0]):
        try:
            return Locale.parse(code, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return Locale.parse(FALLBACK)


def _read_pattern(pattern: str, sign: str) -> str:
    """Return where a sign stands beside a number, from a pattern such as ``#,##0.00 ¤``."""
    positive = pattern.partition(";")[0].replace("\N{RIGHT-TO-LEFT MARK}", "")
    return _NUMBERS.sub("#", positive.replace(sign, "¤"), count=1)


def _read_scales(locale: Locale) -> dict[str, int]:
    """Return the words of scale, such as *million*, with the powers of ten they stand for."""
    powers: dict[str, int] = {}
    for length in ("long", "short"):
        formats = locale.compact_decimal_formats
        for patterns in formats[length].values() if length in formats else ():
            for number, pattern in patterns.items():
                zeros = pattern.pattern.count("0")
                power = len(number) - zeros if zeros else 0
                for word in _WORD.findall(pattern.pattern):
                    if power > 0:
                        powers.setdefault(word.casefold(), power)
    return powers


@lru_cache(maxsize=1)
def list_currency_codes() -> frozenset[str]:
    """Return the codes of all currencies."""
    return frozenset(list_currencies())


def names_unit(text: str, unit: str, languages: tuple[str, str]) -> bool:
    """Tell whether a text has a unit, by its sign, its code or its name in any form.

    Args:
        text: in the second language.
        unit: the sign or code of a unit in the first language.
        languages: their codes.
    """
    signs, names = describe_unit(unit, *languages)
    words = {*_WORD.findall(text)}
    if any(sign in (words if sign.isalpha() else text) for sign in signs):
        return True
    folded = {word.casefold() for word in words}
    if unit[0] in SIGNED_UNITS:
        return any(name[:BEGINNING] == word[:BEGINNING] for name in names for word in folded)
    return any(
        name[0] == word[0] and SequenceMatcher(None, name, word).ratio() > ALIKE
        for name in names
        for word in folded
    )


@lru_cache(maxsize=1000)
def describe_unit(unit: str, source: str, target: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the signs and codes of a unit, and words of its names in the target language.

    Only the first and the last word of a currency's name are taken, and none where *new* is one.
    """
    own, other = find_locale(source), find_locale(target)
    if unit[0] in SIGNED_UNITS:
        texts = [get_unit_name(name, "long", other) or "" for name in SIGNED_UNITS[unit[0]]]
        return frozenset({unit}), _list_long_words(texts)
    signs, names = {unit}, []
    for code in list_currency_codes():
        forms = {code, *(get_currency_symbol(code, place) for place in (own, other, FALLBACK))}
        if unit in forms or regex.sub(r"\P{Sc}", "", unit) in forms:
            signs |= forms
            is_new = "New" in get_currency_name(code, locale=FALLBACK)
            for count in () if is_new else (1, 2):
                words = _WORD.findall(get_currency_name(code, count, other))
                names += [*words[:1], *words[-1:]]
    return frozenset(signs), _list_long_words(names)


def _list_long_words(texts: list[str]) -> frozenset[str]:
    words = (word.casefold() for text in texts for word in _WORD.findall(text))
    return frozenset(word for word in words if len(word) > BEGINNING)


def spells(line: str, value: Decimal, language: str) -> bool:
    """Tell whether a line has a whole number in words or Roman numerals, regardless of its sign."""
    whole = int(abs(value))
    if whole > LARGEST or whole != abs(value):
        return False
    lower = line.lower()
    return any(
        parts[0] in lower and _is_there(parts, lower, language)
        for parts in split_spellings(whole, language)
    ) or _has_numeral(line, whole)


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
    words |= {rest for full in words for one in ones if (rest := full.removeprefix(one)) != full}
    return frozenset(tuple(filter(None, _GAP.split(word))) for word in words) - {()}


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
            texts = rules.format_number(value, purpose).text_by_ruleset if rules else {}
        except (ValueError, RbnfError):  # the language has no such rules, or none of this number
            continue
        yield from (
            text.lower() for text in texts.values() if text and not regex.search(r"\d", text)
        )


@lru_cache(maxsize=16)
def load_rules(language: str) -> Any | None:
    """Return the rules by which a language spells numbers; None if they are not known."""
    from unicode_rbnf import RbnfEngine

    names = (language.replace("-", "_"), language.partition("-")[0])
    known = next((name for name in names if name in RbnfEngine.get_supported_languages()), None)
    return RbnfEngine.for_language(known) if known else None


def _has_numeral(line: str, value: int) -> bool:
    """Tell whether a line has a Roman numeral up to 3999 that is not part of a word."""
    numeral = ""
    for size, letters in ROMAN.items() if value < 4 * max(ROMAN) else ():
        numeral += letters * (value // size)
        value %= size
    if numeral in INITIALS or numeral not in line:
        return False
    return regex.search(rf"(?<!\p{{L}}){numeral}\p{{Ll}}{{0,3}}(?!\p{{L}})", line) is not None

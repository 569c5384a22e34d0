"""Forms of numbers, currencies and units in each language, and numbers in words, from CLDR.

Babel has the forms. The rules for words are those of Unicode Technical Standard 35, part 3,
section 6: cardinal and ordinal numbers and years of some eighty languages.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, NamedTuple

import regex
from babel import Locale, UnknownLocaleError
from babel.numbers import get_currency_name, get_currency_symbol, list_currencies

FALLBACK = "en"
"""Language whose conventions stand in for those of a language that CLDR does not know."""
LONGEST_ABBREVIATION = 4
"""Letters of a word of scale up to which it has no endings."""
SHORT = 3
"""Letters of a sign, which has no other forms, such as *km*."""
BEGINNING = 3
"""Letters that forms of the name of a unit or month have in common."""
ALIKE = 0.82
"""Ratio of Ratcliff and Obershelp of forms of a currency's name: *euros*, and not *Europe*."""
DURATIONS = "duration-"
"""Units that texts put in other words: *2 weeks* are a fortnight."""

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


def look_up_units(text: str, language: str) -> AbstractSet[str]:
    """Return the units that a text beside a number may mean; none if it is not a unit."""
    forms, _ = load_units(language)
    sign = next((sign for sign in text if unicodedata.category(sign) == "Sc"), text)
    for form in (text, sign, text.rpartition("-")[2]):
        if units := forms.get(fold_unit(form)):
            return units
    return set()


def names_unit(text: str, unit: str, languages: tuple[str, str]) -> bool:
    """Tell whether a text has a unit, by its sign, its code or its name in any form.

    Args:
        text: in the second language.
        unit: the unit in either language.
        languages: their codes.
    """
    meant = look_up_units(unit, languages[0]) | look_up_units(unit, languages[1])
    words = {fold_unit(word) for word in _WORD.findall(text)}
    forms, names = load_units(languages[1])
    if unit in text or any(
        units & meant and form in (words if form.isalpha() and len(form) <= SHORT else text)
        for form, units in forms.items()
    ):
        return True
    is_currency = any(map(str.isupper, meant))
    return any(
        name[0] == word[0] and SequenceMatcher(None, name, word).ratio() > ALIKE
        if is_currency
        else name[:BEGINNING] == word[:BEGINNING]  # as "kilos" of "kilogram"
        for name in {name for one in meant for name in names.get(one, ())}
        for word in words
    )


@lru_cache(maxsize=16)
def load_units(language: str) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return units and currencies by name, sign and code, and the long words of their names."""
    forms: dict[str, set[str]] = defaultdict(set)
    names: dict[str, set[str]] = defaultdict(set)
    locale = find_locale(language)
    for unit, form in (*_list_units(locale), *_list_currencies(locale)):
        forms[fold_unit(form)].add(unit)
        names[unit] |= {word.casefold() for word in _WORD.findall(form) if len(word) > SHORT}
    forms.pop("", None)
    return dict(forms), dict(names)


def _list_units(locale: Locale) -> Iterator[tuple[str, str]]:
    """Yield units with their names and signs, but for those of time."""
    for unit, lengths in locale._data["unit_patterns"].items():  # noqa: SLF001 - no other access
        for patterns in lengths.values() if not unit.startswith(DURATIONS) else ():
            for text in patterns.values() if isinstance(patterns, Mapping) else ():
                if isinstance(text, str) and "{0}" in text:
                    yield unit.partition("-")[2], text.replace("{0}", "")


def _list_currencies(locale: Locale) -> Iterator[tuple[str, str]]:
    """Yield currencies with their codes, signs, and the first and last words of their names.

    Of names such as *new shekel* no word is taken, since *new* would be one.
    """
    for code in list_currencies():
        yield code, code
        yield code, get_currency_symbol(code, locale)
        yield code, get_currency_symbol(code, FALLBACK)
        is_new = "New" in get_currency_name(code, locale=FALLBACK)
        for count in () if is_new else (1, 2):
            words = _WORD.findall(get_currency_name(code, count, locale))
            yield from ((code, word) for word in {*words[:1], *words[-1:]} if len(word) > SHORT)


def fold_unit(text: str) -> str:
    """Return a unit as it is compared: *m²* as *m2*, without spaces and dots, names in lower case.

    Case parts signs: *nm* from *nM*.
    """
    folded = "".join(unicodedata.normalize("NFKC", text).replace(".", "").split())
    return folded.casefold() if len(folded) > SHORT else folded


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

"""Formats of numbers, currencies and units in each language, and numbers in words, from CLDR.

Babel provides the formats. Numbers in words follow the rules of Unicode Technical Standard 35, part
3, section 6: cardinals, ordinals and years of about eighty languages.
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
"""Language whose conventions are used for languages that CLDR does not have."""
MAX_ABBREVIATION = 4
"""Maximum length of scale words without inflected forms, in letters."""
MAX_SIGN = 3
"""Maximum length of signs such as *km*, which have no other forms, in letters."""
PREFIX_LETTERS = 3
"""Length of the prefix that forms of the name of a unit or month share, in letters."""
MIN_SIMILARITY = 0.82
"""Minimum Ratcliff-Obershelp similarity of forms of a currency: *euros*, but not *Europe*."""
DURATION_PREFIX = "duration-"
"""Prefix of units that are skipped, because texts paraphrase them: *2 weeks* are a fortnight."""

MAX_SPELLED_NUMBER = 10**12
"""Larger numbers are not searched in words."""
SMALL = range(1, 100)
"""Numbers whose words may begin longer ones, such as *six* in *sixty*."""
ROMAN = {1000: "M", 900: "CM", 500: "D", 400: "CD", 100: "C", 90: "XC", 50: "L", 40: "XL", 10: "X"}
ROMAN |= {9: "IX", 5: "V", 4: "IV", 1: "I"}
SINGLE_LETTERS = {"", "C", "D", "L", "M"}
"""Numerals that may be initials, and the empty one; these are not searched."""

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_NUMBERS = regex.compile(r"[\d#.,]+")
_GAP = regex.compile(r"[\s\-\N{SOFT HYPHEN}]+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hira}\p{Kana}\p{Thai}\p{Lao}\p{Khmer}\p{Arabic}\p{Hebrew}]")
"""Letters of scripts in which words may follow each other without a space."""


class Conventions(NamedTuple):
    """The conventions of one language."""

    decimal: str
    """The decimal separator."""
    group: str
    """The separator of groups of digits."""
    currency: str
    """Pattern of an amount: ``¤`` for the currency and ``#`` for the number."""
    percent: str
    """Pattern of a percentage: ``¤`` for the percent sign and ``#`` for the number."""
    scales: Mapping[str, int]
    """Powers of ten by scale words such as *million*, in lower case."""
    months: tuple[str, ...]
    """Prefixes of the names of the twelve months, in lower case."""

    def read_scale(self, word: str) -> int:
        """Return the power of ten of a scale word in any form; 0 for another word."""
        folded = word.casefold()
        while folded not in self.scales and len(folded) > MAX_ABBREVIATION:
            folded = folded[:-1]
        return self.scales.get(folded, 0)


@lru_cache(maxsize=64)
def load_conventions(language: str) -> Conventions:
    """Return the conventions of a language, and of its region if the code has one."""
    locale = find_locale(language)
    symbols = locale.number_symbols.get("latn") or Locale.parse(FALLBACK).number_symbols["latn"]
    return Conventions(
        decimal=symbols["decimal"],
        group=symbols["group"],
        currency=_read_pattern(locale.currency_formats["standard"].pattern, "¤"),
        percent=_read_pattern(locale.percent_formats[None].pattern, "%"),
        scales=_read_scales(locale),
        months=tuple(
            name.casefold()[:PREFIX_LETTERS] for name in locale.months["format"]["wide"].values()
        ),
    )


def find_locale(language: str) -> Locale:
    """Return the CLDR locale of the longest known part of a code, or that of ``FALLBACK``."""
    while language:
        try:
            return Locale.parse(language, sep="-")
        except (UnknownLocaleError, ValueError):
            language = language.rpartition("-")[0]
    return Locale.parse(FALLBACK)


def _read_pattern(pattern: str, sign: str) -> str:
    """Return a simple pattern such as ``# ¤`` from one of CLDR such as ``#,##0.00 ¤``."""
    positive = pattern.partition(";")[0].replace("\N{RIGHT-TO-LEFT MARK}", "")
    return _NUMBERS.sub("#", positive.replace(sign, "¤"), count=1)


def _read_scales(locale: Locale) -> dict[str, int]:
    """Return scale words, such as *million*, with their powers of ten."""
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
    """Return the units that a text next to a number may mean; empty if it is not a unit."""
    forms, _ = load_units(language)
    sign = next((sign for sign in text if unicodedata.category(sign) == "Sc"), text)
    for form in (text, sign, text.rpartition("-")[2]):
        if units := forms.get(fold_unit(form)):
            return units
    return set()


def mentions_unit(text: str, unit: str, languages: tuple[str, str]) -> bool:
    """Return whether a text has a unit, as a sign, a code or a name in any form.

    Args:
        text: text in the second language.
        unit: the unit in either language.
        languages: codes of both languages.
    """
    candidates = look_up_units(unit, languages[0]) | look_up_units(unit, languages[1])
    words = {fold_unit(word) for word in _WORD.findall(text)}
    _, names = load_units(languages[1])
    if unit in text or any(
        form in (words if form.isalpha() and len(form) <= MAX_SIGN else text)
        for form in _list_forms(frozenset(candidates), languages[1])
    ):
        return True
    is_currency = any(map(str.isupper, candidates))
    return any(
        name[0] == word[0] and SequenceMatcher(None, name, word).ratio() > MIN_SIMILARITY
        if is_currency
        else name[:PREFIX_LETTERS] == word[:PREFIX_LETTERS]  # "kilos" and "kilogram"
        for name in {name for each in candidates for name in names.get(each, ())}
        for word in words
    )


@lru_cache(maxsize=1000)
def _list_forms(units: frozenset[str], language: str) -> list[str]:
    """Return all forms of some units in a language."""
    return [form for form, meanings in load_units(language)[0].items() if units & meanings]


@lru_cache(maxsize=16)
def load_units(language: str) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return units and currencies by name, sign and code, and the long words of their names."""
    forms: dict[str, set[str]] = defaultdict(set)
    names: dict[str, set[str]] = defaultdict(set)
    locale = find_locale(language)
    for unit, form in (*_list_units(locale), *_list_currencies(locale)):
        forms[fold_unit(form)].add(unit)
        names[unit] |= {word.casefold() for word in _WORD.findall(form) if len(word) > MAX_SIGN}
    forms.pop("", None)
    return dict(forms), dict(names)


def _list_units(locale: Locale) -> Iterator[tuple[str, str]]:
    """Yield units with their names and signs, without units of time."""
    for unit, lengths in locale._data["unit_patterns"].items():  # noqa: SLF001 - no other access
        for patterns in lengths.values() if not unit.startswith(DURATION_PREFIX) else ():
            for text in patterns.values() if isinstance(patterns, Mapping) else ():
                if isinstance(text, str) and "{0}" in text:
                    yield unit.partition("-")[2], text.replace("{0}", "")


def _list_currencies(locale: Locale) -> Iterator[tuple[str, str]]:
    """Yield currencies with their codes, signs, and the first and last word of their names.

    Names such as *new shekel* are skipped, because *new* would be one of these words.
    """
    for code in list_currencies():
        yield code, code
        yield code, get_currency_symbol(code, locale)
        yield code, get_currency_symbol(code, FALLBACK)
        is_new = "New" in get_currency_name(code, locale=FALLBACK)
        for count in () if is_new else (1, 2):
            words = _WORD.findall(get_currency_name(code, count, locale))
            yield from ((code, word) for word in {*words[:1], *words[-1:]} if len(word) > MAX_SIGN)


def fold_unit(text: str) -> str:
    """Return a unit for comparison: *m2* for *m²*, without spaces and dots, names in lower case.

    Signs keep their case, which distinguishes *nm* and *nM*.
    """
    folded = "".join(unicodedata.normalize("NFKC", text).replace(".", "").split())
    return folded.casefold() if len(folded) > MAX_SIGN else folded


def spells_number(line: str, value: Decimal, language: str) -> bool:
    """Return whether a line has an integer in words or Roman numerals, regardless of its sign."""
    whole = int(abs(value))
    if whole > MAX_SPELLED_NUMBER or whole != abs(value):
        return False
    lower = line.lower()
    return any(
        parts[0] in lower and _has_words(parts, lower, language)
        for parts in split_spellings(whole, language)
    ) or _has_numeral(line, whole)


def _has_words(parts: tuple[str, ...], lower: str, language: str) -> bool:
    """Return whether a text has the words of a number, inflected or not, and not of another one."""
    others = list_small_words(language) - {"".join(parts)}
    return any(
        match[0] not in others and match["last"] not in others - {parts[-1]}
        for match in _compile(parts).finditer(lower)
    )


@lru_cache(maxsize=10_000)
def _compile(parts: tuple[str, ...]) -> regex.Pattern[str]:
    """Return a pattern of words with spaces, hyphens, *and* or nothing between them."""
    *first, last = map(regex.escape, parts)
    words = "".join(rf"{word}[ \-]?(?:\p{{L}}{{1,3}} )?" for word in first)
    if _UNSPACED.search(parts[0]):
        return regex.compile(rf"{words}(?<last>{last})")
    return regex.compile(rf"(?<!\p{{L}}){words}(?<last>{last}\p{{L}}{{0,3}})(?!\p{{L}})")


@lru_cache(maxsize=10_000)
def split_spellings(value: int, language: str) -> frozenset[tuple[str, ...]]:
    """Return the spellings of an integer in lower case; *one hundred* also without *one*."""
    ones = {*_list_words(1, language)} if value > 1 else set()
    words = {*_list_words(value, language)}
    words |= {short for full in words for one in ones if (short := full.removeprefix(one)) != full}
    return frozenset(tuple(filter(None, _GAP.split(word))) for word in words) - {()}


@lru_cache(maxsize=16)
def list_small_words(language: str) -> frozenset[str]:
    """Return the numbers below a hundred in words, without spaces and hyphens."""
    return frozenset(_GAP.sub("", word) for value in SMALL for word in _list_words(value, language))


def _list_words(value: int, language: str) -> Iterator[str]:
    """Yield a number in words by all rules of a language, in lower case."""
    from unicode_rbnf import FormatPurpose  # takes 0.2 s, and is rarely needed
    from unicode_rbnf.engine import RbnfError

    rules = load_rules(language)
    for purpose in (FormatPurpose.CARDINAL, FormatPurpose.ORDINAL, FormatPurpose.YEAR):
        try:
            texts = rules.format_number(value, purpose).text_by_ruleset if rules else {}
        except (ValueError, RbnfError):  # the language has no rule for this purpose or number
            continue
        yield from (
            text.lower() for text in texts.values() if text and not regex.search(r"\d", text)
        )


@lru_cache(maxsize=16)
def load_rules(language: str) -> Any | None:
    """Return the rules for numbers in words of a language; None if CLDR has none."""
    from unicode_rbnf import RbnfEngine

    names = (language.replace("-", "_"), language.partition("-")[0])
    name = next((name for name in names if name in RbnfEngine.get_supported_languages()), None)
    return RbnfEngine.for_language(name) if name else None


def _has_numeral(line: str, value: int) -> bool:
    """Return whether a line has a Roman numeral up to 3999 that is not part of a word."""
    numeral = ""
    for size, letters in ROMAN.items() if value < 4 * max(ROMAN) else ():
        numeral += letters * (value // size)
        value %= size
    if numeral in SINGLE_LETTERS or numeral not in line:
        return False
    return regex.search(rf"(?<!\p{{L}}){numeral}\p{{Ll}}{{0,3}}(?!\p{{L}})", line) is not None

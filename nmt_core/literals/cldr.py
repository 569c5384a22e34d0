"""Forms of numbers, currencies, units and dates in each language, from CLDR (by Babel)."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

import regex
from babel import Locale, UnknownLocaleError
from babel.numbers import get_currency_name, get_currency_symbol, list_currencies

FALLBACK = "en"
"""Language whose conventions stand in for those of a language that CLDR does not know."""
LONGEST_ABBREVIATION = 4
"""Letters of a word of scale up to which it has no endings."""
SHORT = 3
"""Letters of a sign, which has no other forms, such as *km*."""
ALIKE = 0.82
"""Ratio of Ratcliff and Obershelp of forms of a name: *metre*, *meters*; not *euro*, *Europe*."""
BEGINNING = 3
"""Letters by which the name of a month or unit is known."""
NEW = "New"
PERCENT = frozenset({"percent"})
DURATIONS = "duration-"
"""Units that texts put in other words: *2 weeks* are a fortnight."""

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_NUMBERS = regex.compile(r"[\d#.,]+")


@dataclass(frozen=True)
class Conventions:
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
    units: Mapping[str, frozenset[str]]
    """Units by what may stand beside a number, see :func:`fold_unit`."""
    names: Mapping[str, frozenset[str]]
    """The words of the names of units, in lower case."""
    months: tuple[str, ...]
    """Beginnings of the names of the twelve months, in lower case."""

    def read_scale(self, word: str) -> int:
        """Return the power of ten that a word of scale stands for; 0 for another word."""
        folded = word.casefold()
        while folded not in self.scales and len(folded) > LONGEST_ABBREVIATION:
            folded = folded[:-1]
        return self.scales.get(folded, 0)

    def find_units(self, text: str) -> frozenset[str]:
        """Return the units that a text beside a number may mean; none if it is not a unit."""
        sign = next((one for one in text if unicodedata.category(one) == "Sc"), text)
        for form in (text, sign, text.rpartition("-")[2]):
            if units := self.units.get(fold_unit(form)):
                return units
        return frozenset()

    def names_unit(self, text: str, units: frozenset[str]) -> bool:
        """Tell whether a text has one of some units, as a sign or in words of any ending."""
        forms = [form for form, meant in self.units.items() if meant & units]
        words = {fold_unit(word) for word in _WORD.findall(text)}
        names = {name for one in units for name in self.names.get(one, ())}
        is_like = is_like_currency if any(map(str.isupper, units)) else is_like_unit
        return any(
            form in (words if form.isalpha() and len(form) <= SHORT else text) for form in forms
        ) or any(is_like(name, word) for name in names for word in words)


def is_like_unit(name: str, word: str) -> bool:
    """Tell whether a word may be another form of the name of a unit, as *kilos* of *kilogram*."""
    return name[:BEGINNING] == word[:BEGINNING]


def is_like_currency(name: str, word: str) -> bool:
    """Tell whether a word is another form of the name of a currency: *euros*, and not *Europe*."""
    return name[0] == word[0] and SequenceMatcher(None, name, word).ratio() > ALIKE


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
        units=_read_units(locale),
        names=_read_names(locale),
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


def _read_units(locale: Locale) -> dict[str, frozenset[str]]:
    forms: dict[str, set[str]] = defaultdict(set)
    for unit, form in (*_list_units(locale), *_list_currencies(locale)):
        if folded := fold_unit(form):
            forms[folded].add(unit)
    return {form: frozenset(units) for form, units in forms.items()}


def _list_units(locale: Locale) -> Iterator[tuple[str, str]]:
    """Yield units with their names and signs, but for those of time."""
    for unit, lengths in locale._data["unit_patterns"].items():  # noqa: SLF001 - no other access
        if unit.startswith(DURATIONS):
            continue
        name = unit.partition("-")[2]
        for patterns in lengths.values():
            texts = patterns.values() if isinstance(patterns, Mapping) else ()
            for text in texts:
                if isinstance(text, str) and "{0}" in text:
                    yield name, text.replace("{0}", "")


def _read_names(locale: Locale) -> dict[str, frozenset[str]]:
    """Return the long words of the names of each unit and currency."""
    names: dict[str, set[str]] = defaultdict(set)
    for unit, form in (*_list_units(locale), *_list_currencies(locale)):
        names[unit] |= {word.casefold() for word in _WORD.findall(form) if len(word) > SHORT}
    return {unit: frozenset(words) for unit, words in names.items()}


def _list_currencies(locale: Locale) -> Iterator[tuple[str, str]]:
    """Yield currencies with their codes, signs, and the first and last words of their names.

    Of names such as *new shekel* no word is taken, since *new* would be one.
    """
    for code in list_currencies(locale):
        yield code, code
        yield code, get_currency_symbol(code, locale)
        yield code, get_currency_symbol(code, FALLBACK)
        is_new = NEW in get_currency_name(code, locale=FALLBACK)
        for count in () if is_new else (1, 2):
            words = _WORD.findall(get_currency_name(code, count, locale))
            yield from ((code, word) for word in {*words[:1], *words[-1:]} if len(word) > SHORT)


def fold_unit(text: str) -> str:
    """Return a unit as it is compared: *m²* as *m2*, without spaces and dots, names in lower case.

    Case parts signs: *nm* from *nM*.
    """
    folded = "".join(unicodedata.normalize("NFKC", text).replace(".", "").split())
    return folded.casefold() if len(folded) > SHORT else folded

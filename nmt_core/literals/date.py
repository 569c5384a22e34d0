"""Dates and times of day in digits."""

from collections.abc import Hashable, Iterator

import regex
from typing_extensions import override

from nmt_core.literals.kind import LiteralKind, LiteralSpan
from nmt_core.literals.number import DIGIT, to_ascii

_ALONE, _END = r"(?<![\p{L}\p{Nd}.,/:\-])", r"(?![\p{L}\p{Nd}]|[.,/:\-]\p{Nd})"

_DATE = regex.compile(
    rf"{_ALONE}(?:\p{{Nd}}{{4}}-\p{{Nd}}{{1,2}}-\p{{Nd}}{{1,2}}"
    rf"|\p{{Nd}}{{1,2}}([./-])\p{{Nd}}{{1,2}}\1(?:\p{{Nd}}{{4}}|\p{{Nd}}{{2}})){_END}"
)

_AFTERNOON = r"[ap](?:\.m\.|m\b)"
_TIME = regex.compile(
    rf"{_ALONE}(?<hour>\p{{Nd}}{{1,2}})"
    rf"(?:(?::|[.](?=\p{{Nd}}{{2}}\s?(?:Uhr|h\b|{_AFTERNOON}))|\p{{Zs}}?(?:h|Uhr)\p{{Zs}}?(?=\p{{Nd}}{{2}}))"
    rf"(?<minute>\p{{Nd}}{{2}})(?::(?<second>\p{{Nd}}{{2}}))?|(?=\s?(?:Uhr\b|{_AFTERNOON})))"
    rf"(?!\p{{Nd}})"
)
_LETTER = regex.compile(r"\p{Nd}+\p{Zs}?h")
WITHOUT_LETTER = frozenset({"de", "en"})
"""Languages that write no times of day as *9h30*."""

NOON, DAY, HOUR, SIXTY = 12 * 60, 24, 60, 60
YEAR_DIGITS = 4


class Date(LiteralKind):
    """Days written in three numbers; which is the month may differ by language."""

    name = "date"
    symbol_class = "number"
    is_masked_first = False

    @override
    def find(self, line: str, language: str) -> Iterator[LiteralSpan]:
        del language
        for match in _DATE.finditer(line) if DIGIT.search(line) else ():
            if is_day(*split_date(match[0])):
                yield LiteralSpan(*match.span())

    @override
    def read(self, text: str, language: str) -> Hashable:
        del language
        year, *day = split_date(text)
        return ("date", year % 100, *sorted(day))


def split_date(text: str) -> list[int]:
    """Return the numbers of a date, the year first."""
    first, *others = regex.findall(r"\d+", to_ascii(text))
    numbers = [int(first), *map(int, others)]
    return numbers if len(first) == YEAR_DIGITS else [numbers[2], *numbers[:2]]


def is_day(year: int, first: int, second: int) -> bool:
    """Tell whether numbers are a day, whichever is the month."""
    del year
    months, days = 12, 31
    return 1 <= min(first, second) <= months and 1 <= max(first, second) <= days


class TimeOfDay(LiteralKind):
    """Times of day; those of twelve hours equal those of twenty-four."""

    name = "time"
    symbol_class = "number"
    is_masked_first = False

    @override
    def find(self, line: str, language: str) -> Iterator[LiteralSpan]:
        del language
        for match in _TIME.finditer(line) if DIGIT.search(line) else ():
            parts = [int(to_ascii(part or "0")) for part in match.group("hour", "minute", "second")]
            if parts[0] <= DAY and max(parts[1:]) < SIXTY:
                yield LiteralSpan(*match.span())

    @override
    def read(self, text: str, language: str) -> Hashable:
        del language
        hour, minute, second = self._split(text)
        return ("time", (hour * HOUR + minute) % NOON, second)

    @override
    def is_form_of(self, text: str, language: str) -> bool:
        return language.partition("-")[0] not in WITHOUT_LETTER or not _LETTER.match(text)

    @override
    def write(self, text: str, source: str, target: str) -> str:
        parts = regex.findall(r"\d+", to_ascii(text))
        return text if source == target else ":".join(parts)

    def _split(self, text: str) -> list[int]:
        parts = [int(part) for part in regex.findall(r"\d+", to_ascii(text))]
        return [*parts, 0, 0][:3]

"""Dates and times of day in digits: what they mean in any form."""

from collections.abc import Hashable, Iterator
from decimal import Decimal

import regex

from nmt_core.literals.number import SPACES, to_ascii

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
    """Return the year of a date, by its last two digits, and its day and month in any order.

    None if it is not a date.
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    numbers = [int(run) for run in regex.findall(r"\d+", to_ascii(text))]
    year, *others = numbers if match[1] else [numbers[2], *numbers[:2]]
    low, high = sorted(others)
    return (year % 100, frozenset(others)) if 1 <= low <= MONTHS and high <= DAYS else None


def list_days(text: str) -> Iterator[tuple[int, int]]:
    """Yield the days and months that a date may mean, with its year or without."""
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
    """Yield the times of day that *14:20*, *14.20*, *14h20* or an hour may mean.

    A full hour is also a number; *p.m.* behind it makes it later by twelve hours.
    """
    match, half = _TIME.fullmatch(text), _HALF_OF_DAY.match(behind)
    if match is None and (half is None or not text.isdecimal()):
        return
    hour, minute, second = int(text) if match is None else int(match[1]), 0, 0
    if match:
        minute, second = int(match[3]), int(match[4] or 0)
    if hour > HOURS or minute >= SIXTY or second >= SIXTY:
        return
    later = hour if half is None else hour % NOON + NOON * (half[1] in "pP")
    for moved in {hour, later}:
        yield "time", moved % HOURS, minute, second
        if not minute and not second:
            yield Decimal(moved).normalize()


def is_time(text: str) -> bool:
    """Tell whether a text is a time of day, and no number."""
    match = _TIME.fullmatch(text)
    return match is not None and match[2] != "." and any(read_times(text))


def write_time(text: str) -> str:
    """Return a time of day with colons, as every language reads it."""
    return ":".join(regex.findall(r"\p{Nd}+", text))

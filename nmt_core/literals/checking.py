"""Check that a translation has the literals of its source, and no others.

One rule serves both directions: a line *says* a literal of the other if it has one of the same
meaning that stands for no other, or says it in words.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Literal as OneOf
from typing import NamedTuple

import regex

from nmt_core.literals.cldr import load_conventions, names_unit, spells
from nmt_core.literals.finding import (
    Literal,
    LiteralFinder,
    LiteralKind,
    find_extent,
    find_literals,
)
from nmt_core.literals.masking import write_literal
from nmt_core.literals.number import (
    LONE_SIGN,
    list_days,
    list_joined,
    read_date,
    read_number,
    read_times,
    shorten_year,
)

SHORT_YEAR = 2
"""Digits of a year without its century."""
NEAR = 24
"""Characters around a number in which its unit may be a word."""

_GAPS = regex.compile(r"[\s\p{Cf}\-–—‐‑]")
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_COUNTED = regex.compile(r" (?:\p{Lu}\p{L}|\p{L}{4})")
"""Words behind a 1 that it may count, so that an article says it; short ones are none, as *of*."""
_NUMBERED = regex.compile(r"(?:\p{Lu}\p{L}{3,}|[.:\[]) ?$")
"""Words and signs before a number that it may number, as in *Article 1*."""
_PARTED = regex.compile(r"[\s,;]*")
"""The text between two numbers that no longer form a range."""


@dataclass(frozen=True)
class MeasuredLine:
    """A line of a language with its literals."""

    text: str
    language: str
    literals: Sequence[Literal]

    @cached_property
    def scales(self) -> frozenset[int]:
        """The powers of ten of its words of scale."""
        read_scale = load_conventions(self.language).read_scale
        return frozenset(filter(None, map(read_scale, _WORD.findall(self.text))))

    def name(self, literal: Literal) -> str:
        """Return a literal as a breach names it, with its unit and word of scale."""
        start, end = find_extent(literal)
        return self.text[start:end]

    def read(self, literal: Literal) -> Iterator[Hashable]:
        """Yield what one of its literals may mean; literals that share a meaning say the same."""
        match literal.kind:
            case LiteralKind.VERBATIM:
                yield fold_name(literal.text)
            case LiteralKind.TERM:
                yield from literal.forms
            case _:
                if date := read_date(literal.text):
                    yield "date", *date
                yield from read_times(literal.text, self.text[literal.end :])
                yield from self._read_number(literal)

    def _read_number(self, literal: Literal) -> Iterator[Hashable]:
        if not literal.scale:
            yield literal.text
        value = read_number(literal.text, self.language)
        if isinstance(value, Decimal):
            yield value.scaleb(literal.scale).normalize()
        elif value is None and literal.kind is LiteralKind.NUMBER:
            parts = list_joined(literal.text)
            yield "joined", *(shorten_year(read_number(part, self.language)) for part in parts)

    def read_loosely(self, literal: Literal, other: "MeasuredLine") -> Iterator[Hashable]:
        """Yield what a number may mean if a word of scale elsewhere is its own, or a year is short.

        A word of scale right behind it may only stand elsewhere in the other line, not nowhere.
        """
        value = read_number(literal.text, self.language)
        if literal.kind is not LiteralKind.NUMBER or not isinstance(value, Decimal):
            return
        if shorten_year(value) != value or len(literal.text) == SHORT_YEAR:
            yield "year", shorten_year(value)
        letter = self.text[literal.end : literal.end + 1].casefold()
        scales = {*self.scales, load_conventions(self.language).scales.get(letter, 0)}
        if not literal.scale or literal.scale in other.scales:
            yield from (value.scaleb(power).normalize() for power in {0, *scales})

    def has_unit(self, unit: str, language: str, near: Literal | None = None) -> bool:
        """Tell whether a unit of another line's language stands in the line, or near a number.

        One sign may serve several numbers, as in *3 to 5%*.
        """
        text = self.text[max(0, near.start - NEAR) : near.end + NEAR] if near else self.text
        beside = " ".join(literal.unit for literal in self.literals)
        return names_unit(f"{text} {beside}", unit, (language, self.language))

    def says(self, literal: Literal, other: "MeasuredLine") -> bool:
        """Tell whether the line says a literal of another: in words, or within its own literals."""
        if literal.kind is LiteralKind.TERM:
            return False
        if literal.kind is LiteralKind.VERBATIM:
            count = sum(one.text == literal.text for one in other.literals)
            if len(match_name(literal.text).findall(self.text)) >= count:
                return True
            if not LONE_SIGN.fullmatch(literal.text):
                return False
            return self.has_unit(literal.text, other.language)
        return (
            any(self._says_day(*day) for day in list_days(literal.text))
            or self._says_numbers(literal, other)
            or any(
                match_name(literal.text).search(one.text)
                for one in self.literals
                if one.kind is LiteralKind.VERBATIM
            )
        )

    def _says_numbers(self, literal: Literal, other: "MeasuredLine") -> bool:
        """Tell whether the line says a number of another in words, or those of a range in order."""
        values = [read_number(part, other.language) for part in list_joined(literal.text)]
        if len(values) > 1:
            return self._says_in_order(values)
        value = values[0]
        if not isinstance(value, Decimal):
            return False
        meant = {value.scaleb(literal.scale)}
        if not literal.scale or literal.scale in self.scales:
            meant.add(value)
            short = shorten_year(value)  # of a decade, as "the eighties" say 1980
            if isinstance(short, Decimal) and short and short % 10 == 0:
                meant.add(short)
        may_be_article = value == 1 and not literal.unit and _COUNTED.match(other.text, literal.end)
        inner = {  # of numbers within names, dates and ranges
            read_number(run, self.language)
            for one in self.literals
            if read_number(one.text, self.language) is None
            for run in regex.findall(r"\p{Nd}+", one.text)
        }
        return (
            (may_be_article and not _NUMBERED.search(other.text[: literal.start]))
            or value in inner
            or any(spells(self.text, each, self.language) for each in meant)
        )

    def _says_day(self, day: int, month: int) -> bool:
        """Tell whether the line has a day in digits or words and a month by its name."""
        numbers = {
            read_number(part, self.language)
            for literal in self.literals
            for part in (literal.text, *list_joined(literal.text))
        }
        name = load_conventions(self.language).months[month - 1]
        return name in self.text.casefold() and (
            Decimal(day) in numbers or spells(self.text, Decimal(day), self.language)
        )

    def _says_in_order(self, values: Sequence[Hashable]) -> bool:
        """Tell whether numbers stand in the line in order, with more than a space between them."""
        end = -1
        wanted = [*values]
        for literal in self.literals:
            if wanted and wanted[0] == read_number(literal.text, self.language):
                if end >= 0 and _PARTED.fullmatch(self.text, end, literal.start):
                    return False
                del wanted[0]
                end = literal.end
        return not wanted


@lru_cache(maxsize=1000)
def match_name(text: str) -> regex.Pattern[str]:
    """Return what finds a name in a line, whether or not spaces and hyphens part its signs."""
    begin = r"(?<![\p{L}\p{Nd}])" if text[0].isalnum() else ""
    end = r"(?![\p{L}\p{Nd}])" if text[-1].isalnum() else ""
    signs = rf"{_GAPS.pattern}*".join(map(regex.escape, fold_name(text)))
    return regex.compile(f"{begin}{signs}{end}")


def fold_name(text: str) -> str:
    """Return a name as it is compared: without spaces and hyphens, so that *A-4* equals *A 4*."""
    return _GAPS.sub("", text) or text


def read_worth(literal: Literal, language: str) -> Hashable:
    """Return what a literal of a training pair is worth; equal ones stand for each other."""
    if literal.kind is LiteralKind.NUMBER:
        return read_number(literal.text, language) or literal.text
    return literal.text


Problem = OneOf[
    "missing", "unit", "placed", "added", "repeated", "looping", "empty", "too long", "copied"
]
"""The translation lacks a literal, or its unit; has one whose place is a guess; adds one; repeats a
term; or all of it loops, is empty, was cut off, or is its source."""

MOST = 20
"""Literals of a line that are looked for in words, which bounds the time that it takes."""


class Breach(NamedTuple):
    """A literal that did not come through a translation, or a flaw of all of it."""

    kind: str
    """The kind of the literal; ``sentence`` for a flaw of all."""
    text: str
    """The literal as the source has it, or as the translation has an added one; repeated words."""
    expected: str
    """The literal as the translation should have it; nothing if it should not be there."""
    problem: Problem


def check_literals(
    source: str,
    translation: str,
    languages: tuple[str, str],
    terms: Sequence[LiteralFinder] = (),
    *,
    found: Sequence[Literal] | None = None,
) -> list[Breach]:
    """Return the breaches of the literals of a translation, those of the source first.

    ``terms`` find those of glossaries; ``found`` are the literals of the source, if known.
    """
    wanted = find_literals(source, languages[0], terms) if found is None else found
    there = find_literals(translation, languages[1], terms)
    if not wanted and not there:
        return []
    line = MeasuredLine(source, languages[0], wanted)
    other = MeasuredLine(translation, languages[1], there)
    breaches = [
        Breach(literal.kind, line.name(literal), write_literal(literal, source, languages), why)
        for literal, why in find_unsaid(line, other)
    ]
    forms = {form for literal in wanted for form in literal.forms}
    for literal, why in find_unsaid(other, line):
        is_term = literal.kind is LiteralKind.TERM
        if why == "missing" and (not is_term or forms & {*literal.forms}):
            problem: Problem = "repeated" if is_term else "added"
            breaches.append(Breach(literal.kind, other.name(literal), "", problem))
    return breaches


def find_unsaid(
    line: MeasuredLine, other: MeasuredLine
) -> Iterator[tuple[Literal, OneOf["missing", "unit"]]]:
    """Yield the literals of a line that another does not say, or says without their unit."""
    free = [(one, {*other.read(one)}) for one in other.literals]
    unread: list[Literal] = []
    for literal in line.literals:
        values = {*line.read(literal)}
        at = next((at for at, (_, said) in enumerate(free) if values & said), None)
        if at is None:
            unread.append(literal)
            continue
        same, _ = free.pop(at)
        if literal.unit and not other.has_unit(literal.unit, line.language, same):
            yield literal, "unit"
    loosely = [{*said, *other.read_loosely(one, line)} for one, said in free] if unread else []
    for number, literal in enumerate(unread):
        loose = {*line.read_loosely(literal, other)}
        at = next((at for at, said in enumerate(loosely) if loose & said), None)
        if at is not None:
            del loosely[at]
        elif number >= MOST or not other.says(literal, line):
            yield literal, "missing"

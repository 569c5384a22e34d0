"""Check that a translation has the literals of its source, and no others, and find its loops.

The rule is the same in both directions: a line *expresses* a literal of the other line if it has
its own literal with the same meaning, or has it in words. A literal expresses at most one other.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Literal as OneOf
from typing import NamedTuple

import regex

from nmt_core.literals.cldr import load_conventions, mentions_unit, spells_number
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

SHORT_YEAR_DIGITS = 2
"""Digits of a year without its century."""
UNIT_DISTANCE = 24
"""Maximum distance of a unit in words from its number, in characters."""

_GAPS = regex.compile(r"[\s\p{Cf}\-–—‐‑]")
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_COUNTED = regex.compile(r" (?:\p{Lu}\p{L}|\p{L}{4})")
"""A word after a 1 that it may count, so that an article expresses the 1; not *of* and the like."""
_NUMBERED = regex.compile(r"(?:(?<!\p{L})\p{Lu}\p{L}{3,}|[.:\[]) ?$")
"""Text before a number that identifies something, as in *Article 1*."""
_SEPARATED = regex.compile(r"[\s,;]*")
"""Text between two numbers that do not form a range."""


@dataclass(frozen=True)
class AnalyzedLine:
    """A line in a language with its literals."""

    text: str
    language: str
    literals: Sequence[Literal]

    @cached_property
    def scales(self) -> frozenset[int]:
        """The powers of ten of scale words such as *million* in the line."""
        read_scale = load_conventions(self.language).read_scale
        return frozenset(filter(None, map(read_scale, _WORD.findall(self.text))))

    def name(self, literal: Literal) -> str:
        """Return the text of a literal for a breach, with the sign of its unit."""
        return self.text[slice(*find_extent(literal))]

    @cached_property
    def meanings(self) -> list[set[Hashable]]:
        """The possible meanings of each literal; literals with a common meaning match."""
        return [{*self._read(literal)} for literal in self.literals]

    def _read(self, literal: Literal) -> Iterator[Hashable]:
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

    def read_loosely(self, literal: Literal, other: "AnalyzedLine") -> Iterator[Hashable]:
        """Yield meanings of a number with a scale word elsewhere in the line, or as a short year.

        The scale of a number with its own scale word may only be ignored if the other line has this
        word somewhere.
        """
        value = read_number(literal.text, self.language)
        if literal.kind is not LiteralKind.NUMBER or not isinstance(value, Decimal):
            return
        if shorten_year(value) != value or len(literal.text) == SHORT_YEAR_DIGITS:
            yield "year", shorten_year(value)
        letter = self.text[literal.end : literal.end + 1].casefold()
        scales = {*self.scales, load_conventions(self.language).scales.get(letter, 0)}
        if not literal.scale or literal.scale in other.scales:
            yield from (value.scaleb(power).normalize() for power in {0, *scales})

    def has_unit(self, unit: str, language: str, near: Literal | None = None) -> bool:
        """Return whether the line has a unit of another language, optionally near a number.

        Units of all literals count, because one sign may belong to several numbers: *3 to 5%*.
        """
        start, end = (near.start, near.end) if near else (0, len(self.text))
        text = self.text[max(0, start - UNIT_DISTANCE) : end + UNIT_DISTANCE]
        units = " ".join(literal.unit for literal in self.literals)
        return mentions_unit(f"{text} {units}", unit, (language, self.language))

    def expresses(self, literal: Literal, other: "AnalyzedLine") -> bool:
        """Return whether the line has a literal of another in words or within its own literals."""
        if literal.kind is LiteralKind.TERM:
            return False
        if literal.kind is LiteralKind.VERBATIM:
            count = sum(each.text == literal.text for each in other.literals)
            if len(match_name(literal.text).findall(self.text)) >= count:
                return True
            if not LONE_SIGN.fullmatch(literal.text):
                return False
            return self.has_unit(literal.text, other.language)
        return (
            any(self._expresses_day(*day) for day in list_days(literal.text))
            or self._expresses_numbers(literal, other)
            or any(
                match_name(literal.text).search(each.text)
                for each in self.literals
                if each.kind is LiteralKind.VERBATIM
            )
        )

    def _expresses_numbers(self, literal: Literal, other: "AnalyzedLine") -> bool:
        """Return whether the line has a number in words, or the numbers of a range in order."""
        values = [read_number(part, other.language) for part in list_joined(literal.text)]
        if len(values) > 1:
            return self._has_in_order(values)
        value = values[0]
        if not isinstance(value, Decimal):
            return False
        candidates = {value.scaleb(literal.scale)}
        if not literal.scale or literal.scale in self.scales:
            candidates.add(value)
            short = shorten_year(value)  # "the eighties" express 1980
            if isinstance(short, Decimal) and short and short % 10 == 0:
                candidates.add(short)
        may_be_article = value == 1 and not literal.unit and _COUNTED.match(other.text, literal.end)
        inner = {  # numbers within names, dates and ranges
            read_number(run, self.language)
            for each in self.literals
            if read_number(each.text, self.language) is None
            for run in regex.findall(r"\p{Nd}+", each.text)
        }
        return (
            (may_be_article and not _NUMBERED.search(other.text[: literal.start]))
            or value in inner
            or any(spells_number(self.text, each, self.language) for each in candidates)
        )

    def _expresses_day(self, day: int, month: int) -> bool:
        """Return whether the line has a day, in digits or words, and the name of a month."""
        numbers = {
            read_number(part, self.language)
            for literal in self.literals
            for part in (literal.text, *list_joined(literal.text))
        }
        name = load_conventions(self.language).months[month - 1]
        return name in self.text.casefold() and (
            Decimal(day) in numbers or spells_number(self.text, Decimal(day), self.language)
        )

    def _has_in_order(self, values: Sequence[Hashable]) -> bool:
        """Return whether the line has these numbers in order, with words or signs between them."""
        end = -1
        remaining = [*values]
        for literal in self.literals:
            if remaining and remaining[0] == read_number(literal.text, self.language):
                if end >= 0 and _SEPARATED.fullmatch(self.text, end, literal.start):
                    return False
                del remaining[0]
                end = literal.end
        return not remaining


@lru_cache(maxsize=1000)
def match_name(text: str) -> regex.Pattern[str]:
    """Return a pattern of a name that ignores spaces and hyphens between its characters."""
    begin = r"(?<![\p{L}\p{Nd}])" if text[0].isalnum() else ""
    end = r"(?![\p{L}\p{Nd}])" if text[-1].isalnum() else ""
    signs = rf"{_GAPS.pattern}*".join(map(regex.escape, fold_name(text)))
    return regex.compile(f"{begin}{signs}{end}")


def fold_name(text: str) -> str:
    """Return a name without spaces and hyphens for comparison: *A-4* equals *A 4*."""
    return _GAPS.sub("", text) or text


def read_literal_value(literal: Literal, language: str) -> Hashable:
    """Return the value of a literal of a training pair; literals of equal value correspond."""
    if literal.kind is LiteralKind.NUMBER:
        return read_number(literal.text, language) or literal.text
    return literal.text


Problem = OneOf[
    "missing", "unit", "placed", "added", "repeated", "looping", "empty", "too long", "copied",
    "already in the target language",
]  # fmt: skip
"""A literal or its unit is missing, its position is a guess, or it was added; a term is repeated;
or the whole translation loops, is empty, was truncated, or copies the source."""

MAX_WORD_SEARCHES = 20
"""Maximum number of literals of a line that are searched in words, to bound the time."""


class Breach(NamedTuple):
    """A literal that a translation does not preserve, or a problem of the whole translation."""

    kind: str
    """The kind of the literal; ``sentence`` for a problem of the whole translation."""
    text: str
    """The literal in the source, the added literal in the translation, or the repeated words."""
    expected: str
    """The expected literal in the translation; empty if the literal should not be there."""
    problem: Problem


def check_literals(
    source: str,
    translation: str,
    languages: tuple[str, str],
    terms: Sequence[LiteralFinder] = (),
    *,
    source_literals: Sequence[Literal] | None = None,
) -> list[Breach]:
    """Return the breaches of a translation: missing literals first, then added ones.

    ``terms`` find the terms of glossaries; ``source_literals`` avoid searching the source again.
    """
    if source_literals is None:
        source_literals = find_literals(source, languages[0], terms)
    target_literals = find_literals(translation, languages[1], terms)
    if not source_literals and not target_literals:
        return []
    line = AnalyzedLine(source, languages[0], source_literals)
    other = AnalyzedLine(translation, languages[1], target_literals)
    breaches = [
        Breach(literal.kind, line.name(literal), write_literal(literal, source, languages), reason)
        for literal, reason in find_missing(line, other)
    ]
    forms = {form for literal in source_literals for form in literal.forms}
    for literal, reason in find_missing(other, line):
        is_term = literal.kind is LiteralKind.TERM
        if reason == "missing" and (not is_term or forms & {*literal.forms}):
            problem: Problem = "repeated" if is_term else "added"
            breaches.append(Breach(literal.kind, other.name(literal), "", problem))
    return breaches


def find_missing(
    line: AnalyzedLine, other: AnalyzedLine
) -> Iterator[tuple[Literal, OneOf["missing", "unit"]]]:
    """Yield the literals of a line that another line does not express, or without their unit."""
    unmatched = [*zip(other.literals, other.meanings, strict=True)]
    remaining: list[Literal] = []
    for literal, meanings in zip(line.literals, line.meanings, strict=True):
        at = next((at for at, (_, others) in enumerate(unmatched) if meanings & others), None)
        if at is None:
            remaining.append(literal)
            continue
        match, _ = unmatched.pop(at)
        if literal.unit and not other.has_unit(literal.unit, line.language, match):
            yield literal, "unit"
    loose = [{*strict, *other.read_loosely(each, line)} for each, strict in unmatched if remaining]
    for number, literal in enumerate(remaining):
        meanings = {*line.read_loosely(literal, other)}
        at = next((at for at, others in enumerate(loose) if meanings & others), None)
        if at is not None:
            del loose[at]
        elif number >= MAX_WORD_SEARCHES or not other.expresses(literal, line):
            yield literal, "missing"


LOOP_WORDS = 4
"""Maximum number of words in a run whose repetition counts as a loop."""

LOOP_TIMES = 3
"""Minimum number of consecutive occurrences in a loop."""

LOOP_LETTERS = 8
"""Minimum length of a loop within a word, longer than "nenene" in "Sonnenenergie"."""

_REPEATED = regex.compile(r"([^\W\d_]{1,8}?)\1{2,}")
"""Letters that occur three times in a row."""


@lru_cache(maxsize=2**16)
def find_letter_loop(word: str) -> str:
    """Return the first loop of letters in a word, as in "Nineineine"; "" without a loop."""
    repetitions = (match[0] for match in _REPEATED.finditer(word.casefold()))
    return next((letters for letters in repetitions if len(letters) >= LOOP_LETTERS), "")


def find_loop(words: Sequence[str]) -> Sequence[str]:
    """Return the first run of words that occurs three times in a row; empty without a loop."""
    if len(words) - len({*words}) < LOOP_TIMES - 1:
        return ()
    for size in range(1, LOOP_WORDS + 1):
        equal = 0  # consecutive words that equal the word ``size`` positions later
        for place in range(len(words) - size):
            equal = equal + 1 if words[place] == words[place + size] else 0
            if equal == (LOOP_TIMES - 1) * size:
                first = place + 1 - equal
                return words[first : first + size]
    return ()

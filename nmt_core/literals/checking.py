"""Check that a translation has the literals of its source, and no others.

One rule serves both directions: a line *says* a literal of the other if it has one of the same
meaning that stands for no other, or says it in words.
"""

from collections.abc import Iterator, Sequence
from typing import Literal as OneOf
from typing import NamedTuple

from nmt_core.literals.finding import find_extent, find_literals
from nmt_core.literals.literal import Literal, LiteralFinder, LiteralKind
from nmt_core.literals.masking import write_literal
from nmt_core.literals.meaning import MeasuredLine

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
    """The kind of the literal; ``sentence`` for a flaw of all, ``quotation`` for odd marks."""
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
        Breach(
            literal.kind,
            name_literal(literal, line),
            write_literal(literal, source, languages),
            why,
        )
        for literal, why in find_unsaid(line, other)
    ]
    forms = {form for literal in wanted for form in literal.forms}
    for literal, why in find_unsaid(other, line):
        is_term = literal.kind is LiteralKind.TERM
        if why == "missing" and (not is_term or forms & {*literal.forms}):
            problem: Problem = "repeated" if is_term else "added"
            breaches.append(Breach(literal.kind, name_literal(literal, other), "", problem))
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
        elif literal.unit and not other.has_unit(free.pop(at)[0], literal.unit, line.language):
            yield literal, "unit"
        elif not literal.unit:
            del free[at]
    loosely = [{*said, *other.read_loosely(one, line)} for one, said in free] if unread else []
    for number, literal in enumerate(unread):
        loose = {*line.read_loosely(literal, other)}
        at = next((at for at, said in enumerate(loosely) if loose & said), None)
        if at is not None:
            del loosely[at]
        elif number >= MOST or not other.says(literal, line):
            yield literal, "missing"


def name_literal(literal: Literal, line: MeasuredLine) -> str:
    """Return a literal as a finding names it, with its unit and word of scale."""
    start, end = find_extent(literal)
    return line.text[start:end]

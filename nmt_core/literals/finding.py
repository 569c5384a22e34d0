"""Literals of a line, of all kinds."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

import regex

from nmt_core.literals.date import Date, TimeOfDay
from nmt_core.literals.kind import Literal, LiteralKind, LiteralSpan
from nmt_core.literals.names import (
    Code,
    Email,
    Emoji,
    Handle,
    JoinedNumbers,
    LoneSign,
    Path,
    Placeholder,
    PrivateUse,
    Telephone,
    WebAddress,
)
from nmt_core.literals.number import Number
from nmt_core.literals.references import REFERENCE

KINDS: tuple[LiteralKind, ...] = (
    Placeholder(),
    WebAddress(),
    Email(),
    Path(),
    Handle(),
    PrivateUse(),
    Emoji(),
    LoneSign(),
    Date(),
    TimeOfDay(),
    Telephone(),
    Code(),
    JoinedNumbers(),
    Number(),
)
"""Where two kinds find the same, the first one has it; kinds of a user's own come before these."""

_ORDINARY = regex.compile(r"(?:[\p{L}\p{M} ,;!?'\"()\-–—„“”‚‘’«»…]|\.(?!\w))*+")
"""Lines of letters and common punctuation, as most are, which hold no literal of KINDS."""


def find_literals(line: str, language: str, kinds: Sequence[LiteralKind] = KINDS) -> list[Literal]:
    """Return the literals of a line from left to right; none overlap.

    The number of a character, as in ``&#39;``, is none.

    Args:
        line: a line of text, normalised or not.
        language: code of its language, whose format its numbers have.
        kinds: what to look for.
    """
    if kinds == KINDS and _ORDINARY.fullmatch(line):
        return []
    found: list[tuple[LiteralSpan, LiteralKind]] = []
    for kind in kinds:
        if places := [*kind.find(line, language)]:
            free = _keep_free(places, [place for place, _ in found])
            found += [(place, kind) for place in free]
    found.sort(key=lambda entry: entry[0].start)
    characters = [match.span() for match in REFERENCE.finditer(line)] if found else []
    return [
        Literal(kind, place.start, place.end, line[place.start : place.end], *place[2:])
        for place, kind in found
        if not any(start < place.start and place.end < end for start, end in characters)
    ]


def group_by_value(literals: Iterable[Literal], language: str) -> dict[Hashable, list[Literal]]:
    """Return literals by their value, in order."""
    groups: dict[Hashable, list[Literal]] = defaultdict(list)
    for literal in literals:
        groups[literal.kind.read(literal.text, language)].append(literal)
    return dict(groups)


def _keep_free(places: list[LiteralSpan], taken: list[LiteralSpan]) -> list[LiteralSpan]:
    """Return the places that overlap none that are taken; both are without overlaps."""
    ends = sorted(taken)
    free, number = [], 0
    for place in places:
        while number < len(ends) and ends[number].end <= place.start:
            number += 1
        if number == len(ends) or ends[number].start >= place.end:
            free.append(place)
    return free

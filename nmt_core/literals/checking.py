"""Whether the literals of a line stand in its translation, as often, in the target's form."""

from collections.abc import Container, Iterable, Sequence
from itertools import islice
from typing import Literal as OneOf
from typing import NamedTuple

from nmt_core.literals.finding import KINDS, find_literals, group_by_value
from nmt_core.literals.kind import Literal, LiteralKind
from nmt_core.literals.units import names_unit, normalize_unit
from nmt_core.literals.worth import find_unsaid_scales, name_scaled, says_all, write_worth

Problem = OneOf["missing", "repeated", "unit", "added", "looping", "empty", "too long", "copied"]


class Breach(NamedTuple):
    """A literal that did not come through a translation, or a flaw of all of it."""

    kind: str
    """The name of the literal's kind, ``number in words`` or ``quotation``; ``sentence`` for a flaw
    of all."""
    text: str
    """The literal as the source has it, or else the translation, or the words that are repeated."""
    expected: str
    """The literal as the translation should have it; nothing where it should not be there."""
    problem: Problem
    """Whether the translation has a literal less often, more often, without its unit, or of its
    own; or is one that repeats some words again and again, is empty, was cut off, or is its
    source."""


def check_literals(
    source: str, translation: str, languages: tuple[str, str], kinds: Sequence[LiteralKind] = KINDS
) -> list[Breach]:
    """Return what is wrong with the literals of a translation, in the order of the source.

    A literal that the translation adds to those of the source is none of these, see
    :mod:`nmt_core.literals.added_numbers`.

    Args:
        source: a line.
        translation: its translation.
        languages: codes of both languages.
        kinds: what to look for.
    """
    return check_found(find_literals(source, languages[0], kinds), translation, languages, kinds)


def check_found(
    wanted: Sequence[Literal],
    translation: str,
    languages: tuple[str, str],
    kinds: Sequence[LiteralKind] = KINDS,
) -> list[Breach]:
    """Return what is wrong with a translation of a line whose literals are known.

    Args:
        wanted: the literals that :func:`find_literals` finds in the line.
        translation: see :func:`check_literals`, as all others.
        languages: codes of both languages.
        kinds: what to look for.
    """
    if not wanted:
        return []
    foreign = {one.text for one in wanted if not one.kind.is_form_of(one.text, languages[0])}
    there = find_literals(translation, languages[1], kinds)
    sound = [o for o in there if o.kind.is_form_of(o.text, languages[1]) or o.text in foreign]
    written = group_by_value(sound, languages[1])
    units = {normalize_unit(one.unit) for one in there}
    breaches = []
    for value, literals in group_by_value(wanted, languages[0]).items():
        kept = written.get(value, [])
        first = literals[min(len(kept), len(literals) - 1)]
        problem = judge_literals(literals, kept)
        if problem == "missing" and (
            first.kind.is_said(first.text, translation) or says_all(literals, sound, languages)
        ):
            continue
        if problem is None and loses_unit(literals, kept, translation, units):
            problem = "unit"
        if problem and not (problem == "repeated" and first.kind.may_repeat):
            expected = first.kind.write(first.text, *languages)
            breaches.append(Breach(first.kind.name, first.text, expected, problem))
        if not problem:
            unsaid = find_unsaid_scales(literals, sound, translation, languages)
            breaches += (make_scale_breach(one, languages) for one in islice(unsaid, 1))
    return breaches


def make_scale_breach(number: Literal, languages: tuple[str, str]) -> Breach:
    """Return that a number has lost its words of scale, which is expected in digits alone."""
    expected = write_worth(number.text, number.scale, *languages)
    named = name_scaled(number.text, number.scale)
    return Breach(number.kind.name, named, expected, "missing")


def judge_literals(
    source: Sequence[Literal], target: Sequence[Literal]
) -> OneOf["missing", "repeated", "unit"] | None:
    """Return what is wrong with literals of equal value; None if nothing is."""
    if len(target) != len(source):
        return "missing" if len(target) < len(source) else "repeated"
    units = list_units(source), list_units(target)
    return "unit" if all(map(all, units)) and units[0] != units[1] else None


def list_units(literals: Iterable[Literal]) -> list[str]:
    """Return the units beside literals, in alphabetical order."""
    return sorted(normalize_unit(literal.unit) for literal in literals)


def loses_unit(
    source: Sequence[Literal], target: Sequence[Literal], translation: str, units: Container[str]
) -> bool:
    """Tell whether a unit beside literals is nowhere in a translation, by its sign or in words.

    One sign may serve several numbers, as in *3 to 5%*.

    Args:
        source: literals of equal value in the source.
        target: those in the translation.
        translation: all of it.
        units: all that stand beside literals of it.
    """
    wanted = {unit for one in source if (unit := normalize_unit(one.unit))}
    return any(
        unit not in units
        and (unit.isalpha() or unit not in translation)
        and not any(names_unit(translation, one, unit) for one in target)
        for unit in wanted
    )

"""Literals in the form of the target language."""

from nmt_core.literals.date import is_time, write_time
from nmt_core.literals.finding import find_extent
from nmt_core.literals.literal import Literal, LiteralKind
from nmt_core.literals.number import write_amount, write_number


def write_literal(literal: Literal, line: str, languages: tuple[str, str]) -> str:
    """Return a literal of a line as its translation should have it, with the sign of its unit.

    Args:
        literal: of the line.
        line: in the source language.
        languages: codes of both languages.
    """
    match literal.kind:
        case LiteralKind.TERM:
            return literal.forms[0]
        case LiteralKind.DATE:
            return write_time(literal.text) if is_time(literal.text) else literal.text
        case LiteralKind.NUMBER if literal.extent and not literal.scale:
            start, end = find_extent(literal)
            written = write_amount(literal.text, literal.unit, *languages)
            if written:
                return written
            number = write_number(literal.text, *languages)
            return line[start : literal.start] + number + line[literal.end : end]
        case LiteralKind.NUMBER:
            return write_number(literal.text, *languages)
        case _:
            return literal.text

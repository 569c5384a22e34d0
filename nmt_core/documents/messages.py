"""Messages of programs: plain text, text with tags, or branches of ICU's plural and select."""

import html
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.documents.html import parse_components
from nmt_core.documents.pieces import (
    Escape,
    Piece,
    TextDocument,
    Type,
    Written,
    make_parts,
    write_plainly,
)
from nmt_core.documents.plain_text import parse_plain_text
from nmt_core.literals.references import resolve_references

TAG = re.compile(r"(?<!%)</?(?:[a-zA-Z][\w:-]*(?:\s[^<>]*)?|\d+\s*)/?>")
QUOTE = re.compile(r"&(?:quot|apos|#0*3[49]|#[xX]0*2[27]);")
"""What messages have in common with HTML: tags, and characters by their names or numbers."""

BRANCHING = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,")
HEAD = re.compile(rf"\s*{BRANCHING.pattern}(?:\s*offset:\d+)?")
BRANCH = re.compile(r"\s*(?:=\d+|\w+)\s*\{")
BRANCH_TEXT = re.compile(
    r"(?:[^{}']|'(?![{}#|])|\{[^{},']{0,100}(?:,\s*(?:number|date|time)\b[^{}']{0,100})?\})*"
)
END = re.compile(r"\s*\}\s*")
"""A choice by ICU: its beginning, and that of a branch; the text of one; the choice's end."""

QUOTING = re.compile("'(?=[{}#|]|$)")
"""An apostrophe that could quote what follows, so that it would be no syntax any more."""

LONGEST_MESSAGE = 100_000
"""Characters; a longer one is no message, and its file is refused."""

DEEPEST_CHOICE = 10
"""Choices within each other that are translated."""


class LeftMessage(TextDocument):
    """A message that stays as it is, for the choice in it is not read."""

    def __init__(self, text: str) -> None:
        super().__init__([text])


class ParsedMessage(NamedTuple):
    """The pieces of a message, and what writes them."""

    pieces: Sequence[Piece]
    escape: Escape


def read_message(text: str) -> TextDocument:
    """Read a message.

    Of one that is a choice by ICU, the branches are translated; one that has a choice amid its
    text, or quotes syntax in it, is a :class:`LeftMessage`.

    Args:
        text: the message.

    Raises:
        DocumentError: if it is longer than :data:`LONGEST_MESSAGE`.
    """
    check_length(text)
    parsed = parse_message(text, parse_plain_text)
    return TextDocument(make_parts(*parsed)) if parsed else LeftMessage(text)


def parse_message(text: str, parse_text: Callable[[str], Iterable[Piece]]) -> ParsedMessage | None:
    """Return the pieces of a message; None if it stays as it is.

    Args:
        text: the message.
        parse_text: cuts one without markup.
    """
    if BRANCHING.search(text):
        choice = read_choice(text)
        return ParsedMessage(choice, escape_branch) if choice else None
    if TAG.search(text):
        return ParsedMessage(parse_components(text), _escape_as_source)
    pieces = [*parse_text(text)]
    if resolve_references(text) == text:
        return ParsedMessage(pieces, write_plainly)
    for piece in pieces:
        piece.text = resolve_references(piece.text)
    return ParsedMessage(pieces, _escape_as_source)


def _escape_as_source(raw: str, written: Sequence[Written]) -> list[str]:
    """Write a translation as its source is: with characters by their names, or without."""
    names, quotes = resolve_references(raw) != raw, bool(QUOTE.search(raw))
    return [
        html.escape(part.text, quote=quotes)
        if not part.mark and (names or TAG.search(part.text))
        else part.text
        for part in written
    ]


def check_length(text: str) -> None:
    """Make sure that a unit of a file is not too long.

    Raises:
        DocumentError: if it is.
    """
    if len(text) > LONGEST_MESSAGE:
        raise DocumentError(
            f"a unit of this document has {len(text):,} characters, more than "
            f"{LONGEST_MESSAGE:,}; cut it into several"
        )


def read_choice(text: str) -> list[Piece] | None:
    """Return the pieces of a message that is a choice by ICU; None if it is not read."""
    choice = _read_choice(text, 0, 1)
    return choice[0] if choice and choice[1] == len(text) else None


def escape_branch(_: str, written: Sequence[Written]) -> list[str]:
    """Write a translation so that none of its apostrophes quotes what follows."""
    return [QUOTING.sub("\N{RIGHT SINGLE QUOTATION MARK}", part.text) for part in written]


def _read_choice(text: str, at: int, depth: int) -> tuple[list[Piece], int] | None:
    """Return the pieces of a choice, and where it ends; None if it is not read."""
    head = HEAD.match(text, at)
    if head is None or depth > DEEPEST_CHOICE:
        return None
    pieces, at = [Piece(Type.WALL, head[0])], head.end()
    while branch := BRANCH.match(text, at):
        pieces.append(Piece(Type.WALL, branch[0]))
        at = branch.end()
        if HEAD.match(text, at):
            inner = _read_choice(text, at, depth + 1)
            if inner is None:
                return None
            pieces += inner[0]
            at = inner[1]
        else:
            said = BRANCH_TEXT.match(text, at)
            assert said
            pieces.append(Piece(Type.TEXT, said[0], said[0]))
            at = said.end()
        if not text.startswith("}", at):
            return None
        pieces.append(Piece(Type.WALL, "}"))
        at += 1
    end = END.match(text, at)
    return ([*pieces, Piece(Type.WALL, end[0])], end.end()) if end else None

"""Messages of programs: plain text, text with tags, or the branches of ICU's plural and select."""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import regex

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import Reason, TextDocument, Untranslated
from nmt_core.documents.html import parse_components
from nmt_core.documents.passage import Item
from nmt_core.documents.pieces import Escape, Piece, Role, Written, make_parts, write_plainly
from nmt_core.documents.plain_text import parse_plain_text
from nmt_core.literals.finding import find_literals, resolve_references
from nmt_core.literals.literal import LiteralKind

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
"""A choice of ICU: its beginning, and that of a branch; the text of a branch; the choice's end."""

QUOTING = re.compile("'(?=[{}#|]|$)")
"""An apostrophe that would quote the syntax after it."""

LONGEST_MESSAGE = 100_000
"""Maximum characters of a message."""

DEEPEST_CHOICE = 10
"""Maximum choices within each other that are translated."""

BRACES = "{}"

ParsedMessage = tuple[Sequence[Piece], Escape]

_SYNTAX = regex.compile(r"(?!\S*\{[^}]*$)(?![^{]*\}).*(?:[{%$@#`:_\\]|<.|\[\[).*")
"""A literal that a program may fill in; an open brace is none."""

_UNNUMBERED = regex.compile(
    r"(?!%(?:L?[1-9]|n|\d{1,2}%|[a-zA-Z_][\w.\-]*%)$)(?:%[^%({\d][^$]*|%\d+[^$\d]?)"
)
"""A placeholder that a program fills by its order; those of Qt, Boost and Symfony have a number or
a name."""


def read_message(text: str) -> TextDocument:
    """Read a message; of a choice of ICU, the branches are translated.

    A message that has a choice amid its text, or quotes syntax in it, stays as it is.

    Raises:
        DocumentError: if it is longer than :data:`LONGEST_MESSAGE`.
    """
    check_length(text)
    parsed = parse_message(text, parse_plain_text)
    return TextDocument(make_parts(*parsed)) if parsed else leave_message(text)


def leave_message(text: str) -> TextDocument:
    """Return a message that stays as it is because the choice in it cannot be read."""
    return TextDocument([text], Untranslated({Reason.CHOICE: 1}))


def parse_message(text: str, parse_text: Callable[[str], Iterable[Piece]]) -> ParsedMessage | None:
    """Return the pieces of a message, and what writes them; None if it stays as it is.

    ``parse_text`` cuts a message without markup.
    """
    if BRANCHING.search(text):
        choice = _read_choice(text, 0, 1)
        is_whole = choice is not None and choice[1] == len(text)
        return (choice[0], _escape_branch) if choice and is_whole else None
    if TAG.search(text):
        return parse_components(text), _escape_as_source
    pieces = [*parse_text(text)]
    if resolve_references(text) == text:
        return pieces, write_plainly
    for piece in pieces:
        piece.text = resolve_references(piece.text)
    return pieces, _escape_as_source


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


def _escape_as_source(raw: str, written: Sequence[Written]) -> list[str]:
    """Write a translation as its source is: with characters by their names, or without."""
    has_names, quotes = resolve_references(raw) != raw, bool(QUOTE.search(raw))
    return [
        html.escape(part.text, quote=quotes)
        if not part.tag and (has_names or TAG.search(part.text))
        else part.text
        for part in written
    ]


def _escape_branch(_: str, written: Sequence[Written]) -> list[str]:
    """Write a translation so that none of its apostrophes quotes syntax."""
    return [QUOTING.sub("\N{RIGHT SINGLE QUOTATION MARK}", part.text) for part in written]


def _read_choice(text: str, at: int, depth: int) -> tuple[list[Piece], int] | None:
    """Return the pieces of a choice, and where it ends; None if it cannot be read."""
    head = HEAD.match(text, at)
    if head is None or depth > DEEPEST_CHOICE:
        return None
    pieces, at = [Piece(Role.BLOCK, head[0])], head.end()
    while branch := BRANCH.match(text, at):
        pieces.append(Piece(Role.BLOCK, branch[0]))
        at = branch.end()
        if HEAD.match(text, at):
            inner = _read_choice(text, at, depth + 1)
            if inner is None:
                return None
            pieces += inner[0]
            at = inner[1]
        else:
            content = BRANCH_TEXT.match(text, at)
            assert content
            pieces.append(Piece(Role.TEXT, content[0], content[0]))
            at = content.end()
        if not text.startswith("}", at):
            return None
        pieces.append(Piece(Role.BLOCK, "}"))
        at += 1
    end = END.match(text, at)
    return ([*pieces, Piece(Role.BLOCK, end[0])], end.end()) if end else None


def find_placeholders(text: str) -> list[str]:
    """Return the placeholders of a text, in order."""
    return [
        literal.text
        for literal in find_literals(text, "")
        if literal.kind is LiteralKind.VERBATIM and _SYNTAX.fullmatch(literal.text)
    ]


def has_same_placeholders(
    source: Sequence[Item], translation: Sequence[Item], signs: str = BRACES
) -> bool:
    """Tell whether a translation has the placeholders of its source, and as many signs of syntax.

    Placeholders that a program fills by their order must have the same order.
    """
    before, after = ([*_list_placeholders(items, signs)] for items in (source, translation))
    ordered = [[name for name in names if _UNNUMBERED.fullmatch(name)] for names in (before, after)]
    return sorted(before) == sorted(after) and ordered[0] == ordered[1]


def _list_placeholders(items: Sequence[Item], signs: str) -> Iterator[str]:
    """Yield the placeholders between tags, and each other character that may be syntax."""
    for item in items:
        if isinstance(item, str):
            names = find_placeholders(item)
            yield from names
            inside = "".join(names)
            for sign in signs:
                yield from [sign] * (item.count(sign) - inside.count(sign))

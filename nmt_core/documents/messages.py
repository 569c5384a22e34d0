"""Messages of programs and segments of translators: units that are translated separately.

A message is plain text or text with tags. One with a choice of ICU, as ``{n, plural, ...}``, stays.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import regex

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import Document, Reason, Untranslated
from nmt_core.documents.plain_text import parse_plain_text
from nmt_core.documents.segments import (
    Group,
    Item,
    Part,
    Piece,
    Role,
    Translations,
    Written,
    find_segments,
    make_parts,
    write_parts,
)
from nmt_core.literals.finding import LiteralKind, find_literals, resolve_references
from nmt_core.text.language_codes import pick_code

MARKUP = re.compile(
    r"<!--(?:(?!<!--).){0,2000}?-->"
    r"|<(?P<kept>code|kbd|pre|samp|script|style|var)\b[^<>]*>(?:(?!<(?P=kept)\b).){0,2000}?</(?P=kept)>"
    r"|(?<!%)<(?P<end>/?)(?P<name>[a-zA-Z][\w:-]*(?=[\s/>])|\d+(?=\s*/?>))[^<>]*?(?P<empty>/?)>",
    re.DOTALL | re.IGNORECASE,
)
"""A comment, an element that is not translated, or a tag: of HTML, or of a component of a program,
which may have a number."""

VOID = frozenset(["img", "input", "wbr"])
BLOCKS = re.compile(r"p|br|div|li|ul|ol|table|tr|t[dh]|h[1-6]|hr|blockquote")
"""Tags that end a sentence."""

QUOTE = re.compile(r"&(?:quot|apos|#0*3[49]|#[xX]0*2[27]);")
CHOICE = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,")

LONGEST_MESSAGE = 100_000
"""Maximum characters of a message."""

BRACES = "{}"

_SYNTAX = regex.compile(r"(?!\S*\{[^}]*$)(?![^{]*\}).*(?:[{%$@#`:_\\]|<.|\[\[).*")
"""A literal that a program may fill in; an open brace is none."""

_UNNUMBERED = regex.compile(
    r"(?!%(?:L?[1-9]|n|\d{1,2}%|[a-zA-Z_][\w.\-]*%)$)(?:%[^%({\d][^$]*|%\d+[^$\d]?)"
)
"""A placeholder that a program fills by its order; those of Qt, Boost and Symfony have a number or
a name."""


def read_message(text: str, untranslated: Untranslated) -> list[Part]:
    """Return the parts of a message; one with a choice stays and is counted.

    Raises:
        DocumentError: if it is longer than ``LONGEST_MESSAGE``.
    """
    check_length(text)
    if CHOICE.search(text):
        untranslated[Reason.CHOICE] += 1
        return [text]
    if MARKUP.search(text):
        return [*make_parts([*split_tags(text)], escape_as_source)]
    pieces = [*parse_plain_text(text)]
    for piece in pieces:
        piece.text = resolve_references(piece.text)
    return [*make_parts(pieces, escape_as_source)]


def split_tags(text: str) -> Iterator[Piece]:
    """Yield the pieces of a message with tags."""
    at = 0
    for tag in MARKUP.finditer(text):
        yield _make_text(text[at : tag.start()])
        name = (tag["name"] or "").lower()
        if BLOCKS.fullmatch(name):
            role = Role.BLOCK
        elif not name or tag["empty"] or name in VOID:
            role = Role.EMPTY
        else:
            role = Role.CLOSE if tag["end"] else Role.OPEN
        yield Piece(role, tag[0], name=name)
        at = tag.end()
    yield _make_text(text[at:])


def _make_text(raw: str) -> Piece:
    return Piece(Role.TEXT, raw, resolve_references(raw))


def check_length(text: str) -> None:
    """Refuse a unit of a file that is too long."""
    if len(text) > LONGEST_MESSAGE:
        raise DocumentError(
            f"a unit of this document has {len(text):,} characters, more than "
            f"{LONGEST_MESSAGE:,}; cut it into several"
        )


def escape_as_source(raw: str, written: Sequence[Written]) -> list[str]:
    """Write a translation as its source is: with characters by their names, or without."""
    has_names, quotes = resolve_references(raw) != raw, bool(QUOTE.search(raw))
    return [
        html.escape(part.text, quote=quotes)
        if not part.tag and (has_names or MARKUP.search(part.text))
        else part.text
        for part in written
    ]


def check_language(code: str, expected: str, side: str) -> None:
    """Refuse a file that names another language than the expected one.

    The side is what the file says of its language, such as ``translates into``.
    """
    if code and pick_code([code], expected) is None:
        raise DocumentError(
            f"this document {side} {code[:20]!r}, and not {expected!r} as this model does; "
            f"use a model for its languages"
        )


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


def make_unit(
    raw: str,
    texts: Sequence[Sequence[Part]],
    write: Callable[..., str],
    untranslated: Untranslated,
    *,
    is_bilingual: bool = False,
    signs: str = BRACES,
) -> Group:
    """Return a unit of a file, ``raw``, with parts of its texts, such as singular and plural.

    ``write`` takes the translated texts, and as ``is_doubtful`` whether a person must review them;
    it returns what replaces the unit. A unit stays and is counted if its translation lost a
    placeholder, unless the format is bilingual: keeps source and translation side by side.
    """
    parts = [part for text in texts for part in text]
    segments = [*find_segments(parts)]

    def finish(translations: Translations) -> str:
        """Return the unit as it is written."""
        pairs = [(segment.passage.items, translations[segment][0]) for segment in segments]
        is_same = all(source == items for source, items in pairs)
        is_whole = all(has_same_placeholders(*pair, signs) for pair in pairs)
        if not pairs or (is_same and not is_bilingual):
            return raw
        if not is_whole and not is_bilingual:
            untranslated[Reason.PLACEHOLDER] += 1
            return raw
        is_doubtful = not is_whole or any(translations[segment][1] for segment in segments)
        return write(
            [write_parts(text, translations).raw for text in texts], is_doubtful=is_doubtful
        )

    return Group(parts, finish)


def make_file(
    parts: Iterable[Part], encode: Callable[[str], bytes], untranslated: Untranslated
) -> Document[bytes]:
    """Return a document of the parts of a file of units."""
    return Document({"": parts}, lambda texts: encode(texts[""]), untranslated, holds_messages=True)

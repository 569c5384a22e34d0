"""Messages of programs and segments of translation tools: units that are translated separately.

A message is text, with or without tags. ICU choices, ``{n, plural, ...}``, are not translated.
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
"""A comment, an element that is not translated, or a tag of HTML or of a UI component, whose name
may be a number."""

VOID = frozenset(["img", "input", "wbr"])
BLOCKS = re.compile(r"p|br|div|li|ul|ol|table|tr|t[dh]|h[1-6]|hr|blockquote")
"""Tags that end a sentence."""

QUOTE = re.compile(r"&(?:quot|apos|#0*3[49]|#[xX]0*2[27]);")
CHOICE = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,")

MAX_MESSAGE_CHARACTERS = 100_000
"""Maximum length of a message, in characters."""

BRACES = "{}"

_SYNTAX = regex.compile(r"(?!\S*\{[^}]*$)(?![^{]*\}).*(?:[{%$@#`:_\\]|<.|\[\[).*")
"""A literal that may be a placeholder; not one with an unclosed brace."""

_UNNUMBERED = regex.compile(
    r"(?!%(?:L?[1-9]|n|\d{1,2}%|[a-zA-Z_][\w.\-]*%)$)(?:%[^%({\d][^$]*|%\d+[^$\d]?)"
)
"""A placeholder that is filled by its position; those of Qt, Boost and Symfony have a number or a
name."""


def read_message(text: str, untranslated: Untranslated) -> list[Part]:
    """Return the parts of a message; a message with an ICU choice is counted and not translated.

    Raises:
        DocumentError: if the message is longer than ``MAX_MESSAGE_CHARACTERS``.
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
    """Raise a DocumentError if a unit of a file is too long."""
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise DocumentError(
            f"a unit of this document has {len(text):,} characters, more than "
            f"{MAX_MESSAGE_CHARACTERS:,}; split it"
        )


def escape_as_source(raw: str, written: Sequence[Written]) -> list[str]:
    """Return the parts of a translation with character references if the source has them."""
    has_names, quotes = resolve_references(raw) != raw, bool(QUOTE.search(raw))
    return [
        html.escape(part.text, quote=quotes)
        if not part.tag and (has_names or MARKUP.search(part.text))
        else part.text
        for part in written
    ]


def check_language(code: str, expected: str, side: str) -> None:
    """Raise a DocumentError if a file declares another language than the expected one.

    ``side`` is the verb in the message, such as ``translates into``.
    """
    if code and pick_code([code], expected) is None:
        raise DocumentError(
            f"this document {side} {code[:20]!r}, and not {expected!r} like this model; "
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
    """Return whether a translation has the placeholders and syntax characters of its source.

    Placeholders that are filled by position must have the same order.
    """
    both = [[*_list_placeholders(items, signs)] for items in (source, translation)]
    positional = [[name for name in names if _UNNUMBERED.fullmatch(name)] for names in both]
    return sorted(both[0]) == sorted(both[1]) and positional[0] == positional[1]


def _list_placeholders(items: Sequence[Item], signs: str) -> Iterator[str]:
    """Yield the placeholders of text items, and each character of ``signs`` outside of these."""
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
    """Return a unit of a file with one or more texts, such as singular and plural.

    ``write`` takes the translated texts and ``is_doubtful``, whether they need review; it returns
    the new unit. If a translation loses a placeholder, the unit is counted and not translated. A
    bilingual format, which has source and target, marks it for review instead.
    """
    parts = [part for text in texts for part in text]
    segments = [*find_segments(parts)]

    def finish(translations: Translations) -> str:
        """Return the text of the unit."""
        pairs = [(segment.passage.items, translations[segment][0]) for segment in segments]
        is_same = all(source == items for source, items in pairs)
        is_complete = all(has_same_placeholders(*pair, signs) for pair in pairs)
        if not pairs or (is_same and not is_bilingual):
            return raw
        if not is_complete and not is_bilingual:
            untranslated[Reason.PLACEHOLDER] += 1
            return raw
        is_doubtful = not is_complete or any(translations[segment][1] for segment in segments)
        return write([write_parts(text, translations) for text in texts], is_doubtful=is_doubtful)

    return Group(parts, finish)


def make_file(
    parts: Iterable[Part], encode: Callable[[str], bytes], untranslated: Untranslated
) -> Document[bytes]:
    """Return a document from the parts of a file with units."""
    return Document({"": parts}, lambda texts: encode(texts[""]), untranslated, holds_messages=True)

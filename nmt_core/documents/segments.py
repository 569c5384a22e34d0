"""Split documents into pieces, join pieces into segments, and write translated segments.

A format splits a document into pieces; joined, they are the document. For HTML,
``<p>See <b>it</b>.</p>`` is::

    BLOCK <p>  TEXT See_  OPEN <b>  TEXT it  CLOSE </b>  TEXT .  BLOCK </p>

``make_parts`` joins the pieces between two blocks into a ``Segment``. Its passage is translated and
has numbers instead of inline tags::

    ("See ", InlineTag(OPEN, 1), "it", InlineTag(CLOSE, 1), ".")

If the translation is ``("Siehe <", InlineTag(OPEN, 1), "es", InlineTag(CLOSE, 1), ".")``, the
segment writes each tag as in the document, its ``Escape`` escapes text for the format, and the
document becomes ``<p>Siehe &lt;<b>es</b>.</p>``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import groupby
from typing import NamedTuple

BREAK = "\n"
"""The character for a newline that must be kept in the text of a passage."""

HARD_BREAK = "\f"
"""The character for a newline that also ends a sentence."""

MAX_TAG_DEPTH = 50
"""Maximum depth of inline tags that move with their words; deeper tags end a segment."""

SPACES = " \t\n\f\r"
"""White space of HTML and XML; a tag between words needs it only on one side."""


class Role(Enum):
    """The role of a piece."""

    TEXT = auto()
    LINE_END = auto()
    """A newline within a sentence; the translation has the same number of lines."""
    OPEN = auto()
    CLOSE = auto()
    EMPTY = auto()
    """Inline markup without content, such as a picture."""
    BLOCK = auto()
    """Markup that ends a sentence."""


class InlineTag(NamedTuple):
    """A tag in a passage; both tags of a pair have the same number."""

    kind: Role
    """OPEN, CLOSE or EMPTY."""
    number: int


Item = str | InlineTag


@dataclass(frozen=True)
class Passage:
    """Text with its inline tags, in order; pairs are nested."""

    items: tuple[Item, ...]
    breaks: bool = False
    """Whether the translation must keep the number of newlines."""
    is_message: bool = False
    """Whether this is a message of a program, in which digits alone are not translated."""

    @property
    def text(self) -> str:
        """The text without tags."""
        return "".join([item for item in self.items if isinstance(item, str)])


@dataclass
class Piece:
    """A piece of a document."""

    role: Role
    raw: str
    text: str = ""
    """Decoded text of a piece of text."""
    name: str = ""
    """Name that is equal for both tags of a pair."""
    parts: "Sequence[Part]" = ()
    """Parts that replace ``raw`` if some of the markup is translated."""
    rewritten: str = ""
    """Markup that replaces ``raw`` if the text around it changes."""

    @property
    def is_text(self) -> bool:
        """Whether the piece is text or a newline in text."""
        return self.role in {Role.TEXT, Role.LINE_END}

    def write(self, translations: "Translations") -> str:
        """Return the piece with translations of its parts, if any."""
        return write_parts(self.parts, translations) if self.parts else self.raw


class Written(NamedTuple):
    """A text of a translation, or the markup of an inline tag in it."""

    text: str
    tag: InlineTag | None = None


Escape = Callable[[str, Sequence[Written]], Sequence[str] | None]
"""Takes the written source of a segment and the parts of its translation. Returns the escaped
parts, or None if the format cannot express the translation."""


def escape_by(write: Callable[[str], str]) -> Escape:
    """Return an escape that applies a function to texts and does not change markup."""
    return lambda _, written: [part.text if part.tag else write(part.text) for part in written]


write_plainly = escape_by(str)
"""The escape of a format that needs none."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Pieces that are translated together."""

    pieces: Sequence[Piece]
    tags: Mapping[InlineTag, int]
    """The index of the piece of each tag."""
    spaces: Mapping[InlineTag, tuple[str, str]]
    """White space before and after an empty tag that is not in the passage."""
    passage: Passage
    escape: Escape

    def write(self, translations: "Translations") -> str:
        """Return the written translation."""
        outputs = [piece.write(translations) for piece in self.pieces]
        source = "".join(outputs)
        items, _ = translations[self]
        if tuple(items) == self.passage.items:
            return source
        written = []
        spaces = self._place_spaces(items) if self.spaces else {}
        for item in items:
            if isinstance(item, str):
                written.append(Written(item))
                continue
            index = self.tags[item]
            markup = self.pieces[index].rewritten or outputs[index]
            before, after = spaces.get(item, ("", ""))
            written += [Written(before), Written(markup, item), Written(after)]
        escaped = self.escape(source, written)
        if escaped is None:
            return source
        line_ends = iter([piece.raw for piece in self.pieces if piece.role is Role.LINE_END])
        texts = []
        for text, part in zip(escaped, written, strict=True):
            has_breaks = self.passage.breaks and not part.tag
            first, *lines = text.split(BREAK) if has_breaks else [text]
            texts.append(first + "".join([next(line_ends) + line for line in lines]))
        return "".join(texts)

    def _place_spaces(self, items: Sequence[Item]) -> dict[InlineTag, tuple[str, str]]:
        """Return the white space to write before and after each empty tag of a translation.

        The space moves to the other side if it would only separate the tag from punctuation: *a
        <img> b.* may become *A <img>.*
        """
        following, right = [], ""
        for item in reversed(items):
            following.append(right)
            right = item[:1] or right if isinstance(item, str) else right
        spaces, left = {}, ""
        for item, right in zip(items, reversed(following), strict=True):
            if isinstance(item, str):
                left = item[-1:] or left
            elif item.kind is Role.EMPTY:
                before, after = self.spaces.get(item, ("", ""))
                is_word_after = right.isalnum()
                if (before or after) and bool(left.strip()) != is_word_after:
                    before, after = ("", before + after) if is_word_after else (before + after, "")
                spaces[item] = (before, after)
                left = after[-1:] or "a"
        return spaces


@dataclass(frozen=True, eq=False)
class Group:
    """Parts that a function writes together."""

    parts: "Sequence[Part]"
    finish: Callable[["Translations"], str]

    def write(self, translations: "Translations") -> str:
        """Return the written parts."""
        return self.finish(translations)


Part = str | Piece | Segment | Group
"""A part of a document."""

Translations = Mapping[Segment, tuple[Sequence[Item], bool]]
"""The translation of each segment, and whether it needs review."""


def find_segments(parts: Iterable[Part]) -> Iterator[Segment]:
    """Yield the segments in parts, including nested segments."""
    for part in parts:
        if isinstance(part, Segment):
            yield part
            yield from find_segments(part.pieces)
        elif not isinstance(part, str):
            yield from find_segments(part.parts)


def write_parts(parts: Iterable[Part], translations: Translations) -> str:
    """Return the text of parts with the translations of their segments."""
    return "".join([part if isinstance(part, str) else part.write(translations) for part in parts])


def keep_unchanged(
    parts: Sequence[Part], raw: str, split_raw: str, finish: Callable[[str], str] = str
) -> Group:
    """Return a group of parts that is written as ``raw`` if its text equals ``split_raw``.

    ``finish`` is applied to any other text.
    """

    def write(translations: Translations) -> str:
        """Return the text of the parts."""
        written = write_parts(parts, translations)
        return raw if written == split_raw else finish(written)

    return Group(parts, write)


def join_raw(pieces: Iterable[Piece]) -> str:
    """Return the source text of pieces."""
    return "".join([piece.raw for piece in pieces])


def make_parts(pieces: Sequence[Piece], escape: Escape) -> "Iterator[Piece | Segment]":
    """Yield blocks as they are, and the pieces between blocks as segments.

    A tag without a partner, or that is not nested, also ends a segment.
    """
    run: list[Piece] = []
    for piece in pieces:
        if piece.role is Role.BLOCK:
            yield from _split_run(run, escape)
            run = []
            yield piece
        else:
            run.append(piece)
    yield from _split_run(run, escape)


def _split_run(run: Sequence[Piece], escape: Escape) -> "Iterator[Piece | Segment]":
    """Yield a run of inline pieces as segments without blank text around them."""
    partners = _pair_tags(run)
    for is_paired, group in groupby(range(len(run)), partners.__contains__):
        numbers = list(group)
        full = [
            number
            for number in numbers
            if is_paired and not (run[number].is_text and not run[number].text.strip())
        ]
        start, end = (full[0], full[-1] + 1) if full else (numbers[0], numbers[0])
        yield from run[numbers[0] : start]
        if full:
            tag_numbers = [partners[number] for number in range(start, end)]
            yield _make_segment(run[start:end], tag_numbers, escape)
        yield from run[end : numbers[-1] + 1]


def _pair_tags(run: Sequence[Piece]) -> dict[int, int]:
    """Return the index of the opening tag of each piece's pair, or of the piece itself.

    Tags without a partner, and the open tags around them, are omitted.
    """
    partners: dict[int, int] = {}
    opened: list[int] = []
    for number, piece in enumerate(run):
        if piece.role is Role.OPEN:
            opened.append(number)
        elif piece.role is not Role.CLOSE:
            partners[number] = number
        elif opened and run[opened[-1]].name == piece.name and len(opened) < MAX_TAG_DEPTH:
            partner = opened.pop()
            partners[number] = partners[partner] = partner
        else:
            opened.clear()
    return partners


def _make_segment(pieces: Sequence[Piece], numbers: Sequence[int], escape: Escape) -> Segment:
    """Return a segment of pieces, given the tag number of each piece."""
    breaks = any(piece.role is Role.LINE_END for piece in pieces)
    texts = [
        piece.text.replace(BREAK, " ") if breaks and piece.role is Role.TEXT else piece.text
        for piece in pieces
    ]
    tags: dict[InlineTag, int] = {}
    spaces: dict[InlineTag, tuple[str, str]] = {}
    is_spaced = True  # the text so far is empty or ends with white space
    for index, piece in enumerate(pieces):
        if piece.is_text:
            if texts[index]:
                is_spaced = piece.role is Role.LINE_END or texts[index][-1] in SPACES
            continue
        tag = InlineTag(piece.role, numbers[index])
        tags[tag] = index
        if piece.role is Role.EMPTY:
            spaces[tag] = _take_space(pieces, texts, index, is_spaced=is_spaced)
    items: list[Item] = []
    by_index = {index: tag for tag, index in tags.items()}
    for index, text in enumerate(texts):
        if index in by_index:
            items.append(by_index[index])
        elif items and isinstance(items[-1], str):
            items[-1] += text
        else:
            items.append(text)
    return Segment(pieces, tags, spaces, Passage(tuple(items), breaks=breaks), escape)


def _take_space(
    pieces: Sequence[Piece], texts: list[str], index: int, *, is_spaced: bool
) -> tuple[str, str]:
    """Remove redundant white space next to an empty tag from the texts; return it by side."""
    is_last = index == len(pieces) - 1
    has_left = index > 0 and pieces[index - 1].role is Role.TEXT
    has_right = not is_last and pieces[index + 1].role is Role.TEXT
    left, right = texts[index - 1] if has_left else "", texts[index + 1] if has_right else ""
    before = left[len(left.rstrip(SPACES)) :]
    after = right[: len(right) - len(right.lstrip(SPACES))]
    if after and is_spaced:
        texts[index + 1] = right[len(after) :]
        return "", after
    if before and not after and (is_last or (has_right and not right[:1].isalnum())):
        texts[index - 1] = left[: -len(before)]
        return before, ""
    return "", ""

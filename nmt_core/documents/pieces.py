"""Documents as successive pieces: text, inline markup, and the rest.

A format splits a document into pieces and escapes its text; here pieces become passages, and their
translations a document again.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import groupby
from typing import NamedTuple

from typing_extensions import override

from nmt_core.documents.passage import BREAK, Item, Kind, Mark, Passage
from nmt_core.documents.untranslated import Untranslated

DEEPEST = 50
"""Nested pairs within a sentence that are put around words; deeper ones stay where they are."""

HTML_SPACES = " \t\n\f\r"


class Type(Enum):
    """The type of a piece."""

    TEXT = auto()
    LINE_END = auto()
    """The end of a line amid a sentence; the translation has as many lines."""
    OPEN = auto()
    CLOSE = auto()
    POINT = auto()
    """Markup amid a sentence that stands alone."""
    WALL = auto()
    """Block boundaries, which end a sentence."""


@dataclass
class Piece:
    """A piece of a document."""

    type: Type
    raw: str
    """As it was written."""
    text: str = ""
    """The content of text."""
    name: str = ""
    """Equal for opening and closing markup of a pair."""
    parts: "Sequence[Part]" = ()
    """The parts of markup that holds translated text."""
    rewritten: str = ""
    """Replaces the markup if the text around it changes."""
    before: str = ""
    after: str = ""
    """White space that goes where a point goes."""
    parts_words: bool = False
    """Whether that is all that parts it from the words beside it, on whichever side it stands."""

    @property
    def is_text(self) -> bool:
        """Tell whether this is text, the end of a line included."""
        return self.type in {Type.TEXT, Type.LINE_END}

    @property
    def markup(self) -> "list[Part]":
        """The written form of markup, or of the end of a line."""
        if self.type is Type.LINE_END:
            return [Varied(self.raw, BREAK)]
        return [*(self.parts or [self.raw])]


def join_raw(pieces: Iterable[Piece]) -> str:
    """Return pieces as they were written."""
    return "".join(piece.raw for piece in pieces)


class Written(NamedTuple):
    """A text of a translation as it is, or markup as it is to be written."""

    text: str
    mark: Mark | None = None


Escape = Callable[[str, Sequence[Written]], Sequence[str] | None]
"""Writes a translation: takes the written source, with plain line ends, and parts of a translation;
returns the parts in written form, or None if they cannot be written."""


def write_plainly(_: str, written: Sequence[Written]) -> list[str]:
    """Write a translation where nothing in a text need be escaped."""
    return [part.text for part in written]


def drop_blank_lines(written: Sequence[Written]) -> list[Written]:
    """Return a translation without lines that hold nothing, of a source that had none."""
    parts: list[Written] = []
    is_blank = True  # nothing stands in the line so far
    for part in written:
        text = part.text
        if part.mark is None:
            first, *others = text.split(BREAK)
            text, is_blank = first, is_blank and not first.strip()
            for line in others:
                text += line.lstrip() if is_blank else BREAK + line.lstrip()
                is_blank = not line.strip()
        else:
            is_blank = is_blank and not text
        parts.append(Written(text, part.mark))
    for number in range(len(parts) - 1, -1, -1):
        if parts[number].mark is not None:
            break
        parts[number] = Written(parts[number].text.rstrip(BREAK))
        if parts[number].text:
            break
    return parts


class Varied(NamedTuple):
    """Markup over line ends: as it was written, and as its format reads it."""

    raw: str
    plain: str
    """With no more than a line end between lines, where a format has other markup, too."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Pieces that are translated together."""

    pieces: Sequence[Piece]
    marks: Mapping[Mark, Piece]
    passage: Passage
    escape: Escape

    def write(self, translations: "Translations", *, plain: bool) -> str:
        """Return the written translation of the passage."""
        items = translations[self]
        if tuple(items) == self.passage.items:
            return self._write_as_it_was(translations, plain=plain)
        written, raw = [], []
        spaces = self.find_spaces(items)
        for item in items:
            if isinstance(item, Mark):
                piece = self.marks[item]
                before, after = spaces.get(item, ("", ""))
                markup = [before, *([piece.rewritten] if piece.rewritten else piece.markup), after]
                text = write_all(_as_read(markup), translations, plain=plain)
                written.append(Written(text, item))
                varies = not plain and any(isinstance(part, Varied) for part in markup)
                raw.append(write_all(markup, translations, plain=False) if varies else text)
            else:
                written.append(Written(item))
                raw.append(item)
        escaped = self.escape(self._write_as_it_was(translations, plain=True), written)
        if escaped is None:
            return self._write_as_it_was(translations, plain=plain)
        line_ends = iter(piece.raw for piece in self.pieces if piece.type is Type.LINE_END)
        return "".join(
            _end_lines(text, line_ends)
            if self.passage.breaks and part.mark is None and not plain
            else (kept if part.mark and text == part.text else text)
            for text, part, kept in zip(escaped, written, raw, strict=True)
        )

    def _write_as_it_was(self, translations: "Translations", *, plain: bool) -> str:
        return "".join(
            piece.raw
            if piece.type is Type.TEXT
            else piece.before + write_all(piece.markup, translations, plain=plain) + piece.after
            for piece in self.pieces
        )

    def find_spaces(self, items: Sequence[Item]) -> dict[Mark, tuple[str, str]]:
        """Return the white space before and after each point of a translation.

        It changes sides where it would part the point from a sign, and not from a word:
        *a <img> b.* may become *A <img>.*
        """
        following, right = [], ""
        for item in reversed(items):
            following.append(right)
            right = item[:1] or right if isinstance(item, str) else right
        spaces, left = {}, ""
        for item, right in zip(items, reversed(following), strict=True):
            if isinstance(item, str):
                left = item[-1:] or left
            elif item.kind is Kind.POINT:
                point = self.marks[item]
                before, after = point.before, point.after
                is_word_after = right.isalnum()
                if point.parts_words and bool(left.strip()) != is_word_after:
                    before, after = ("", before + after) if is_word_after else (before + after, "")
                spaces[item] = (before, after)
                left = after[-1:] or "a"
        return spaces


def _as_read(markup: "Sequence[Part]") -> "list[Part]":
    """Return markup as its format reads it."""
    return [part.plain if isinstance(part, Varied) else part for part in markup]


def _end_lines(text: str, line_ends: Iterator[str]) -> str:
    first, *others = text.split(BREAK)
    return first + "".join(next(line_ends) + other for other in others)


class Group(ABC):
    """Parts that are written together."""

    parts: "Sequence[Part]"

    @abstractmethod
    def write(self, translations: "Translations", *, plain: bool) -> str:
        """Return the written parts."""


@dataclass(frozen=True, eq=False)
class Guarded(Group):
    """Parts that are translated if the result has the same markup, else kept."""

    raw: str
    parts: "Sequence[Part]"
    holds: Callable[[str], bool]
    """Takes the result, with plain line ends."""

    @override
    def write(self, translations: "Translations", *, plain: bool) -> str:
        if not self.holds(write_all(self.parts, translations, plain=True)):
            return self.raw
        return write_all(self.parts, translations, plain=plain)


Part = str | Varied | Segment | Group
"""A part of a document that is kept or translated."""

Translations = Mapping[Segment, Sequence[Item]]


class TextDocument:
    """A document that is written as text."""

    def __init__(self, parts: Iterable[Part], untranslated: Untranslated | None = None) -> None:
        """Take the parts of a document, and how many of its texts stay as they are."""
        self._parts = list(parts)
        self.untranslated = Untranslated() if untranslated is None else untranslated
        self._segments = list(_find_segments(self._parts))

    @property
    def passages(self) -> list[Passage]:
        """The passages to translate."""
        return [segment.passage for segment in self._segments]

    def write(self, translations: Sequence[tuple[Item, ...]]) -> str:
        """Return the document with translations of its passages."""
        by_segment = dict(zip(self._segments, translations, strict=True))
        return write_all(self._parts, by_segment, plain=False)


def _find_segments(parts: Iterable[Part]) -> Iterator[Segment]:
    for part in parts:
        if isinstance(part, Segment):
            yield part
            for piece in part.pieces:
                yield from _find_segments(piece.parts)
        elif isinstance(part, Group):
            yield from _find_segments(part.parts)


def write_all(parts: Iterable[Part], translations: Translations, *, plain: bool) -> str:
    """Return parts as they are written with translations.

    Args:
        parts: of a document.
        translations: of the passages in them.
        plain: whether to write markup over line ends as its format reads it.
    """
    written = []
    for part in parts:
        if isinstance(part, str):
            written.append(part)
        elif isinstance(part, Varied):
            written.append(part.plain if plain else part.raw)
        else:
            written.append(part.write(translations, plain=plain))
    return "".join(written)


def make_parts(pieces: Sequence[Piece], escape: Escape) -> Iterator[Part]:
    """Yield kept pieces, and pieces to translate together."""
    for part in join_pieces(pieces, escape):
        if isinstance(part, Segment):
            yield part
        else:
            yield from filter(None, part.markup)


def join_pieces(pieces: Sequence[Piece], escape: Escape) -> "Iterator[Piece | Segment]":
    """Yield the pieces that are kept, and those between walls joined to be translated together.

    Markup without a partner, or that is not nested, is a wall, too.
    """
    for is_wall, between in groupby(pieces, lambda piece: piece.type is Type.WALL):
        if is_wall:
            yield from between
            continue
        run = list(between)
        partners = _pair(run)
        for is_paired, group in groupby(range(len(run)), partners.__contains__):
            numbers = list(group)
            full = [number for number in numbers if is_paired and not _is_blank(run[number])]
            start, end = (full[0], full[-1] + 1) if full else (numbers[0], numbers[0])
            yield from (run[number] for number in range(numbers[0], start))
            if full:
                members = [(run[number], partners[number]) for number in range(start, end)]
                yield _make_segment(members, escape)
            yield from (run[number] for number in range(end, numbers[-1] + 1))


def _is_blank(piece: Piece) -> bool:
    return piece.is_text and not piece.text.strip()


def _pair(run: Sequence[Piece]) -> dict[int, int]:
    """Return for each piece the number of the piece that opens its pair, or its own.

    Pieces without a partner, and those open around them, are left out.
    """
    partners: dict[int, int] = {}
    opened: list[int] = []
    for number, piece in enumerate(run):
        if piece.type is Type.OPEN:
            opened.append(number)
        elif piece.type is not Type.CLOSE:
            partners[number] = number
        elif opened and run[opened[-1]].name == piece.name and len(opened) < DEEPEST:
            partner = opened.pop()
            partners[number] = partners[partner] = partner
        else:
            opened.clear()
    return partners


def _make_segment(members: Sequence[tuple[Piece, int]], escape: Escape) -> Segment:
    pieces = [piece for piece, _ in members]
    is_spaced = True  # the text so far ends with white space, or there is none
    for before, piece, after in zip([None, *pieces], pieces, [*pieces[1:], None], strict=False):
        if piece.type is Type.POINT:
            _fold_space(piece, before, after, is_spaced=is_spaced)
        elif piece.is_text and piece.raw:
            is_spaced = piece.type is Type.LINE_END or piece.raw[-1] in HTML_SPACES
    kinds = {Type.OPEN: Kind.OPEN, Type.CLOSE: Kind.CLOSE, Type.POINT: Kind.POINT}
    items: list[Item] = []
    marks: dict[Mark, Piece] = {}
    breaks = any(piece.type is Type.LINE_END for piece in pieces)
    for is_text, group in groupby(members, lambda member: member[0].is_text):
        if is_text:
            items.append("".join(_read_piece(piece, breaks=breaks) for piece, _ in group))
            continue
        for piece, number in group:
            mark = Mark(kinds[piece.type], number)
            marks[mark] = piece
            items.append(mark)
    return Segment(pieces, marks, Passage(tuple(items), breaks=breaks), escape)


def _read_piece(piece: Piece, *, breaks: bool) -> str:
    """Return the text of a piece; where line ends count, one that is a text is a space."""
    return piece.text.replace(BREAK, " ") if breaks and piece.type is Type.TEXT else piece.text


def _fold_space(
    point: Piece, before: Piece | None, after: Piece | None, *, is_spaced: bool
) -> None:
    """Give a point the white space beside it that would be too much without it."""
    left = before.raw if before and before.type is Type.TEXT else ""
    right = after.raw if after and after.type is Type.TEXT else ""
    left_rest, right_rest = left.rstrip(HTML_SPACES), right.lstrip(HTML_SPACES)
    ends = after is None or not (right or "word")[0].isalnum()  # in other markup may be a word
    if after and right_rest != right and is_spaced:
        point.after = right[: len(right) - len(right_rest)]
        point.parts_words = before is None or before.type is Type.TEXT
        after.raw, after.text = right_rest, after.text.lstrip(HTML_SPACES)
    elif before and left_rest != left and ends and right_rest == right:
        point.before = left[len(left_rest) :]
        point.parts_words = True
        before.raw, before.text = left_rest, before.text.rstrip(HTML_SPACES)

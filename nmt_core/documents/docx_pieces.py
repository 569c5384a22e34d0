"""Pieces of a Word document's paragraphs: runs, links, fields, and text in another language."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import bidirectional, east_asian_width

from lxml import etree

from nmt_core.documents.pieces import Piece, Type
from nmt_core.documents.untranslated import LanguageMarks

Element = Any
"""An element of lxml; Any, because importing lxml takes 20 ms."""

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def _name(names: str) -> frozenset[str]:
    return frozenset(f"{W}{name}" for name in names.split())


CONTAINERS = _name("hyperlink ins moveTo smartTag dir bdo fldSimple")
"""Elements that hold runs of text and may occur within a sentence."""

SIMPLE_FIELD, INSTRUCTION = f"{W}fldSimple", f"{W}instrText"
TYPED = ("HYPERLINK", "FORMTEXT", "TOC")
"""Fields whose result people type, or which repeats headings. Word computes all others anew."""

FIELD = "field"

CONTROL, CONTENT = f"{W}sdt", f"{W}sdtContent"
"""A content control, and the element of it that holds its text."""

CHOSEN = re.compile(r"comboBox|dropDownList|date|checkbox|picture|equation|docPart\w+|repeating\w+")
"""Properties of controls whose text nobody types; that text is not part of a sentence."""

RANGES = _name("bookmarkStart bookmarkEnd commentRangeStart commentRangeEnd")
"""Ends of ranges; those in a paragraph that is translated come to hold all of it."""

HINTS = _name("proofErr lastRenderedPageBreak")
"""Elements that Word computes from the text, and computes anew."""

PROPERTIES = _name("pPr rPr smartTagPr sdtPr sdtEndPr")
WALLS = _name("br cr tab ptab")


def _is_typed(code: str) -> bool:
    """Tell whether people type the result of a field, by its code."""
    return (code.split() or [""])[0].upper() in TYPED


def _ends_label(code: str) -> bool:
    """Tell whether a field is the number of a caption, as in *Table 1: Title*."""
    return code.split()[:1] == ["SEQ"]


def has_runs(element: Element) -> bool:
    """Tell whether an element holds runs of text."""
    return any(child.tag in CONTAINERS | {f"{W}r"} or find_inner(child) for child in element)


def find_inner(element: Element) -> Sequence[Element]:
    """Return the elements with the text of what may stand in a sentence, at most one; of no other.

    Of a content control it is its content, if somebody types it amid a paragraph.
    """
    if element.tag in CONTAINERS:
        is_computed = element.tag == SIMPLE_FIELD and not _is_typed(element.get(f"{W}instr", ""))
        return [] if is_computed else [element]
    content = element.find(CONTENT) if element.tag == CONTROL else None
    if content is None or element.getparent().tag not in CONTAINERS | {f"{W}p", CONTENT}:
        return []
    properties = element.find(f"{W}sdtPr")
    names = () if properties is None else (etree.QName(each).localname for each in properties)
    is_typed = not any(map(CHOSEN.fullmatch, names))
    return [content] if is_typed and has_runs(content) else []


@dataclass
class WordPiece(Piece):
    """A piece of a paragraph: elements, or a change of formatting."""

    elements: Sequence[Element] = ()
    format: Element = None
    """The properties of its run; none is a format, too."""
    in_run: bool = False
    """True if the elements are in a run."""
    held: "Sequence[WordPiece]" = ()
    """Pieces that are written as they were."""


def find_pieces(parent: Element) -> Iterator[WordPiece]:
    """Yield the pieces of a paragraph."""
    for child in parent:
        if child.tag == f"{W}r":
            yield from read_run(child)
        elif inner := find_inner(child):
            yield WordPiece(Type.OPEN, "", name=child.tag, elements=[child])
            yield from find_pieces(inner[0])
            yield WordPiece(Type.CLOSE, "", name=child.tag)
        elif child.tag not in RANGES | HINTS | PROPERTIES:
            is_wall = child.tag == CONTROL or _ends_label(child.get(f"{W}instr", ""))
            type_ = Type.WALL if is_wall else Type.POINT
            yield WordPiece(type_, "", elements=[child])


def read_run(run: Element) -> Iterator[WordPiece]:
    """Yield the pieces of a run."""
    properties = run.find(f"{W}rPr")
    for child in run:
        piece = WordPiece(Type.POINT, "", elements=[child], format=properties, in_run=True)
        if child.tag in HINTS | PROPERTIES:
            continue
        if child.tag == f"{W}t":
            piece.type, piece.raw = Type.TEXT, child.text or ""
        elif child.tag == f"{W}noBreakHyphen":
            piece.type, piece.raw = Type.TEXT, "\N{NON-BREAKING HYPHEN}"
        elif child.tag in WALLS:
            piece.type = Type.WALL
        piece.text = piece.raw
        yield piece


@dataclass
class _Field:
    """A field that is not ended yet."""

    code: str = ""
    in_result: bool = False


class Fields:
    """The fields that are not ended yet; they may end in a later paragraph."""

    def __init__(self) -> None:
        self._fields: list[_Field] = []

    @property
    def are_held(self) -> bool:
        """Tell whether what follows is a code, or a result that Word computes."""
        return any(not each.in_result or not _is_typed(each.code) for each in self._fields)

    def read(self, piece: WordPiece) -> str:
        """Read the next piece; return whether it begins, separates or ends a field."""
        element = piece.elements[0] if piece.elements else None
        kind = "" if element is None else element.get(f"{W}fldCharType", "")
        if kind == "begin":
            self._fields.append(_Field())
        elif kind == "separate" and self._fields:
            self._fields[-1].in_result = True
        elif kind == "end" and self._fields:
            self._fields.pop()
        elif self._fields and element is not None and element.tag == INSTRUCTION:
            self._fields[-1].code += element.text or ""
        return str(kind)


def join_fields(pieces: Iterable[WordPiece], fields: Fields) -> Iterator[WordPiece]:
    """Yield pieces, with a field that Word computes as one point.

    Another one becomes three pieces: its code, its result, and its end.

    Args:
        pieces: of a paragraph.
        fields: those that earlier paragraphs have begun; it is updated.
    """
    held: list[WordPiece] = []
    is_continued = fields.are_held
    for piece in pieces:
        was_held = fields.are_held
        kind = fields.read(piece)
        if was_held or fields.are_held:
            held.append(piece)
            if not fields.are_held:
                type_ = Type.OPEN if kind == "separate" else _find_type(held)
                yield from _hold(held, Type.WALL if is_continued else type_)
                held, is_continued = [], False
            continue
        if kind == "end":
            piece.type, piece.name = Type.CLOSE, FIELD
        yield piece
    if held:
        yield from _hold(held, Type.WALL)


def _find_type(field: Sequence[WordPiece]) -> Type:
    """Return the type of a field that Word computes."""
    codes = (
        each.text or "" for piece in field for each in piece.elements if each.tag == INSTRUCTION
    )
    return Type.WALL if _ends_label("".join(codes)) else Type.POINT


def _hold(held: Sequence[WordPiece], type_: Type) -> Iterator[WordPiece]:
    """Yield pieces as one that is written as it was; or as walls if a link ends amid them."""
    depth, depths = 0, [0]
    for piece in held:
        depth += {Type.OPEN: 1, Type.CLOSE: -1}.get(piece.type, 0)
        depths.append(depth)
    if min(depths) == depth == 0:
        yield WordPiece(type_, "", name=FIELD, held=held)
        return
    for piece in held:
        is_link = piece.type in {Type.OPEN, Type.CLOSE}
        yield piece if is_link else WordPiece(Type.WALL, "", name=FIELD, held=[piece])


def join_other_languages(pieces: Iterable[WordPiece], marks: LanguageMarks) -> Iterator[WordPiece]:
    """Yield pieces, with texts that are marked as another language as points."""
    held: list[WordPiece] = []
    neutral: list[WordPiece] = []
    for piece in [*pieces, None]:
        if piece and is_in_other_language(piece, marks):
            held += [*neutral, piece]
            neutral = []
        elif piece and held and piece.is_text and not any(map(str.isalpha, piece.text)):
            neutral.append(piece)
        else:
            if held:
                marks.count()
                yield from _hold(held, Type.POINT)
            yield from neutral
            held, neutral = [], []
            if piece:
                yield piece


def is_in_other_language(piece: WordPiece, marks: LanguageMarks) -> bool:
    """Tell whether a piece is text that is marked as another language than the source's."""
    letter = next(filter(str.isalpha, piece.text), "")
    language = piece.format.find(f"{W}lang") if letter and piece.format is not None else None
    if language is None:
        return False
    kind = "eastAsia" if east_asian_width(letter) in "WF" else "val"
    kind = "bidi" if bidirectional(letter) in {"R", "AL"} else kind
    return marks.is_other(language.get(f"{W}{kind}", ""))

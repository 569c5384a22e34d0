"""Word documents (.docx): paragraphs, text boxes and descriptions of pictures are translated.

Each part of a run becomes a separate run, so that parts can move. Paragraphs without a change stay
identical.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from unicodedata import bidirectional, east_asian_width

from nmt_core.base.errors import DocumentError
from nmt_core.documents.archive import ArchiveKind, read_archive, read_archived
from nmt_core.documents.document import Document, LanguageMarks
from nmt_core.documents.ooxml import FORMAT, SPACED, Run, make_run_parts, split_run
from nmt_core.documents.segments import Part, Piece, Role, join_raw, keep_unchanged
from nmt_core.documents.xml_pieces import (
    MAX_NOTE_DEPTH,
    XmlPiece,
    join_whole,
    read_elements,
    read_text_of,
    scan_xml,
)
from nmt_core.text.language_codes import LanguageCodes

WORD = ArchiveKind(
    "Word document",
    ".docx",
    re.compile(r"word/(?:document|header|footer|footnotes|endnotes)\d*\.xml"),
)
PREFIX = "w:"
BEFORE, AFTER = f"<w:r>{FORMAT}{SPACED.format(PREFIX)}", "</w:t></w:r>"
"""Markup around the text of a run."""

MIN_SOURCE_SHARE = 0.05
"""Minimum share of letters in the source language. With less, the language marks are ignored,
because Word often takes wrong ones from the keyboard or a template."""

CONTAINERS = frozenset(["hyperlink", "ins", "moveTo", "smartTag", "dir", "bdo"])
"""Elements with runs of text that may occur within a sentence."""

TEXT_FIELDS = ("HYPERLINK", "FORMTEXT", "TOC")
"""Fields whose result is typed by users or repeats headings. Word computes all others again."""

LABEL = "SEQ"
"""The field that numbers a caption; it is not part of the sentence."""

RANGE_STARTS = frozenset({"bookmarkStart", "commentRangeStart"})
RANGE_ENDS = frozenset({"bookmarkEnd", "commentRangeEnd"})
"""Ends of ranges, which are extended to the whole paragraph if it is translated."""

COMPUTED = frozenset({"proofErr", "lastRenderedPageBreak"})
"""Elements that Word computes again from the text."""

PROPERTIES = frozenset(["pPr", "rPr"])
LINES = frozenset(["br", "cr", "tab", "ptab"])
BLOCKS = frozenset({"p", "tbl"})


def read_word_document(data: bytes, codes: LanguageCodes | None = None) -> Document[bytes]:
    """Return a Word document; text that is marked as another language is not translated."""
    files = read_archive(data, WORD)
    marks = LanguageMarks(codes)
    document = read_archived(data, files, partial(_read_file, marks=marks), marks.untranslated)
    if document.untranslated:
        whole = read_archived(data, files, partial(_read_file, marks=LanguageMarks(None)))
        if _count_letters(document) < MIN_SOURCE_SHARE * _count_letters(whole):
            return whole
    return document


def _count_letters(document: Document[bytes]) -> int:
    """Return the number of letters in the passages of a document."""
    return sum(sum(map(str.isalpha, passage.text)) for passage in document.passages)


def _read_file(_: str, text: str, *, marks: LanguageMarks) -> Iterator[Part]:
    pieces = scan_xml(text)
    root = next(piece for piece in pieces if piece.name)
    if root.prefix != PREFIX:
        raise DocumentError("its elements are not named as by Word; save it again with Word")
    return _Reader(marks).read_blocks(pieces)


@dataclass
class _Inline(Piece):
    """A piece of a paragraph that may belong to a field."""

    field: str = ""
    """Its function in a field: ``begin``, ``separate`` or ``end``."""
    code: str = ""
    """A part of the code of a field."""


@dataclass
class _Field:
    """An open field."""

    code: str = ""
    in_result: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether the next pieces are its code, or a result that Word computes."""
        return not (self.in_result and _name_field(self.code) in TEXT_FIELDS)


def _name_field(code: str) -> str:
    return (code.split() or [""])[0].upper()


def _name(piece: XmlPiece) -> str:
    """Return the name of an element of Word; empty for other elements."""
    return piece.name if piece.prefix == PREFIX else ""


class _Reader:
    """Reads the paragraphs of a file."""

    def __init__(self, marks: LanguageMarks, depth: int = 0) -> None:
        self._marks, self._depth = marks, depth
        self._fields: list[_Field] = []  # they may end in a later paragraph

    def read_blocks(self, pieces: Sequence[XmlPiece]) -> Iterator[Part]:
        """Yield the parts of elements that may contain paragraphs."""
        yield from read_elements(
            pieces,
            lambda piece: _name(piece) in {"p", "sdtContent"},
            self._read_paragraph,
            described="docPr",
        )

    def _read_paragraph(self, pieces: Sequence[XmlPiece]) -> Iterator[Part]:
        """Yield the parts of a paragraph or content control."""
        inline, starts, ends = [], [], []
        for piece in self._read_inline(pieces):
            if piece.name in RANGE_STARTS:
                starts.append(piece)
            elif piece.name in RANGE_ENDS:
                ends.append(piece)
            else:
                inline.append(piece)
        count = 1 if inline and inline[0].name == "pPr" else 0
        joined = self._join_other_languages([*self._join_fields(inline)])
        ordered = [*joined[:count], *starts, *joined[count:], *ends]
        parts = [*make_run_parts(ordered, BEFORE, AFTER)]
        yield keep_unchanged(parts, join_whole(pieces), join_raw(ordered))

    def _read_inline(self, pieces: Sequence[XmlPiece]) -> Iterator[Piece]:
        """Yield the pieces of a paragraph."""
        for piece in pieces:
            name = _name(piece)
            if _is_inline(piece):
                at = sum(_name(child) == "smartTagPr" for child in piece.children)  # the first
                before = piece.raw + join_whole(piece.children[:at])
                yield Piece(Role.OPEN, before, name=name)
                yield from self._read_inline(piece.children[at:])
                yield Piece(Role.CLOSE, piece.end, name=name)
            elif name in RANGE_STARTS | RANGE_ENDS | PROPERTIES:
                yield Piece(Role.BLOCK, piece.whole, name=name)
            elif name == "r":
                yield from self._read_run(piece)
            elif piece.role is not Role.TEXT and name not in COMPUTED:
                code = piece.attributes.get(f"{PREFIX}instr", "")
                is_block = name in BLOCKS or _name_field(code) == LABEL
                role = Role.BLOCK if is_block else Role.EMPTY
                yield Piece(role, piece.whole, parts=self._read_nested(piece))

    def _read_nested(self, piece: XmlPiece) -> Sequence[Part]:
        """Return the parts of an element within a paragraph that may contain paragraphs."""
        names = {each.name for each in piece.walk()}
        if self._depth == MAX_NOTE_DEPTH or names.isdisjoint({"p", "sdtContent", "docPr"}):
            return ()
        return [*_Reader(self._marks, self._depth + 1).read_blocks([piece])]

    def _read_run(self, run: XmlPiece) -> Iterator[Piece]:
        """Yield the parts of a run as separate runs."""
        for child, piece in split_run(run):
            name = _name(child)
            if piece.is_text:
                yield replace(piece, is_other=_is_other(piece.text, run, self._marks))
            elif name == "noBreakHyphen":
                yield replace(piece, role=Role.TEXT, text="\N{NON-BREAKING HYPHEN}")
            elif name not in COMPUTED:
                nested = self._read_nested(child)
                yield _Inline(
                    Role.BLOCK if name in LINES else Role.EMPTY,
                    piece.raw,
                    parts=[piece.before, *nested, piece.after] if nested else (),
                    field=child.attributes.get(f"{PREFIX}fldCharType", ""),
                    code=read_text_of(child.children) if name == "instrText" else "",
                )

    def _join_other_languages(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Return the pieces, with texts in another language as empty tags."""
        joined: list[Piece] = []
        pending: list[Piece] = []
        neutral: list[Piece] = []  # such as spaces between texts in another language
        for piece in [*pieces, Piece(Role.BLOCK, "")]:
            if isinstance(piece, Run) and piece.is_other:
                pending += [*neutral, piece]
                neutral = []
            elif pending and piece.is_text and not any(map(str.isalpha, piece.text)):
                neutral.append(piece)
            else:
                if pending:
                    self._marks.count("".join([each.text for each in pending]))
                joined += [*_merge(pending, Role.EMPTY), *neutral, piece]
                pending, neutral = [], []
        return joined

    def _join_fields(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the pieces of a paragraph, with each field that Word computes as one piece.

        Other fields become three pieces: code, result, and end.
        """
        pending: list[Piece] = []
        was_kept = is_continued = any(field.is_kept for field in self._fields)
        for piece in pieces:
            kind = piece.field if isinstance(piece, _Inline) else ""
            if kind == "begin":
                self._fields.append(_Field())
            elif kind == "separate" and self._fields:
                self._fields[-1].in_result = True
            elif kind == "end" and self._fields:
                self._fields.pop()
            elif self._fields and isinstance(piece, _Inline):
                self._fields[-1].code += piece.code
            is_kept = any(field.is_kept for field in self._fields)
            if was_kept or is_kept:
                pending.append(piece)
                if not is_kept:
                    code = "".join([each.code for each in pending if isinstance(each, _Inline)])
                    is_block = is_continued or _name_field(code) == LABEL
                    role = Role.OPEN if kind == "separate" else Role.EMPTY
                    yield from _merge(pending, Role.BLOCK if is_block else role)
                    pending, is_continued = [], False
            else:
                yield replace(piece, role=Role.CLOSE, name="field") if kind == "end" else piece
            was_kept = is_kept
        yield from _merge(pending, Role.BLOCK)


def _is_other(text: str, run: XmlPiece, marks: LanguageMarks) -> bool:
    """Return whether a run marks a text as another language, for the script of its first letter."""
    letter = next(filter(str.isalpha, text), "")
    if not letter or run.children[0].name != "rPr":
        return False
    kind = "eastAsia" if east_asian_width(letter) in "WF" else "val"
    kind = "bidi" if bidirectional(letter) in {"R", "AL"} else kind
    attributes = [piece.attributes for piece in run.children[0].walk() if piece.name == "lang"]
    return any(marks.is_other(languages.get(PREFIX + kind)) for languages in attributes[:1])


def _is_inline(piece: XmlPiece) -> bool:
    """Return whether an element may be part of a sentence."""
    code = piece.attributes.get(f"{PREFIX}instr", "")
    is_field = _name(piece) == "fldSimple"
    return piece.role is Role.OPEN and (
        _name_field(code) in TEXT_FIELDS if is_field else _name(piece) in CONTAINERS
    )


def _merge(pieces: Sequence[Piece], role: Role) -> Iterator[Piece]:
    """Yield pieces as one piece that does not change; as blocks if a link ends between them."""
    depth, depths = 0, [0]
    for piece in pieces:
        depth += {Role.OPEN: 1, Role.CLOSE: -1}.get(piece.role, 0)
        depths.append(depth)
    if pieces and min(depths) == depth == 0:
        parts = [part for piece in pieces for part in piece.parts or [piece]]
        yield Piece(role, join_raw(pieces), name="field", parts=parts)
        return
    for piece in pieces:
        is_link = piece.role in {Role.OPEN, Role.CLOSE}
        yield piece if is_link else Piece(Role.BLOCK, piece.raw, parts=piece.parts)

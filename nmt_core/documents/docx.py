"""Word documents (.docx): the text of paragraphs, text boxes and descriptions of pictures.

Each part of a run is made a run of its own, so that parts can move. A paragraph in which nothing
changes stays as it was.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from unicodedata import bidirectional, east_asian_width

from nmt_core.base.errors import DocumentError
from nmt_core.documents.archive import ArchiveKind, read_archive, read_archived
from nmt_core.documents.declarations import LanguageMarks, decode_declared
from nmt_core.documents.document import FileDocument, TextDocument
from nmt_core.documents.ooxml import Run, RunStyle, make_run_parts, read_properties
from nmt_core.documents.pieces import Group, Output, Part, Piece, Role, join_raw
from nmt_core.documents.xml_pieces import (
    DEEPEST_NOTE,
    XmlPiece,
    find_children,
    find_end,
    read_elements,
    scan_xml,
)
from nmt_core.text.language_codes import LanguageCodes

WORD = ArchiveKind(
    "Word document",
    ".docx",
    re.compile(r"word/(?:document|header|footer|footnotes|endnotes)\d*\.xml"),
)

NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
"""The name of the same elements in files that Word saves as "Strict Open XML"."""

LANGUAGE = re.compile(r"<w:(?:r[\s>]|lang\s(?P<languages>[^<>]*)|t(?:\s[^<>]*)?>(?P<text>[^<>]*))")
"""The beginning of a run, its language, and its text."""

LANGUAGE_ATTRIBUTE = re.compile(r"""(?<![\w:])([\w:]+)\s*=\s*["']([^"']*)""")

LEAST_OWN_TEXT = 0.05
"""Share of a document's letters that are not marked as another language than the source."""

CONTAINERS = frozenset(["hyperlink", "ins", "moveTo", "smartTag", "dir", "bdo", "fldSimple"])
"""Elements that hold runs of text and may occur within a sentence."""

TYPED = ("HYPERLINK", "FORMTEXT", "TOC")
"""Fields whose result people type, or which repeats headings. Word computes all others anew."""

CHOSEN = re.compile(r"comboBox|dropDownList|date|checkbox|picture|equation|docPart\w+|repeating\w+")
"""Properties of content controls whose text nobody types; it is not part of a sentence."""

RANGE_STARTS = frozenset({"bookmarkStart", "commentRangeStart"})
RANGE_ENDS = frozenset({"bookmarkEnd", "commentRangeEnd"})
"""Ends of ranges; those in a paragraph that is translated come to hold all of it."""

HINTS = frozenset({"proofErr", "lastRenderedPageBreak"})
"""Elements that Word computes from the text, and computes anew."""

PROPERTIES = frozenset(["pPr", "rPr", "smartTagPr"])
LINES = frozenset(["br", "cr", "tab", "ptab"])
BLOCKS = frozenset({"p", "tbl", "sdt"})


def read_word_document(data: bytes, codes: LanguageCodes | None = None) -> FileDocument:
    """Read a document.

    Raises:
        DocumentError: see :func:`read_archive`.
    """
    files = read_archive(data, WORD)
    if _are_mistaken(files.values(), LanguageMarks(codes)):
        codes = None
    return read_archived(data, files, partial(_read_file, codes=codes))


def _are_mistaken(files: Iterable[bytes], marks: LanguageMarks) -> bool:
    """Tell whether nearly all text is marked as another language than the source.

    Word marks what people type by their keyboard, and by the template that a document began with.
    """
    letters = Counter[bool]()
    for file in files:
        languages: Mapping[str, str] = {}
        for match in LANGUAGE.finditer(decode_declared(file).text):
            if match["text"]:
                is_other = _is_other(match["text"], languages, marks)
                letters[is_other] += sum(map(str.isalpha, match["text"]))
            else:
                languages = dict(LANGUAGE_ATTRIBUTE.findall(match["languages"] or ""))
    return letters[False] < LEAST_OWN_TEXT * letters.total()


def _is_other(text: str, languages: Mapping[str, str], marks: LanguageMarks) -> bool:
    """Tell whether a text is marked as another language than the source's."""
    letter = next(filter(str.isalpha, text), "")
    if not letter or not languages:
        return False
    kind = "eastAsia" if east_asian_width(letter) in "WF" else "val"
    kind = "bidi" if bidirectional(letter) in {"R", "AL"} else kind
    return any(marks.is_other(code) for name, code in languages.items() if name.endswith(kind))


def _read_file(_: str, text: str, *, codes: LanguageCodes | None) -> TextDocument:
    pieces = scan_xml(text)
    root = next(piece for piece in pieces if piece.attributes or piece.name)
    names = {value: name for name, value in root.attributes.items() if name.startswith("xmlns")}
    if STRICT in names:
        raise DocumentError(
            'it is "Strict Open XML", which is not supported; save it as "Word Document"'
        )
    prefix = names.get(NAMESPACE, "xmlns:w").partition(":")[2]
    marks = LanguageMarks(codes)
    reader = _Reader(f"{prefix}:" if prefix else "", marks)
    return TextDocument(reader.read_blocks(pieces), marks.untranslated)


@dataclass
class _Inline(Piece):
    """A piece of a paragraph that may belong to a field."""

    field: str = ""
    """Whether it begins, separates or ends a field."""
    code: str = ""
    """A part of a field's code."""


@dataclass
class _Field:
    """A field that has not ended yet."""

    code: str = ""
    in_result: bool = False

    @property
    def is_typed(self) -> bool:
        """Tell whether people type its result."""
        return _name_field(self.code) in TYPED


def _name_field(code: str) -> str:
    return (code.split() or [""])[0].upper()


class _Reader:
    """Reads the paragraphs of a file."""

    def __init__(self, prefix: str, marks: LanguageMarks, depth: int = 0) -> None:
        self._prefix, self._marks, self._depth = prefix, marks, depth
        self._fields: list[_Field] = []  # they may end in a later paragraph

    def read_blocks(self, pieces: Sequence[XmlPiece]) -> Iterator[Part]:
        """Yield the parts of what may hold paragraphs."""
        yield from read_elements(
            pieces,
            lambda piece: self._name(piece) in {"p", "sdtContent"},
            self._read_paragraph,
            described="docPr",
        )

    def _name(self, piece: XmlPiece) -> str:
        """Return the name of an element of Word."""
        return piece.name if piece.prefix == self._prefix else ""

    def _read_paragraph(self, pieces: Sequence[XmlPiece]) -> Iterator[Part]:
        """Yield the content of a paragraph or control."""
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
        style = RunStyle(is_spaced=True)
        parts = [*make_run_parts(ordered, style, self._prefix)]
        raw, cut = join_raw(pieces), join_raw(ordered)
        yield Group(parts, partial(_keep_unchanged, raw=raw, cut=cut))

    def _read_inline(self, pieces: Sequence[XmlPiece]) -> Iterator[Piece]:
        """Yield the pieces of a paragraph."""
        at = 0
        while at < len(pieces):
            piece, name = pieces[at], self._name(pieces[at])
            end = at + 1
            if piece.role is Role.CLOSE:
                if name == "sdtContent":
                    end = find_end(pieces, at)
                    name = "sdt"
                    while self._name(pieces[end - 1]) != name:
                        end += 1
                yield Piece(Role.CLOSE, join_raw(pieces[at:end]), name=name)
            elif start := self._find_inner(pieces, at):
                end = start
                yield Piece(Role.OPEN, join_raw(pieces[at:end]), name=name)
            elif name in RANGE_STARTS | RANGE_ENDS | PROPERTIES:
                end = find_end(pieces, at)
                yield Piece(Role.BLOCK, join_raw(pieces[at:end]), name=name)
            elif piece.role is not Role.TEXT and name not in HINTS:
                end = find_end(pieces, at)
                inner = pieces[at:end]
                if name == "r":
                    yield from self._read_run(inner)
                else:
                    code = piece.attributes.get(f"{self._prefix}instr", "")
                    is_block = name in BLOCKS or _name_field(code) == "SEQ"
                    role = Role.BLOCK if is_block else Role.EMPTY
                    yield Piece(role, join_raw(inner), parts=self._read_nested(inner))
            at = end

    def _find_inner(self, pieces: Sequence[XmlPiece], at: int) -> int:
        """Return where the text of an element begins that may stand in a sentence; 0 for others.

        Of a content control it is its content, if somebody types it.
        """
        piece, name = pieces[at], self._name(pieces[at])
        if piece.role is not Role.OPEN or name not in CONTAINERS | {"sdt"}:
            return 0
        if name == "fldSimple":
            is_typed = _name_field(piece.attributes.get(f"{self._prefix}instr", "")) in TYPED
            return at + 1 if is_typed else 0
        children = {
            self._name(pieces[first]): (first, last)
            for first, last in find_children(pieces, at, find_end(pieces, at))
        }
        if name != "sdt":
            properties = children.get("smartTagPr")
            return properties[1] if properties else at + 1
        first, last = children.get("sdtPr", (at, at))
        is_chosen = any(
            CHOSEN.fullmatch(pieces[child].name) for child, _ in find_children(pieces, first, last)
        )
        start, end = children.get("sdtContent", (at, at))
        content = {self._name(pieces[child]) for child, _ in find_children(pieces, start, end)}
        has_runs = not content.isdisjoint(CONTAINERS | {"r", "sdt"}) and "p" not in content
        return start + 1 if has_runs and not is_chosen else 0

    def _read_nested(self, pieces: Sequence[XmlPiece]) -> Sequence[Part]:
        """Return the parts of an element that is no text itself but may hold text."""
        names = {piece.name for piece in pieces}
        if self._depth == DEEPEST_NOTE or names.isdisjoint({"p", "sdtContent", "docPr"}):
            return ()
        reader = _Reader(self._prefix, self._marks, self._depth + 1)
        return [*reader.read_blocks(pieces)]

    def _read_run(self, pieces: Sequence[XmlPiece]) -> Iterator[Piece]:
        """Yield the parts of a run, each as a run."""
        before, after, properties = pieces[0].raw, pieces[-1].raw, ""
        languages: Mapping[str, str] = {}
        for first, last in find_children(pieces, 0, len(pieces)):
            child, inner = pieces[first], pieces[first:last]
            name, raw = self._name(child), join_raw(inner)
            if name == "rPr":
                before += raw
                properties = read_properties(inner)
                marked = [piece.attributes for piece in inner if piece.name == "lang"]
                languages = marked[0] if marked else {}
            elif name in {"t", "noBreakHyphen"}:
                hyphen = "\N{NON-BREAKING HYPHEN}"
                text = "".join([piece.text for piece in inner]) if name == "t" else hyphen
                run = Run(Role.TEXT, before + raw + after, text, properties=properties)
                run.before = before + (child.raw if len(inner) > 1 else "")
                run.after = (inner[-1].raw if len(inner) > 1 else "") + after
                is_other = _is_other(text, languages, self._marks)
                yield replace(run, name="other") if is_other else run
            elif child.role is not Role.TEXT and name not in HINTS:
                nested = self._read_nested(inner)
                yield _Inline(
                    Role.BLOCK if name in LINES else Role.EMPTY,
                    before + raw + after,
                    parts=[before, *nested, after] if nested else (),
                    field=child.attributes.get(f"{self._prefix}fldCharType", ""),
                    code=inner[1].text if name == "instrText" and len(inner) > 1 else "",
                )

    @property
    def _is_held(self) -> bool:
        """Tell whether what follows is a field's code, or a result that Word computes."""
        return any(not field.in_result or not field.is_typed for field in self._fields)

    def _join_fields(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the pieces of a paragraph, with a field that Word computes as one.

        Another one becomes three pieces: its code, its result, and its end.
        """
        held: list[Piece] = []
        is_continued = self._is_held
        for piece in pieces:
            was_held, kind = self._is_held, piece.field if isinstance(piece, _Inline) else ""
            if kind == "begin":
                self._fields.append(_Field())
            elif kind == "separate" and self._fields:
                self._fields[-1].in_result = True
            elif kind == "end" and self._fields:
                self._fields.pop()
            elif self._fields and isinstance(piece, _Inline):
                self._fields[-1].code += piece.code
            if was_held or self._is_held:
                held.append(piece)
                if not self._is_held:
                    code = "".join([each.code for each in held if isinstance(each, _Inline)])
                    is_label = _name_field(code) == "SEQ"
                    role = Role.BLOCK if is_label or is_continued else Role.EMPTY
                    is_result = kind == "separate" and not is_continued
                    yield from _hold(held, Role.OPEN if is_result else role)
                    held, is_continued = [], False
            elif kind == "end":
                yield replace(piece, role=Role.CLOSE, name="field")
            else:
                yield piece
        yield from _hold(held, Role.BLOCK)

    def _join_other_languages(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Return the pieces, with texts that are marked as another language as empty tags."""
        joined: list[Piece] = []
        held: list[Piece] = []
        neutral: list[Piece] = []
        for piece in [*pieces, Piece(Role.BLOCK, "")]:
            if piece.name == "other" and piece.is_text:
                held += [*neutral, piece]
                neutral = []
            elif held and piece.is_text and not any(map(str.isalpha, piece.text)):
                neutral.append(piece)
            else:
                if held:
                    self._marks.count()
                    joined += _hold(held, Role.EMPTY)
                joined += [*neutral, piece]
                held, neutral = [], []
        return joined


def _hold(held: Sequence[Piece], role: Role) -> Iterator[Piece]:
    """Yield pieces as one that stays as it is; or as blocks if a link ends amid them."""
    depth, depths = 0, [0]
    for piece in held:
        depth += {Role.OPEN: 1, Role.CLOSE: -1}.get(piece.role, 0)
        depths.append(depth)
    if held and min(depths) == depth == 0:
        parts = [part for piece in held for part in piece.parts or [piece]]
        yield Piece(role, join_raw(held), name="field", parts=parts)
        return
    for piece in held:
        is_link = piece.role in {Role.OPEN, Role.CLOSE}
        yield piece if is_link else Piece(Role.BLOCK, piece.raw, parts=piece.parts)


def _keep_unchanged(output: Output, raw: str, cut: str) -> str:
    """Return a paragraph as it was written, unless it differs from its source cut into runs."""
    return raw if output.raw == cut else output.raw

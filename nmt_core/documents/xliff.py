"""XLIFF 1.2 and 2.x: segments with their translations and states.

Formats: https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html,
https://docs.oasis-open.org/xliff/xliff-core/v2.1/os/xliff-core-v2.1-os.html
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import Document, LanguageMarks, Reason, decode_declared
from nmt_core.documents.html import COMMENT
from nmt_core.documents.messages import CHOICE, check_language, check_length, make_file, make_unit
from nmt_core.documents.segments import Part, Piece, Role
from nmt_core.documents.xml_pieces import (
    XmlPiece,
    join_whole,
    read_embedded,
    read_text_of,
    scan_xml,
    set_attribute,
)
from nmt_core.text.language_codes import LanguageCodes

LANGUAGES = {
    "1": ("file", "source-language", "target-language"),
    "2": ("xliff", "srcLang", "trgLang"),
}
"""The element with the languages, and its attributes, by version."""

UNITS = ("trans-unit", "segment")
"""Elements with a source and a target."""

PAIRS = frozenset(["g", "mrk", "pc"])
BEGINS, ENDS = frozenset(["bx", "bpt", "sc", "sm"]), frozenset(["ex", "ept", "ec", "em"])
"""Elements around text, and elements that begin and end a pair."""

UNTRANSLATED = ("new", "initial", "needs-translation", "needs-l10n", "needs-adaptation")
"""States of targets that have no translation yet."""

APPROVED = ("final", "signed-off", "reviewed")
"""States of targets that must not change."""

DOUBTFUL = "nmt:needs-review"
"""The ``subState`` of ``initial`` in XLIFF 2 for a segment that needs review."""

SIZE_LIMITS = {"maxwidth": False, "maxlengthchars": False, "sizeRestriction": False}
SIZE_LIMITS |= {"maxbytes": True, "storageRestriction": True}
"""Attributes that limit the size of a translation, and whether they count bytes. A limit in pixels
is read as one in characters. ``sizeRestriction`` is a maximum, or a minimum and a maximum."""

MAXIMUM = re.compile(r"[1-9]\d{0,8}\s*$")

ANGULAR = re.compile(r"(?P<end>START|CLOSE)_(?P<name>\w+?)(?:_\d+)?")
"""The ID of an ``x`` element that Angular writes for a tag."""


def read_xliff_file(data: bytes, codes: LanguageCodes | None) -> Document[bytes]:
    """Return an XLIFF file as a document.

    Segments do not change if they are translated, approved, marked as not translatable, or marked
    as another language than the source.
    """
    file = decode_declared(data)
    pieces = scan_xml(file.text)
    root = next(piece for piece in pieces if piece.name not in ("", COMMENT))
    version = root.attributes.get("version", "")[:1]
    if root.name != "xliff" or version not in LANGUAGES:
        raise DocumentError("this document is not XLIFF 1 or 2; export it again as .xlf")
    element, *sides = LANGUAGES[version]
    for piece in root.walk():
        if piece.name == element and codes:
            _check_languages(codes, piece, *sides)
    reader = _Reader(LanguageMarks(codes))
    parts = reader.read_units(pieces, {}, is_translated=True)
    return make_file(parts, file.encode, reader.marks.untranslated)


def _check_languages(codes: LanguageCodes, tag: XmlPiece, source: str, target: str) -> None:
    """Check the languages of a file; write the target language into its tag if it is missing."""
    attributes = tag.attributes
    check_language(attributes.get(source, ""), codes[0], "is in")
    check_language(attributes.get(target, ""), codes[1], "translates into")
    if not attributes.get(target):
        tag.raw = set_attribute(tag.raw, target, codes[1])


def _limit(tag: XmlPiece, outer: Mapping[bool, int]) -> dict[bool, int]:
    """Return the size limits in an element, in characters (False) and bytes (True)."""
    limits = {**outer}
    in_bytes = tag.attributes.get("size-unit") == "byte"
    for name, value in tag.attributes.items():
        is_bytes = SIZE_LIMITS.get(name.rpartition(":")[2])
        if is_bytes is not None and (size := MAXIMUM.search(value)):
            unit = in_bytes or is_bytes
            limits[unit] = min(int(size[0]), limits.get(unit, int(size[0])))
    return limits


@dataclass(frozen=True)
class _Segment:
    """An element with a source and a target."""

    element: XmlPiece
    limits: Mapping[bool, int]
    """Maximum sizes of the translation, in characters (False) and bytes (True)."""

    @cached_property
    def indices(self) -> dict[str, int]:
        """The index of each child, by name."""
        return {child.name: index for index, child in enumerate(self.element.children)}

    @property
    def source(self) -> int | None:
        """The index of the source; of the segmented source, if the unit has one."""
        return self.indices.get("seg-source", self.indices.get("source"))

    @property
    def target(self) -> XmlPiece | None:
        """The target, if there is one."""
        return self.element.children[self.indices["target"]] if "target" in self.indices else None

    @property
    def needs_translation(self) -> bool:
        """Whether the segment has no approved or finished translation."""
        attributes, target = self.element.attributes, self.target
        state = attributes.get("state")
        if target:
            state = target.attributes.get("state") or state
        if attributes.get("approved") == "yes" or state in APPROVED:
            return False
        inner = [each for child in target.children for each in child.walk()] if target else []
        is_empty = all(piece.name == "mrk" or not piece.raw.strip() for piece in inner)
        return is_empty or (state in UNTRANSLATED and attributes.get("subState") != DOUBTFUL)

    def is_too_long(self, target: str) -> bool:
        """Return whether a target exceeds a limit."""
        text = read_text_of(scan_xml(f"<a>{target}</a>")) if self.limits else ""
        sizes = {True: len(text.encode()), False: len(text)}
        return any(sizes[unit] > limit for unit, limit in self.limits.items())

    def write(self, texts: Sequence[str], *, is_doubtful: bool) -> str:
        """Return the element with a new target and state."""
        assert self.source is not None
        children, [text] = self.element.children, texts
        source, target = children[self.source], self.target
        is_doubtful = is_doubtful or self.is_too_long(text)
        name = f"{source.prefix}target"
        if target is None:
            start = end = self.source + 1
            before = children[self.source - 1].raw if self.source else ""
            space, tag = (before if not before.strip() else ""), f"<{name}>"
        else:
            start, end = self.indices["target"], self.indices["target"] + 1
            space, tag = "", target.raw
            if target.role is Role.EMPTY:
                tag = tag.removesuffix("/>").rstrip() + ">"
        head = self.element.raw
        if self.element.name == "trans-unit":
            state = "needs-review-translation" if is_doubtful else "translated"
            tag = set_attribute(tag, "state", state)
        else:
            head = set_attribute(head, "state", "initial" if is_doubtful else "translated")
            head = set_attribute(head, "subState", DOUBTFUL if is_doubtful else None)
        kept = join_whole(children[:start]), join_whole(children[end:]) + self.element.end
        return f"{head}{kept[0]}{space}{tag}{text}</{name}>{kept[1]}"


class _Reader:
    """Reads the segments of a file."""

    def __init__(self, marks: LanguageMarks) -> None:
        self.marks = marks

    def read_units(
        self, pieces: Sequence[XmlPiece], limits: Mapping[bool, int], *, is_translated: bool
    ) -> Iterator[Part]:
        """Yield the units to translate, and the markup between them.

        ``limits`` and ``is_translated`` are inherited from the elements around the pieces.
        """
        for piece in pieces:
            if piece.role is not Role.OPEN:
                yield piece.raw
                continue
            mark = piece.attributes.get("translate")
            is_read = is_translated if mark is None else mark != "no"
            own_limits = _limit(piece, limits)
            if piece.name not in UNITS:
                yield piece.raw
                yield from self.read_units(piece.children, own_limits, is_translated=is_read)
                yield piece.end
            else:
                segment = _Segment(piece, own_limits)
                is_read = is_read and segment.source is not None and segment.needs_translation
                yield self._read_segment(segment) if is_read else piece.whole

    def _read_segment(self, segment: _Segment) -> Part:
        """Return a segment as a unit, or its source text if it is in another language."""
        assert segment.source is not None
        source, raw = segment.element.children[segment.source], segment.element.whole
        text = read_text_of(source.children)
        check_length(raw)
        if self.marks.is_other(source.attributes.get("xml:lang")):
            self.marks.count(text)
            return raw
        parts: list[Part] = [join_whole(source.children)]
        if CHOICE.search(text):
            self.marks.untranslated[Reason.CHOICE] += 1
        else:
            parts = [read_embedded([*self._read_inline(source.children)])]
        return make_unit(raw, [parts], segment.write, self.marks.untranslated, is_bilingual=True)

    def _read_inline(self, pieces: Sequence[XmlPiece]) -> Iterator[Piece]:
        """Yield the pieces of a source: text, pairs around text, and codes."""
        for piece in pieces:
            attributes, is_pair = piece.attributes, piece.name in PAIRS
            is_other = is_pair and self.marks.is_other(attributes.get("xml:lang"))
            is_kept = attributes.get("translate") == "no" or attributes.get("mtype") == "protected"
            if piece.role is Role.TEXT:
                yield piece
            elif piece.role is Role.OPEN and is_pair and not (is_kept or is_other):
                is_segment = attributes.get("mtype") == "seg"
                yield Piece(Role.BLOCK if is_segment else Role.OPEN, piece.raw, name=piece.name)
                yield from self._read_inline(piece.children)
                yield Piece(Role.CLOSE, piece.end, name=piece.name)
            else:
                if is_other:
                    self.marks.count(read_text_of([piece]))
                yield self._read_code(piece)

    def _read_code(self, piece: XmlPiece) -> Piece:
        """Return a code as an empty tag, or as one tag of a pair."""
        attributes = piece.attributes
        ids = (attributes.get(name) for name in ("startRef", "rid", "id"))
        number = next(filter(None, ids), "")
        role = Role.OPEN if piece.name in BEGINS else Role.EMPTY
        role = Role.CLOSE if piece.name in ENDS else role
        if piece.name == "x" and (tag := ANGULAR.fullmatch(number)):
            number = tag["name"]
            role = Role.OPEN if tag["end"] == "START" else Role.CLOSE
        return Piece(role, piece.whole, name=f"code {number}")

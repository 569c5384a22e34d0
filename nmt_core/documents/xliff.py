"""XLIFF 1.2 and 2.x: segments with their translations and states.

The formats: https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html,
https://docs.oasis-open.org/xliff/xliff-core/v2.1/os/xliff-core-v2.1-os.html
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import Document, LanguageMarks, Reason, decode_declared
from nmt_core.documents.html import COMMENT
from nmt_core.documents.messages import (
    CHOICE,
    check_language,
    check_length,
    make_file,
    make_unit,
)
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
"""The element that names the languages, and its attributes, by version."""

UNITS = ("trans-unit", "segment")
"""Elements with a source and its target."""

PAIRS = frozenset(["g", "mrk", "pc"])
BEGINS, ENDS = frozenset(["bx", "bpt", "sc", "sm"]), frozenset(["ex", "ept", "ec", "em"])
"""Elements around text, and those that are the beginning and the end of a pair."""

UNTRANSLATED = ("new", "initial", "needs-translation", "needs-l10n", "needs-adaptation")
"""States of targets that hold no translation yet."""

APPROVED = ("final", "signed-off", "reviewed")
"""States that nobody may change."""

DOUBTFUL = "nmt:needs-review"
"""The state below ``initial``, in XLIFF 2, of a segment that a person must review."""

SIZE_LIMITS = {"maxwidth": False, "maxlengthchars": False, "sizeRestriction": False}
SIZE_LIMITS |= {"maxbytes": True, "storageRestriction": True}
"""Attributes that limit the size of a translation, and whether they count bytes. A width in pixels
is exceeded at the latest by as many characters. ``sizeRestriction`` is a maximum, or two numbers.
"""

MAXIMUM = re.compile(r"[1-9]\d{0,8}\s*$")

ANGULAR = re.compile(r"(?P<end>START|CLOSE)_(?P<name>\w+?)(?:_\d+)?")
"""The id that Angular gives to an ``x`` in the place of a tag."""


def read_xliff_file(data: bytes, codes: LanguageCodes | None) -> Document[bytes]:
    """Read a file; segments that are translated, approved, or not to be translated stay.

    So does text that is marked as another language than the source.
    """
    file = decode_declared(data)
    pieces = scan_xml(file.text)
    root = next(piece for piece in pieces if piece.name not in ("", COMMENT))
    version = root.attributes.get("version", "")[:1]
    if root.name != "xliff" or version not in LANGUAGES:
        raise DocumentError("this document is not XLIFF 1 or 2; export it anew as .xlf")
    element, *sides = LANGUAGES[version]
    for piece in root.walk():
        if piece.name == element and codes:
            _check_languages(codes, piece, *sides)
    reader = _Reader(LanguageMarks(codes))
    parts = reader.read_units(pieces, {}, is_translated=True)
    return make_file(parts, file.encode, reader.marks.untranslated)


def _check_languages(codes: LanguageCodes, tag: XmlPiece, source: str, target: str) -> None:
    """Make sure that a file is in two languages; write the target into its tag if it lacks."""
    given = tag.attributes
    check_language(given.get(source, ""), codes[0], "is in")
    check_language(given.get(target, ""), codes[1], "translates into")
    if not given.get(target):
        tag.raw = set_attribute(tag.raw, target, codes[1])


def _limit(tag: XmlPiece, outer: Mapping[bool, int]) -> dict[bool, int]:
    """Return the maximum sizes of translations in an element, by whether they are in bytes."""
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
    """An element with a source and its target."""

    element: XmlPiece
    limits: Mapping[bool, int]
    """Maximum sizes of the translation, in characters (False) and bytes (True)."""

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each child by its name."""
        return {child.name: place for place, child in enumerate(self.element.children)}

    @property
    def source(self) -> int | None:
        """The place of the source: the one cut into segments, if the unit has one."""
        return self.places.get("seg-source", self.places.get("source"))

    @property
    def target(self) -> XmlPiece | None:
        """The target, if there is one."""
        return self.element.children[self.places["target"]] if "target" in self.places else None

    @property
    def needs_translation(self) -> bool:
        """Tell whether it has no translation that somebody has approved."""
        given, target = self.element.attributes, self.target
        state = given.get("state")
        if target:
            state = target.attributes.get("state") or state
        if given.get("approved") == "yes" or state in APPROVED:
            return False
        inner = [each for child in target.children for each in child.walk()] if target else []
        is_empty = all(piece.name == "mrk" or not piece.raw.strip() for piece in inner)
        return is_empty or (state in UNTRANSLATED and given.get("subState") != DOUBTFUL)

    def is_too_long(self, target: str) -> bool:
        """Tell whether a target exceeds a limit."""
        text = read_text_of(scan_xml(f"<a>{target}</a>")) if self.limits else ""
        sizes = {True: len(text.encode()), False: len(text)}
        return any(sizes[unit] > limit for unit, limit in self.limits.items())

    def write(self, texts: Sequence[str], *, is_doubtful: bool) -> str:
        """Return the element with a target and its state."""
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
            start, end = self.places["target"], self.places["target"] + 1
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
        """Yield units to translate, and all that stands between them.

        The elements around them set maximum sizes, and whether they are to be translated.
        """
        for piece in pieces:
            if piece.role is not Role.OPEN:
                yield piece.raw
                continue
            wish = piece.attributes.get("translate")
            is_wanted = is_translated if wish is None else wish != "no"
            own_limits = _limit(piece, limits)
            if piece.name not in UNITS:
                yield piece.raw
                yield from self.read_units(piece.children, own_limits, is_translated=is_wanted)
                yield piece.end
            else:
                segment = _Segment(piece, own_limits)
                is_wanted = is_wanted and segment.source is not None and segment.needs_translation
                yield self._read_segment(segment) if is_wanted else piece.whole

    def _read_segment(self, segment: _Segment) -> Part:
        """Return the unit, or the text of one in another language; a long one is refused."""
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
        """Yield the pieces of a source: text, pairs around text, and elements for code."""
        for piece in pieces:
            given, is_pair = piece.attributes, piece.name in PAIRS
            is_other = is_pair and self.marks.is_other(given.get("xml:lang"))
            is_kept = given.get("translate") == "no" or given.get("mtype") == "protected"
            if piece.role is Role.TEXT:
                yield piece
            elif piece.role is Role.OPEN and is_pair and not (is_kept or is_other):
                is_segment = given.get("mtype") == "seg"
                yield Piece(Role.BLOCK if is_segment else Role.OPEN, piece.raw, name=piece.name)
                yield from self._read_inline(piece.children)
                yield Piece(Role.CLOSE, piece.end, name=piece.name)
            else:
                if is_other:
                    self.marks.count(read_text_of([piece]))
                yield self._read_code(piece)

    def _read_code(self, piece: XmlPiece) -> Piece:
        """Return an element for code: an empty tag, or one side of a pair."""
        given = piece.attributes
        number = given.get("startRef") or given.get("rid") or given.get("id") or ""
        role = Role.OPEN if piece.name in BEGINS else Role.EMPTY
        role = Role.CLOSE if piece.name in ENDS else role
        if piece.name == "x" and (tag := ANGULAR.fullmatch(number)):
            number = tag["name"]
            role = Role.OPEN if tag["end"] == "START" else Role.CLOSE
        return Piece(role, piece.whole, name=f"code {number}")

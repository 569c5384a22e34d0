"""XLIFF 1.2 and 2.x: segments with their translations and states.

The formats: https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html,
https://docs.oasis-open.org/xliff/xliff-core/v2.1/os/xliff-core-v2.1-os.html
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import LanguageMarks, TextDocument, decode_declared
from nmt_core.documents.html import COMMENT
from nmt_core.documents.messages import (
    CHOICE,
    Unit,
    UnitFile,
    UnitTranslation,
    check_language,
    check_length,
    leave_message,
)
from nmt_core.documents.segments import Piece, Role, join_raw
from nmt_core.documents.xml_pieces import (
    XmlPiece,
    find_children,
    find_end,
    read_embedded,
    scan_xml,
    set_attribute,
)
from nmt_core.text.language_codes import LanguageCodes


class _Version(NamedTuple):
    """What differs between the versions of XLIFF."""

    languages: str
    """The element that names the languages."""
    source: str
    target: str
    """Its attributes."""
    unit: str
    """The element with a source and its target."""
    pairs: frozenset[str]
    """Elements around text."""
    begins: frozenset[str]
    ends: frozenset[str]
    """Elements that are the beginning and the end of a pair."""


VERSIONS = {
    "1": _Version(
        *("file", "source-language", "target-language", "trans-unit"),
        frozenset({"g", "mrk"}),
        frozenset({"bx", "bpt"}),
        frozenset({"ex", "ept"}),
    ),
    "2": _Version(
        *("xliff", "srcLang", "trgLang", "segment"),
        frozenset({"pc", "mrk"}),
        frozenset({"sc", "sm"}),
        frozenset({"ec", "em"}),
    ),
}

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


def read_xliff_file(data: bytes, codes: LanguageCodes | None) -> UnitFile:
    """Read a file; segments that are translated, approved, or not to be translated stay.

    So does text that is marked as another language than the source.

    Raises:
        DocumentError: if it is not XLIFF, is in other languages, or has too long a unit.
    """
    file = decode_declared(data)
    pieces = scan_xml(file.text)
    root = next(piece for piece in pieces if piece.name not in ("", COMMENT))
    version = VERSIONS.get(root.attributes.get("version", "")[:1])
    if root.name != "xliff" or version is None:
        raise DocumentError("this document is not XLIFF 1 or 2; export it anew as .xlf")
    for piece in pieces:
        if piece.name == version.languages and piece.role is not Role.CLOSE and codes:
            _check_languages(piece, version, codes)
    marks = LanguageMarks(codes)
    return UnitFile([*_read_units(pieces, version, marks)], file.encode, marks.untranslated)


def _check_languages(tag: XmlPiece, version: _Version, codes: LanguageCodes) -> None:
    """Make sure that a file is in two languages; write the target into its tag if it lacks."""
    check_language(tag.attributes.get(version.source, ""), codes[0], "is in")
    target = tag.attributes.get(version.target, "")
    check_language(target, codes[1], "translates into")
    if not target:
        tag.raw = set_attribute(tag.raw, version.target, codes[1])


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


def _read_units(
    pieces: Sequence[XmlPiece], version: _Version, marks: LanguageMarks
) -> Iterator[str | Unit]:
    """Yield units to translate, and all that stands between them."""
    at = 0
    around: list[tuple[bool, Mapping[bool, int]]] = [(True, {})]  # is to be translated; limits
    while at < len(pieces):
        piece, end = pieces[at], at + 1
        if piece.role is Role.OPEN:
            wish = piece.attributes.get("translate")
            is_translated = around[-1][0] if wish is None else wish != "no"
            limits = _limit(piece, around[-1][1])
            if piece.name == version.unit:
                end = find_end(pieces, at)
                segment = _Segment.find(pieces[at:end], version, limits)
                if is_translated and segment is not None and segment.needs_translation:
                    yield segment.make_unit(marks)
                    at = end
                    continue
            else:
                around.append((is_translated, limits))
        elif piece.role is Role.CLOSE:
            around.pop()
        yield join_raw(pieces[at:end])
        at = end


@dataclass(frozen=True)
class _Segment:
    """An element with a source and its target."""

    pieces: Sequence[XmlPiece]
    """Of the element."""
    version: _Version
    source: tuple[int, int]
    """Begin and end of the source: the one cut into segments, if the unit has one."""
    target: tuple[int, int] | None
    limits: Mapping[bool, int]
    """Maximum sizes of the translation, in characters (False) and bytes (True)."""

    @classmethod
    def find(
        cls, pieces: Sequence[XmlPiece], version: _Version, limits: Mapping[bool, int]
    ) -> "_Segment | None":
        """Return the segment of an element; None if it lacks a source."""
        children = {
            pieces[first].name: (first, last)
            for first, last in find_children(pieces, 0, len(pieces))
        }
        source = children.get("seg-source") or children.get("source")
        return cls(pieces, version, source, children.get("target"), limits) if source else None

    @property
    def needs_translation(self) -> bool:
        """Tell whether it has no translation that somebody has approved."""
        given = self.pieces[0].attributes
        first, last = self.target or (0, 1)
        state = given.get("state")
        if self.target:
            state = self.pieces[first].attributes.get("state") or state
        if given.get("approved") == "yes" or state in APPROVED:
            return False
        inner = self.pieces[first + 1 : last - 1]
        is_empty = all(piece.name == "mrk" or not piece.raw.strip() for piece in inner)
        return is_empty or (state in UNTRANSLATED and given.get("subState") != DOUBTFUL)

    def is_too_long(self, target: str) -> bool:
        """Tell whether a target exceeds a limit."""
        pieces = scan_xml(f"<a>{target}</a>") if self.limits else ()
        text = "".join([piece.text for piece in pieces])
        sizes = {True: len(text.encode()), False: len(text)}
        return any(sizes[unit] > limit for unit, limit in self.limits.items())

    def make_unit(self, marks: LanguageMarks) -> str | Unit:
        """Return the unit, or the text of one in another language; a long one is refused."""
        first, last = self.source
        raw, inner = join_raw(self.pieces), self.pieces[first + 1 : last - 1]
        text = "".join([piece.text for piece in inner])
        check_length(raw)
        if marks.is_other(self.pieces[first].attributes.get("xml:lang")):
            marks.count(text)
            return raw
        if CHOICE.search(text):
            source = leave_message(join_raw(inner))
        else:
            source = TextDocument([read_embedded([*_read_inline(inner, self.version, marks)])])
        return Unit(raw, [source], partial(_write, self), is_bilingual=True)


def _write(segment: _Segment, translation: UnitTranslation) -> str:
    """Return the element with a target and its state."""
    opening, *others = segment.pieces
    source, [text] = segment.source, translation.texts
    is_doubtful = translation.is_doubtful or segment.is_too_long(text)
    name = f"{segment.pieces[source[0]].prefix}target"
    space = ""
    if segment.target is None:
        before = segment.pieces[source[0] - 1].raw if source[0] > 1 else ""
        space = before if not before.strip() else ""
        start = end = source[1]
        tag = f"<{name}>"
    else:
        start, end = segment.target
        tag = segment.pieces[start].raw
        if segment.pieces[start].role is Role.EMPTY:
            tag = tag.removesuffix("/>").rstrip() + ">"
    head = opening.raw
    if segment.version is VERSIONS["1"]:
        state = "needs-review-translation" if is_doubtful else "translated"
        tag = set_attribute(tag, "state", state)
    else:
        head = set_attribute(head, "state", "initial" if is_doubtful else "translated")
        head = set_attribute(head, "subState", DOUBTFUL if is_doubtful else None)
    kept = join_raw(others[: start - 1]), join_raw(others[end - 1 :])
    return f"{head}{kept[0]}{space}{tag}{text}</{name}>{kept[1]}"


def _read_inline(
    pieces: Sequence[XmlPiece], version: _Version, marks: LanguageMarks
) -> Iterator[Piece]:
    """Yield the pieces of a source: text, pairs around text, and elements for code."""
    at = 0
    while at < len(pieces):
        piece, end = pieces[at], at + 1
        given = piece.attributes
        is_other = piece.name in version.pairs and marks.is_other(given.get("xml:lang"))
        is_kept = given.get("translate") == "no" or given.get("mtype") == "protected" or is_other
        if piece.role is Role.TEXT:
            yield piece
        elif piece.role is Role.CLOSE:
            yield Piece(Role.CLOSE, piece.raw, name=piece.name)
        elif piece.role is Role.OPEN and piece.name in version.pairs and not is_kept:
            role = Role.BLOCK if given.get("mtype") == "seg" else Role.OPEN
            yield Piece(role, piece.raw, name=piece.name)
        else:
            end = find_end(pieces, at)
            if is_other:
                marks.count("".join([each.text for each in pieces[at:end]]))
            number = given.get("startRef") or given.get("rid") or given.get("id") or ""
            role = Role.OPEN if piece.name in version.begins else Role.EMPTY
            role = Role.CLOSE if piece.name in version.ends else role
            if piece.name == "x" and (tag := ANGULAR.fullmatch(number)):
                number = tag["name"]
                role = Role.OPEN if tag["end"] == "START" else Role.CLOSE
            yield Piece(role, join_raw(pieces[at:end]), name=f"code {number}")
        at = end

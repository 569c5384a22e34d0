"""XLIFF 1.2 and 2.x: segments with their translations and states.

The formats: https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html,
https://docs.oasis-open.org/xliff/xliff-core/v2.1/os/xliff-core-v2.1-os.html
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.documents.embedded import read_embedded
from nmt_core.documents.encodings import decode_declared
from nmt_core.documents.messages import LeftMessage, check_length
from nmt_core.documents.pieces import Piece, TextDocument, Type, join_raw
from nmt_core.documents.units import Unit, UnitFile, UnitTranslation, check_language
from nmt_core.documents.untranslated import LanguageMarks
from nmt_core.documents.xml_pieces import (
    COMMENT,
    XmlPiece,
    find_children,
    find_end,
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
"""The state below ``initial``, in XLIFF 2, of what a person must look at."""

SIZE_LIMITS = {"maxwidth": False, "maxlengthchars": False, "sizeRestriction": False}
SIZE_LIMITS |= {"maxbytes": True, "storageRestriction": True}
"""Attributes that limit the size of translations, and whether they count bytes. A width in pixels
is exceeded at the latest by as many characters. ``sizeRestriction`` is a maximum, or two numbers.
"""

MAXIMUM = re.compile(r"[1-9]\d{0,8}\s*$")

ANGULAR = re.compile(r"(?P<end>START|CLOSE)_(?P<name>\w+?)(?:_\d+)?")
"""What Angular writes for a tag as the id of an ``x``."""


def read_xliff_file(data: bytes, codes: LanguageCodes | None) -> UnitFile:
    """Read a file of segments.

    Those that are translated, approved, or not to be translated stay as they are.

    Args:
        data: the file.
        codes: of source and target, if they are known.

    Raises:
        DocumentError: if it is no such file, is of other languages, or has too long a unit.
    """
    file = decode_declared(data)
    pieces = scan_xml(file.text)
    root = next(piece for piece in pieces if piece.name not in ("", COMMENT))
    version = VERSIONS.get(root.attributes.get("version", "")[:1])
    if root.name != "xliff" or version is None:
        raise DocumentError("this document is no XLIFF 1 or 2; export it anew as .xlf")
    marks = LanguageMarks(codes)
    for piece in pieces:
        if piece.name == version.languages and piece.type is not Type.CLOSE and codes:
            _check_languages(piece, version, codes)
        if piece.name in version.pairs and marks.is_other(piece.attributes.get("xml:lang", "")):
            piece.attributes = {**piece.attributes, "translate": "no"}
            marks.count()
    return UnitFile([*_read_units(pieces, version)], file.encode, marks.untranslated)


def _check_languages(tag: XmlPiece, version: _Version, codes: LanguageCodes) -> None:
    """Make sure that a file is of two languages; write the target into its tag if it lacks."""
    check_language(tag.attributes.get(version.source, ""), codes[0], "is in")
    target = tag.attributes.get(version.target, "")
    check_language(target, codes[1], "translates into")
    if not target:
        tag.raw = set_attribute(tag.raw, version.target, codes[1])


def _read_units(pieces: Sequence[XmlPiece], version: _Version) -> Iterator[str | Unit]:
    """Yield units to translate, and all that stands between them."""
    at, scopes = 0, [_Scope()]
    while at < len(pieces):
        piece, end = pieces[at], at + 1
        if piece.type is Type.OPEN:
            scopes.append(scopes[-1].enter(piece))
            if piece.name == version.unit:
                end = find_end(pieces, at)
                unit = _Segment.find(pieces[at:end])
                scope = scopes.pop()
                if scope.is_translated and unit is not None and unit.wants_translation:
                    yield unit.make(version, scope.limits)
                    at = end
                    continue
        elif piece.type is Type.CLOSE:
            scopes.pop()
        yield join_raw(pieces[at:end])
        at = end


@dataclass
class _SizeLimit:
    """The size that the translations of an element may have together."""

    size: int
    in_bytes: bool
    taken: int = 0

    def is_exceeded(self, text: str) -> bool:
        """Add the written text of a target; tell whether it is too much."""
        plain = "".join(piece.text for piece in scan_xml(f"<a>{text}</a>"))
        self.taken += len(plain.encode() if self.in_bytes else plain)
        return self.taken > self.size


@dataclass(frozen=True)
class _Scope:
    """The properties that an element sets for its units."""

    is_translated: bool = True
    limits: Sequence[_SizeLimit] = ()

    def enter(self, tag: XmlPiece) -> "_Scope":
        """Return the scope of an element within."""
        said = tag.attributes.get("translate")
        in_bytes = tag.attributes.get("size-unit") == "byte"
        given = {name.rpartition(":")[2]: value for name, value in tag.attributes.items()}
        limits = [
            _SizeLimit(int(size[0]), in_bytes or is_bytes)
            for name, is_bytes in SIZE_LIMITS.items()
            if (size := MAXIMUM.search(given.get(name, "")))
        ]
        return _Scope(
            self.is_translated if said is None else said != "no",
            [*self.limits, *limits],
        )


@dataclass(frozen=True)
class _Segment:
    """An element with a source and its target."""

    pieces: Sequence[XmlPiece]
    """Of the element."""
    source: tuple[int, int]
    """Where what is translated begins and ends: the cut source, if there is one."""
    target: tuple[int, int] | None

    @classmethod
    def find(cls, pieces: Sequence[XmlPiece]) -> "_Segment | None":
        """Return the segment of an element; None if it lacks a source."""
        found = {
            pieces[first].name: (first, last)
            for first, last in find_children(pieces, 0, len(pieces))
        }
        source = found.get("seg-source") or found.get("source")
        return cls(pieces, source, found.get("target")) if source else None

    @property
    def wants_translation(self) -> bool:
        """Tell whether it has no translation that somebody has approved."""
        given = self.pieces[0].attributes
        if self.target is None:
            return given.get("approved") != "yes" and given.get("state") not in APPROVED
        first, last = self.target
        state = self.pieces[first].attributes.get("state") or given.get("state")
        if given.get("approved") == "yes" or state in APPROVED:
            return False
        inner = self.pieces[first + 1 : last - 1]  # or nothing but marks of segments
        is_empty = all(piece.name == "mrk" or not piece.raw.strip() for piece in inner)
        return is_empty or (state in UNTRANSLATED and given.get("subState") != DOUBTFUL)

    def make(self, version: _Version, limits: Sequence[_SizeLimit]) -> Unit:
        """Return the unit.

        Args:
            version: of the file.
            limits: a translation that exceeds one needs review.

        Raises:
            DocumentError: if it is too long.
        """
        first, last = self.source
        raw = join_raw(self.pieces)
        check_length(raw)
        source = _read_source(self.pieces[first + 1 : last - 1], version)

        def write(translation: UnitTranslation) -> str:
            [text] = translation.texts
            is_too_long = sum(limit.is_exceeded(text) for limit in limits) > 0
            return self._write(text, version, doubtful=translation.doubtful or is_too_long)

        return Unit(raw, [source], write, is_bilingual=True)

    def _write(self, text: str, version: _Version, *, doubtful: bool) -> str:
        """Return the element with a target and its state."""
        opening, *others = self.pieces
        name = f"{self.pieces[self.source[0]].prefix}target"
        if self.target is None:
            before = self.pieces[self.source[0] - 1].raw if self.source[0] > 1 else ""
            space = before if not before.strip() else ""
            start = end = self.source[1]
            tag = f"<{name}>"
        else:
            space = ""
            start, end = self.target
            tag = self.pieces[start].raw.removesuffix("/>").rstrip() + ">"
            tag = tag if self.pieces[start].type is Type.POINT else self.pieces[start].raw
        head = opening.raw
        if version is VERSIONS["1"]:
            tag = set_attribute(
                tag, "state", "needs-review-translation" if doubtful else "translated"
            )
        else:
            head = set_attribute(head, "state", "initial" if doubtful else "translated")
            head = set_attribute(head, "subState", DOUBTFUL if doubtful else None)
        kept = join_raw(others[: start - 1]), join_raw(others[end - 1 :])
        return f"{head}{kept[0]}{space}{tag}{text}</{name}>{kept[1]}"


def _read_source(pieces: Sequence[XmlPiece], version: _Version) -> TextDocument:
    """Read a source, a message that may hold inline markup."""
    message = read_embedded([*_read_inline(pieces, version)])
    return TextDocument([message]) if message else LeftMessage(join_raw(pieces))


def _read_inline(pieces: Sequence[XmlPiece], version: _Version) -> Iterator[Piece]:
    """Yield the pieces of a source: text, pairs around text, and what stands for code."""
    at = 0
    while at < len(pieces):
        piece, end = pieces[at], at + 1
        if piece.type is Type.TEXT:
            yield piece
        elif piece.type is Type.CLOSE:
            yield Piece(Type.CLOSE, piece.raw, name=piece.name)
        elif piece.type is Type.OPEN and piece.name in version.pairs and not _is_kept(piece):
            type_ = Type.WALL if piece.attributes.get("mtype") == "seg" else Type.OPEN
            yield Piece(type_, piece.raw, name=piece.name)
        else:
            end = find_end(pieces, at)
            given = piece.attributes
            number = given.get("startRef") or given.get("rid") or given.get("id") or ""
            type_ = Type.OPEN if piece.name in version.begins else Type.POINT
            type_ = Type.CLOSE if piece.name in version.ends else type_
            if piece.name == "x" and (tag := ANGULAR.fullmatch(number)):
                number = tag["name"]
                type_ = Type.OPEN if tag["end"] == "START" else Type.CLOSE
            yield Piece(type_, join_raw(pieces[at:end]), name=f"code {number}")
        at = end


def _is_kept(mark: XmlPiece) -> bool:
    """Tell whether a mark is around text that is not to be translated."""
    return mark.attributes.get("translate") == "no" or mark.attributes.get("mtype") == "protected"

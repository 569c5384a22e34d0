"""XLIFF 1.2 and 2.x: segments with their translations and states.

The formats: https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html,
https://docs.oasis-open.org/xliff/xliff-core/v2.1/os/xliff-core-v2.1-os.html
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.documents.messages import (
    BRANCHING,
    LeftMessage,
    check_length,
    escape_branch,
    read_choice,
)
from nmt_core.documents.pieces import Piece, TextDocument, Type, Written, make_parts
from nmt_core.documents.units import Unit, UnitFile, UnitTranslation, check_language
from nmt_core.documents.xml_pieces import (
    COMMENT,
    XmlPiece,
    decode_xml,
    escape_xml,
    find_children,
    find_end,
    join_raw,
    scan_xml,
    set_attribute,
    split_text,
    write_xml,
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

ANGULAR = re.compile(r"(?P<end>START|CLOSE)_(?P<name>\w+?)(?:_\d+)?")
"""What Angular writes for a tag as the id of an ``x``."""

CODE = "\uffff"
"""Stands for inline markup, as XML has no such character."""


def read_xliff_file(data: bytes, codes: LanguageCodes | None) -> UnitFile:
    """Read a file of segments.

    Those that are translated, approved, or not to be translated stay as they are.

    Args:
        data: the file.
        codes: of source and target, if they are known.

    Raises:
        DocumentError: if it is no such file, is of other languages, or has too long a unit.
    """
    file = decode_xml(data)
    pieces = scan_xml(file.text)
    root = next(piece for piece in pieces if piece.name not in ("", COMMENT))
    version = VERSIONS.get(root.attributes.get("version", "")[:1])
    if root.name != "xliff" or version is None:
        raise DocumentError("this document is no XLIFF 1 or 2; export it anew as .xlf")
    for piece in pieces:
        if piece.name == version.languages and piece.type is not Type.CLOSE and codes:
            _check_languages(piece, version, codes)
    return UnitFile([*_read_units(pieces, version)], file.encode)


def _check_languages(tag: XmlPiece, version: _Version, codes: LanguageCodes) -> None:
    """Make sure that a file is of two languages; write the target into its tag if it lacks."""
    check_language(tag.attributes.get(version.source, ""), codes[0], "is in")
    target = tag.attributes.get(version.target, "")
    check_language(target, codes[1], "translates into")
    if not target:
        tag.raw = set_attribute(tag.raw, version.target, codes[1])


def _read_units(pieces: Sequence[XmlPiece], version: _Version) -> Iterator[str | Unit]:
    """Yield units to translate, and all that stands between them."""
    at, translated = 0, [True]
    while at < len(pieces):
        piece, end = pieces[at], at + 1
        if piece.type is Type.OPEN:
            said = piece.attributes.get("translate")
            translated.append(translated[-1] if said is None else said != "no")
            if piece.name == version.unit:
                end = find_end(pieces, at)
                unit = _Segment.find(pieces[at:end])
                if translated.pop() and unit is not None and unit.wants_translation:
                    yield unit.make(version)
                    at = end
                    continue
        elif piece.type is Type.CLOSE:
            translated.pop()
        yield join_raw(pieces[at:end])
        at = end


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

    def make(self, version: _Version) -> Unit:
        """Return the unit.

        Raises:
            DocumentError: if it is too long.
        """
        first, last = self.source
        raw = join_raw(self.pieces)
        check_length(raw)
        source = _read_source(self.pieces[first + 1 : last - 1], version)

        def write(translation: UnitTranslation) -> str:
            [text] = translation.texts
            return self._write(text, version, doubtful=translation.doubtful)

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
    """Read a source; of a choice by ICU, which may hold inline markup, the branches."""
    inline = [*_read_inline(pieces, version)]
    text = "".join(piece.text if piece.is_text else CODE for piece in inline)
    if not BRANCHING.search(text):
        return TextDocument(make_parts(inline, escape_xml))
    choice = read_choice(text)
    if choice is None:
        return LeftMessage(join_raw(pieces))
    codes = iter(piece for piece in inline if not piece.is_text)
    parts = [
        next(codes) if part == CODE else Piece(piece.type, write_xml(part), part)
        for piece in choice
        for part in re.split(f"({CODE})", piece.raw)
    ]
    return TextDocument(make_parts(parts, _escape_branch))


def _escape_branch(raw: str, written: Sequence[Written]) -> list[str]:
    texts = escape_branch(raw, written)
    return [
        part.text if part.mark else write_xml(text)
        for part, text in zip(written, texts, strict=True)
    ]


def _read_inline(pieces: Sequence[XmlPiece], version: _Version) -> Iterator[Piece]:
    """Yield the pieces of a source: text, pairs around text, and what stands for code."""
    at = 0
    while at < len(pieces):
        piece, end = pieces[at], at + 1
        if piece.type is Type.TEXT:
            yield from split_text(piece)
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

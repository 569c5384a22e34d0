"""Excel workbooks (.xlsx): texts of cells are translated; numbers and formulas stay."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial

from nmt_core.documents.archive import ArchiveKind, read_archive, read_archived
from nmt_core.documents.declarations import decode_declared
from nmt_core.documents.document import FileDocument, Reason, TextDocument, Untranslated
from nmt_core.documents.ooxml import RunStyle, read_runs
from nmt_core.documents.pieces import Part, Role, join_raw
from nmt_core.documents.xml_pieces import (
    XmlPiece,
    find_children,
    read_elements,
    scan_xml,
    set_attribute,
)
from nmt_core.text.language_codes import LanguageCodes

WORKBOOK = ArchiveKind(
    "workbook",
    ".xlsx",
    re.compile(
        r"xl/(?:workbook|sharedStrings|worksheets/sheet\d+|tables/table\d+|pivotCache/[^/]+)\.xml"
    ),
    needed="xl/workbook.xml",
)
BOOK = "xl/workbook.xml"
BEFORE_CALCULATION = ("sheets", "functionGroups", "externalReferences", "definedNames")
"""The file that says how formulas are calculated, and what stands before that in it."""

STRINGS = re.compile(r"xl/(?:sharedStrings|worksheets/sheet\d+)\.xml")
COLUMN = re.compile(r'<(?:\w+:)?(?:tableColumn|cacheField)\s[^<>]*?\bname="([^"]*)"')
"""Columns of tables, whose names must be those of cells."""

FORMULA = re.compile(
    r"<(?:\w+:)?(?:f|formula[12]?|definedName|calculatedColumnFormula|totalsRowFormula)\b[^<>]*>"
    r"([^<>]+)<"
)
FILTER = re.compile(r'<(?:\w+:)?(?:filter|customFilter)\s[^<>]*?\bval="([^"<>]*)"')
"""The elements that hold formulas, and those that name the values that a filter shows."""

LITERAL = re.compile(r'"((?:[^"]++|"")*+)"?')
TAKES_APART = re.compile(
    r"\b(?:SEARCH|FIND|LEFT|RIGHT|MID|SUBSTITUTE|REPLACE|TEXT(?:BEFORE|AFTER|SPLIT))B?\(",
    re.IGNORECASE,
)
"""Functions that look at a part of a text."""

SHORTEST_PART = 2
"""Minimum characters of a text that is looked for in others; shorter ones are in most texts."""

CELL = RunStyle(frozenset({"rPh", "phoneticPr"}), is_spaced=True, is_cell=True)


def read_workbook(data: bytes, _: LanguageCodes | None = None) -> FileDocument:
    """Read a workbook.

    Texts that name columns of tables stay, and so do those that formulas, lists of choices,
    conditions or filters compare with. Formulas are calculated anew when it is opened.

    Raises:
        DocumentError: see :func:`read_archive`.
    """
    files = read_archive(data, WORKBOOK)
    compared = _ComparedTexts(
        {name: decode_declared(content).text for name, content in files.items()}
    )
    read = {name: content for name, content in files.items() if STRINGS.fullmatch(name)}
    if compared.has_formulas:
        read[BOOK] = files[BOOK]
    return read_archived(data, read, partial(_read_file, compared=compared))


class _ComparedTexts:
    """Texts that must stay, since something compares with them."""

    def __init__(self, files: dict[str, str]) -> None:
        self.columns: set[str] = set()
        self.has_formulas = False
        self._texts: set[str] = set()
        self._patterns: set[str] = set()
        for name, text in files.items():
            if not STRINGS.fullmatch(name):
                self.columns.update(map(html.unescape, COLUMN.findall(text)))
            for formula in FORMULA.findall(text):
                self.has_formulas = True
                self._add(_list_literals(html.unescape(formula)))
            self._add(map(html.unescape, FILTER.findall(text)))

    def _add(self, literals: Iterable[str]) -> None:
        """Add texts with letters, as ``Yes``, ``<>Yes`` or ``Yes*``."""
        for literal in literals:
            text = literal.lstrip("<>=").strip().casefold()
            if any(map(str.isalpha, text)):
                has_wildcards = "*" in text or "?" in text
                (self._patterns if has_wildcards else self._texts).add(text.replace("[", "[[]"))

    def __contains__(self, text: str) -> bool:
        """Tell whether something compares with the text of a cell; case does not matter."""
        folded = text.strip().casefold()
        return folded.replace("[", "[[]") in self._texts or any(
            fnmatchcase(folded, pattern) for pattern in self._patterns
        )


def _list_literals(formula: str) -> Iterator[str]:
    """Yield the texts that a formula or a list of choices compares with, perhaps with ``*``."""
    is_list = LITERAL.fullmatch(formula.strip())
    for quoted in LITERAL.findall(formula):
        literal = quoted.replace('""', '"')
        yield literal
        if is_list:
            yield from literal.split(",")
        if TAKES_APART.search(formula) and len(literal) >= SHORTEST_PART:
            yield f"*{literal}*"


def _read_file(name: str, text: str, *, compared: _ComparedTexts) -> TextDocument:
    pieces = scan_xml(text)
    if name == BOOK:
        return TextDocument([_request_calculation(pieces)])
    untranslated = Untranslated()
    read = partial(_read_string, compared=compared, untranslated=untranslated)
    parts = read_elements(pieces, lambda tag: tag.name in {"si", "is"}, read)
    return TextDocument(parts, untranslated)


def _read_string(
    pieces: Sequence[XmlPiece], *, compared: _ComparedTexts, untranslated: Untranslated
) -> Iterator[Part]:
    text = "".join([piece.text for piece in pieces])
    if text in compared.columns:
        yield join_raw(pieces)
    elif text in compared:
        untranslated[Reason.COMPARED] += 1
        yield join_raw(pieces)
    else:
        yield from read_runs(pieces, CELL)


def _request_calculation(pieces: Sequence[XmlPiece]) -> str:
    """Return the file of a workbook so that all formulas are calculated when it is opened."""
    root = next((n for n, piece in enumerate(pieces) if piece.role is Role.OPEN), 0)
    children = {
        pieces[first].name: (pieces[first], pieces[last - 1])
        for first, last in find_children(pieces, root, len(pieces))
    }
    if "calcPr" in children:
        settings, _ = children["calcPr"]
        settings.raw = set_attribute(settings.raw, "fullCalcOnLoad", "1")
    elif before := [end for name, (_, end) in children.items() if name in BEFORE_CALCULATION]:
        before[-1].raw += f'<{pieces[root].prefix}calcPr fullCalcOnLoad="1"/>'
    return join_raw(pieces)

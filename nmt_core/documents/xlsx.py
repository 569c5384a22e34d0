"""Excel workbooks (.xlsx): texts of cells are translated; numbers and formulas stay."""

import html
import re
from collections.abc import Iterator, Sequence
from functools import partial

from nmt_core.documents.archive import ArchivedDocument, ArchiveKind, read_archive
from nmt_core.documents.compared_texts import ComparedTexts
from nmt_core.documents.encodings import decode_declared
from nmt_core.documents.pieces import Part, TextDocument, Type, join_raw
from nmt_core.documents.runs import RunStyle, read_runs
from nmt_core.documents.untranslated import Reason, Untranslated
from nmt_core.documents.xml_pieces import (
    XmlPiece,
    find_children,
    read_elements,
    scan_xml,
    set_attribute,
)

WORKBOOK = ArchiveKind(
    "workbook",
    ".xlsx",
    re.compile(
        r"xl/(?:workbook|sharedStrings|worksheets/sheet\d+|tables/table\d+|pivotCache/.*)\.xml"
    ),
    needed="xl/workbook.xml",
)
BOOK = "xl/workbook.xml"
BEFORE_CALCULATION = ("sheets", "functionGroups", "externalReferences", "definedNames")
"""The file that says how formulas are calculated, and what stands before that in it."""

STRINGS = re.compile(r"xl/(?:sharedStrings|worksheets/sheet\d+)\.xml")
COLUMN = re.compile(rb'<(?:\w+:)?(?:tableColumn|cacheField)\s[^<>]*?\bname="([^"]*)"')
"""Columns of tables, whose names must be those of cells."""

RUNS = RunStyle("r", "rPr", frozenset({"rPh", "phoneticPr"}), spaced=True, bare=True)


def read_workbook(data: bytes) -> ArchivedDocument:
    """Read a workbook.

    Texts that name columns of tables stay, and so do those that formulas, lists of choices,
    conditions or filters compare with. Formulas are calculated anew when it is opened.

    Raises:
        DocumentError: if it is none, holds macros, is encrypted, or unpacks to too much.
    """
    files = read_archive(data, WORKBOOK)
    names = {
        html.unescape(name.decode(errors="replace"))
        for file, content in files.items()
        if not STRINGS.fullmatch(file)
        for name in COLUMN.findall(content)
    }
    compared = ComparedTexts(decode_declared(content).text for content in files.values())
    read = {name: content for name, content in files.items() if STRINGS.fullmatch(name)}
    if compared.has_formulas:
        read[BOOK] = files[BOOK]
    return ArchivedDocument(data, read, partial(_read_file, columns=names, compared=compared))


def _read_file(name: str, text: str, *, columns: set[str], compared: ComparedTexts) -> TextDocument:
    pieces = scan_xml(text)
    if name == BOOK:
        return TextDocument([_request_calculation(pieces)])
    untranslated = Untranslated()
    read = partial(_read_string, columns=columns, compared=compared, untranslated=untranslated)
    parts = read_elements(pieces, lambda tag: tag.name in {"si", "is"}, read)
    return TextDocument(parts, untranslated)


def _read_string(
    pieces: Sequence[XmlPiece],
    *,
    columns: set[str],
    compared: ComparedTexts,
    untranslated: Untranslated,
) -> Iterator[Part]:
    text = "".join(piece.text for piece in pieces)
    if text in columns:
        yield join_raw(pieces)
    elif text in compared:
        untranslated[Reason.COMPARED] += 1
        yield join_raw(pieces)
    else:
        yield from read_runs(pieces, RUNS)


def _request_calculation(pieces: Sequence[XmlPiece]) -> str:
    """Return the file of a workbook so that what opens it calculates all formulas."""
    root = next((n for n, piece in enumerate(pieces) if piece.type is Type.OPEN), 0)
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

"""Excel workbooks (.xlsx): texts of cells are translated; numbers and formulas stay."""

import html
import re
from collections.abc import Iterator, Sequence
from functools import partial

from nmt_core.documents.archive import ArchivedDocument, ArchiveKind, read_archive
from nmt_core.documents.pieces import Part, TextDocument, join_raw
from nmt_core.documents.runs import RunStyle, read_runs
from nmt_core.documents.xml_pieces import XmlPiece, read_elements, scan_xml

WORKBOOK = ArchiveKind(
    "workbook",
    ".xlsx",
    re.compile(r"xl/(?:sharedStrings|worksheets/sheet\d+|tables/table\d+|pivotCache/.*)\.xml"),
    needed="xl/workbook.xml",
)
STRINGS = re.compile(r"xl/(?:sharedStrings|worksheets/sheet\d+)\.xml")
COLUMN = re.compile(rb'<(?:\w+:)?(?:tableColumn|cacheField)\s[^<>]*?\bname="([^"]*)"')
"""Columns of tables, whose names must be those of cells."""

RUNS = RunStyle("r", "rPr", frozenset({"rPh", "phoneticPr"}), spaced=True, bare=True)


def read_workbook(data: bytes) -> ArchivedDocument:
    """Read a workbook; texts that name columns of tables stay.

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
    strings = {name: content for name, content in files.items() if STRINGS.fullmatch(name)}
    return ArchivedDocument(data, strings, partial(_read_strings, kept=names))


def _read_strings(_: str, text: str, *, kept: set[str]) -> TextDocument:
    read = partial(_read_string, kept=kept)
    return TextDocument(read_elements(scan_xml(text), lambda tag: tag.name in {"si", "is"}, read))


def _read_string(pieces: Sequence[XmlPiece], *, kept: set[str]) -> Iterator[Part]:
    if "".join(piece.text for piece in pieces) in kept:
        yield join_raw(pieces)
    else:
        yield from read_runs(pieces, RUNS)

"""Office Open XML: paragraphs of runs, presentations (.pptx) and workbooks (.xlsx).

A run is text with properties, such as bold. Most of a paragraph looks alike; runs that look
otherwise are pairs around text, and a translation is written as new runs.
"""

import html
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

from nmt_core.documents.archive import ArchiveKind, read_archive, read_archived
from nmt_core.documents.document import FileDocument, Reason, TextDocument, Untranslated
from nmt_core.documents.encodings import decode_declared
from nmt_core.documents.passage import HARD_BREAK, TagKind
from nmt_core.documents.pieces import Part, Piece, Role, Written, join_raw, make_parts
from nmt_core.documents.xml_pieces import (
    XmlPiece,
    find_children,
    find_end,
    read_elements,
    scan_xml,
    set_attribute,
    write_xml,
)
from nmt_core.text.language_codes import LanguageCodes

INVISIBLE = ("lang", "altLang", "dirty", "err", "noProof", "smtClean", "smtId", "rPrChange")
"""Attributes and elements of properties that do not change looks."""

FORMAT = "\x01"
"""Begins the properties of a pair, in the place of markup; XML forbids it."""

LINE_END = re.compile(r"(?:_x000D_)?(?:\r\n|\r|\n)")
"""A line end in a cell; Excel writes those of Windows so."""


class RunStyle(NamedTuple):
    """Elements by which a format writes runs; names are without their prefix."""

    kept: frozenset[str] = frozenset()
    """Elements beside runs that end a sentence, or stand before and after all of them."""
    is_spaced: bool = False
    """Whether an attribute says that white space is kept."""
    is_cell: bool = False
    """Whether lines of text are lines, and a text may stand outside of runs."""


@dataclass
class Run(Piece):
    """A text with its properties."""

    before: str = ""
    """The markup before the text in ``raw``."""
    after: str = ""
    properties: str = ""


def read_runs(pieces: Sequence[XmlPiece], style: RunStyle) -> Iterator[Part]:
    """Yield the parts of the content of a paragraph of PowerPoint or Excel."""
    runs: list[Piece] = []
    at = 0
    while at < len(pieces):
        piece, end = pieces[at], find_end(pieces, at)
        inner = pieces[at:end]
        run = None
        if piece.role is Role.OPEN and piece.name in {"r", "t"}:
            run = _read_run(inner)
        is_block = piece.name in style.kept or not piece.name
        role = Role.BLOCK if is_block else Role.EMPTY
        runs.append(run or Piece(role, join_raw(inner)))
        at = end
    prefix = next((piece.prefix for piece in pieces if piece.prefix), "")
    is_bare = style.is_cell and not any(piece.name == "r" for piece in pieces)
    yield from make_run_parts(runs, style, prefix, is_bare=is_bare)


def _read_run(pieces: Sequence[XmlPiece]) -> Run | None:
    """Return a run, or a text outside of one; None if it holds anything else."""
    properties, at, end = "", 0, len(pieces)
    if pieces[0].name == "r":
        for first, last in find_children(pieces, 0, len(pieces)):
            if pieces[first].name == "rPr":
                properties = read_properties(pieces[first:last])
            elif pieces[first].name == "t" and at == 0:
                at, end = first, last
            elif pieces[first].text.strip() or pieces[first].name:
                return None
    match pieces[at:end]:
        case [opening, text, _] if opening.name == "t":
            before, after = join_raw(pieces[: at + 1]), join_raw(pieces[at + 2 :])
            return Run(
                *(Role.TEXT, before + text.raw + after, text.text),
                before=before,
                after=after,
                properties=properties,
            )
    return None


def read_properties(pieces: Sequence[XmlPiece]) -> str:
    """Return the element of properties without what does not change looks; empty if that is all."""
    tag = pieces[0].raw
    for name in INVISIBLE:
        tag = set_attribute(tag, name, None)
    children = [
        join_raw(pieces[first:last])
        for first, last in find_children(pieces, 0, len(pieces))
        if pieces[first].name not in INVISIBLE
    ]
    is_plain = not re.search(r"\s", tag.rstrip("/> \t\r\n"))
    if is_plain and not "".join(children).strip():
        return ""
    return "".join([tag, *children, *[piece.raw for piece in pieces[1:][-1:]]])


def make_run_parts(
    runs: Sequence[Piece], style: RunStyle, prefix: str, *, is_bare: bool = False
) -> Iterator[Part]:
    """Yield the parts of a paragraph of runs and what stands between them.

    If it is bare, its text stands outside of runs.
    """
    lengths: Counter[str] = Counter()
    for run in runs:
        if isinstance(run, Run):
            lengths[run.properties] += len(run.text)
    usual = lengths.most_common(1)[0][0] if lengths else ""
    space = ' xml:space="preserve"' if style.is_spaced else ""
    opening, closing = f"<{prefix}t{space}>", f"</{prefix}t>"
    run_tags = ("", "") if is_bare else (f"<{prefix}r>", f"</{prefix}r>")
    write = partial(
        _write_runs,
        usual=usual,
        before=run_tags[0] + ("" if is_bare else "{}") + opening,
        after=closing + run_tags[1],
    )
    yield from make_parts([*_mark_runs(runs, usual, has_lines=style.is_cell)], write)


def _mark_runs(runs: Sequence[Piece], usual: str, *, has_lines: bool) -> Iterator[Piece]:
    """Yield the pieces of a paragraph, with a pair around texts that look unlike most."""
    for properties, group in groupby(runs, lambda run: getattr(run, "properties", None)):
        pieces = [*group]
        alike = [piece for piece in pieces if isinstance(piece, Run)]
        if properties is None:
            yield from pieces
        elif properties == usual:
            yield from _read_texts(alike, is_outer=True, has_lines=has_lines)
        else:
            name, shown = f"run {properties}", FORMAT + properties
            yield Piece(Role.OPEN, alike[0].before, name=name, rewritten=shown)
            yield from _read_texts(alike, is_outer=False, has_lines=has_lines)
            yield Piece(Role.CLOSE, alike[-1].after, name=name, rewritten=FORMAT)


def _read_texts(runs: Sequence[Run], *, is_outer: bool, has_lines: bool) -> Iterator[Piece]:
    """Yield the texts of runs that look alike, with their tags, or without the outer ones.

    In a cell, somebody has typed each line end, and it ends a sentence.
    """
    for number, run in enumerate(runs):
        start = 0 if is_outer or number else len(run.before)
        end = len(run.raw) - (0 if is_outer or number + 1 < len(runs) else len(run.after))
        text = LINE_END.sub(HARD_BREAK, run.text) if has_lines else run.text
        yield Piece(Role.TEXT, run.raw[start:end], text)


def _write_runs(
    _: str, written: Sequence[Written], *, usual: str, before: str, after: str
) -> list[str]:
    """Write a translation as runs, each text with the properties of the pair that it stands in.

    Markup stands before and after each text, with ``{}`` in the place of its properties.
    """
    current, parts = [usual], []
    for text, tag in written:
        if tag is None:
            lines = "&#10;".join(map(write_xml, text.split(HARD_BREAK)))
            parts.append(f"{before.replace('{}', current[-1])}{lines}{after}" if text else "")
        elif not text.startswith(FORMAT):
            parts.append(text)
        else:
            if tag.kind is TagKind.OPEN:
                current.append(text.removeprefix(FORMAT))
            else:
                current.pop()
            parts.append("")
    return parts


PRESENTATION = ArchiveKind(
    "presentation",
    ".pptx",
    re.compile(r"ppt/(?:slides/slide|notesSlides/notesSlide|diagrams/data|charts/chart)\d*\.xml"),
    needed="ppt/presentation.xml",
)
SLIDE = RunStyle(frozenset({"pPr", "br", "endParaRPr"}))


def read_presentation(data: bytes, _: LanguageCodes | None = None) -> FileDocument:
    """Read a presentation of PowerPoint (.pptx): slides, notes, and descriptions of pictures.

    Raises:
        DocumentError: see :func:`read_archive`.
    """
    return read_archived(data, read_archive(data, PRESENTATION), _read_slide)


def _read_slide(_: str, text: str) -> TextDocument:
    read = partial(read_runs, style=SLIDE)
    pieces = scan_xml(text)
    return TextDocument(read_elements(pieces, lambda tag: tag.name == "p", read, described="cNvPr"))


WORKBOOK = ArchiveKind(
    "workbook",
    ".xlsx",
    re.compile(
        r"xl/(?:workbook|sharedStrings|worksheets/sheet\d+|tables/table\d+|pivotCache/[^/]+)\.xml"
    ),
    needed="xl/workbook.xml",
)
BOOK = "xl/workbook.xml"
STRINGS = re.compile(r"xl/(?:sharedStrings|worksheets/sheet\d+)\.xml")
COLUMN = re.compile(r'<(?:\w+:)?(?:tableColumn|cacheField)\s[^<>]*?\bname="([^"]*)"')
"""Columns of tables, whose names must be those of cells."""

FORMULA = re.compile(
    r"<(?:\w+:)?(?:f|formula[12]?|definedName|calculatedColumnFormula|totalsRowFormula)\b[^<>]*>"
    r"([^<>]+)<"
)
FILTER = re.compile(r'<(?:\w+:)?(?:filter|customFilter)\s[^<>]*?\bval="([^"<>]*)"')
"""The elements that hold formulas, and those that name the values that a filter shows."""

LITERAL = re.compile(r'"((?:[^"]|"")*+)"')
"""A text in a formula, with its quotes doubled."""

CALCULATION = re.compile(r"<(?:\w+:)?calcPr\b[^<>]*>")
"""How formulas are calculated, in :data:`BOOK`."""

CELL = RunStyle(frozenset({"rPh", "phoneticPr"}), is_spaced=True, is_cell=True)


def read_workbook(data: bytes, _: LanguageCodes | None = None) -> FileDocument:
    """Read a workbook: texts of cells are translated; numbers and formulas stay.

    Texts that name columns of tables stay, and so do those that formulas, lists of choices,
    conditions or filters name. Formulas are calculated anew when it is opened.

    Raises:
        DocumentError: see :func:`read_archive`.
    """
    files = read_archive(data, WORKBOOK)
    texts = {name: decode_declared(content).text for name, content in files.items()}
    formulas = [html.unescape(each) for text in texts.values() for each in FORMULA.findall(text)]
    compared = {*_list_literals(formulas)}
    columns: set[str] = set()
    for name, text in texts.items():
        compared |= {_fold(html.unescape(value)) for value in FILTER.findall(text)}
        if not STRINGS.fullmatch(name):
            columns |= {html.unescape(column) for column in COLUMN.findall(text)}
    read = {name: content for name, content in files.items() if STRINGS.fullmatch(name)}
    if formulas:
        read[BOOK] = files[BOOK]
    return read_archived(data, read, partial(_read_sheet, compared=compared, columns=columns))


def _list_literals(formulas: Iterable[str]) -> Iterator[str]:
    """Yield the texts in formulas, and each item of a list of choices."""
    for formula in formulas:
        for quoted in LITERAL.findall(formula):
            literal = quoted.replace('""', '"')
            yield _fold(literal)
            yield from map(_fold, literal.split(","))


def _fold(text: str) -> str:
    """Return a text as Excel compares it, without the operator of a criterion as ``<>Yes``."""
    return text.lstrip("<>=").strip().casefold()


def _read_sheet(
    name: str, text: str, *, compared: Container[str], columns: Container[str]
) -> TextDocument:
    if name == BOOK:
        return TextDocument([CALCULATION.sub(_request_calculation, text)])
    untranslated = Untranslated()

    def read(pieces: Sequence[XmlPiece]) -> Iterator[Part]:
        """Yield the parts of the text of a cell."""
        content = "".join([piece.text for piece in pieces])
        is_compared = _fold(content) in compared and any(map(str.isalpha, content))
        if content in columns or is_compared:
            untranslated[Reason.COMPARED] += content not in columns
            yield join_raw(pieces)
        else:
            yield from read_runs(pieces, CELL)

    parts = read_elements(scan_xml(text), lambda tag: tag.name in {"si", "is"}, read)
    return TextDocument(parts, untranslated)


def _request_calculation(settings: re.Match[str]) -> str:
    """Return the settings of formulas so that all are calculated when the workbook is opened."""
    return set_attribute(settings[0], "fullCalcOnLoad", "1")

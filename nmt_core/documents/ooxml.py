"""Office Open XML: runs of text, presentations (.pptx) and workbooks (.xlsx).

A run is text with properties, such as bold. Runs with other properties than most of the paragraph
become pairs of inline tags; a translation is written as new runs.
"""

import html
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from nmt_core.documents.archive import ArchiveKind, read_archive, read_archived
from nmt_core.documents.document import Document, Reason, Untranslated, decode_declared
from nmt_core.documents.segments import (
    HARD_BREAK,
    Part,
    Piece,
    Role,
    Written,
    join_raw,
    keep_unchanged,
    make_parts,
)
from nmt_core.documents.xml_pieces import (
    XmlPiece,
    join_whole,
    read_elements,
    read_text_of,
    scan_xml,
    set_attribute,
    write_xml,
)
from nmt_core.text.language_codes import LanguageCodes

INVISIBLE = ("lang", "altLang", "dirty", "err", "noProof", "smtClean", "smtId", "rPrChange")
"""Attributes and elements of properties that are not visible."""

FORMAT = "\x01"
"""Placeholder for the properties of a run in markup; XML forbids this character."""

SPACED = '<{}t xml:space="preserve">'
"""Start tag of a text element that preserves white space, for a prefix."""

LINE_END = re.compile(r"(?:_x000D_)?(?:\r\n|\r|\n)")
"""A newline in a cell; Excel writes ``_x000D_`` for a carriage return."""


@dataclass
class Run(Piece):
    """A text with its properties."""

    before: str = ""
    """The markup before the text in ``raw``."""
    after: str = ""
    """The markup after the text in ``raw``."""
    properties: str = ""
    is_other: bool = False
    """Whether the document marks the text as another language than the source."""


def read_runs(
    pieces: Sequence[XmlPiece], kept: Container[str] = (), *, is_cell: bool = False
) -> Iterator[Part]:
    """Yield the parts of the content of a PowerPoint paragraph or an Excel cell.

    Elements whose names are in ``kept`` end a sentence, or are before or after all runs.
    """
    runs: list[Piece] = []
    for piece in pieces:
        if piece.role is Role.OPEN and piece.name == "r":
            runs += [
                run if run.is_text else Piece(Role.EMPTY, run.raw) for _, run in split_run(piece)
            ]
        elif piece.role is Role.OPEN and piece.name == "t":
            runs.append(_make_run(piece, "", "", ""))
        else:
            role = Role.BLOCK if piece.name in kept or not piece.name else Role.EMPTY
            runs.append(Piece(role, piece.whole))
    prefix = next((piece.prefix for piece in pieces if piece.prefix), "")
    before, after = f"<{prefix}t>", f"</{prefix}t>"
    if is_cell:
        before = SPACED.format(prefix)
    if not is_cell or any(piece.name == "r" for piece in pieces):
        before, after = f"<{prefix}r>{FORMAT}{before}", f"{after}</{prefix}r>"
    parts = make_run_parts(runs, before, after, has_lines=is_cell)
    yield keep_unchanged([*parts], join_whole(pieces), join_raw(runs))


def split_run(run: XmlPiece) -> Iterator[tuple[XmlPiece, Run]]:
    """Yield each child of a run except properties, and a run with only this child.

    If the child is not text, the run is an empty tag.
    """
    before, after, properties = run.raw, run.end, ""
    for child in run.children:
        if child.name == "rPr":
            before += child.whole
            properties = read_properties(child)
        elif child.name == "t":
            yield child, _make_run(child, before, after, properties)
        elif child.role is not Role.TEXT:
            raw = before + child.whole + after
            yield child, Run(Role.EMPTY, raw, before=before, after=after, properties=properties)


def _make_run(text: XmlPiece, before: str, after: str, properties: str) -> Run:
    """Return a run with a text element."""
    is_full = text.role is Role.OPEN
    return Run(
        *(Role.TEXT, before + text.whole + after, read_text_of([text])),
        before=before + (text.raw if is_full else ""),
        after=text.end + after,
        properties=properties,
    )


def read_properties(element: XmlPiece) -> str:
    """Return the visible properties of a properties element as XML; empty if there are none."""
    tag = element.raw
    for name in INVISIBLE:
        tag = set_attribute(tag, name, None)
    visible = join_whole([child for child in element.children if child.name not in INVISIBLE])
    is_plain = not re.search(r"\s", tag.rstrip("/> \t\r\n"))
    return "" if is_plain and not visible.strip() else f"{tag}{visible}{element.end}"


def make_run_parts(
    runs: Sequence[Piece], before: str, after: str, *, has_lines: bool = False
) -> Iterator[Part]:
    """Yield the parts of a paragraph of runs and other pieces.

    Each text of a translation is written between the markup ``before``, in which its properties
    replace ``FORMAT``, and ``after``.
    """
    lengths: Counter[str] = Counter()
    for run in runs:
        if isinstance(run, Run):
            lengths[run.properties] += len(run.text)
    usual = lengths.most_common(1)[0][0] if lengths else ""
    write = partial(_write_runs, usual=usual, before=before, after=after)
    yield from make_parts([*_mark_runs(runs, usual, has_lines=has_lines)], write)


def _mark_runs(runs: Sequence[Piece], usual: str, *, has_lines: bool) -> Iterator[Piece]:
    """Yield the pieces of a paragraph, with pairs around texts with unusual properties."""
    for properties, group in groupby(runs, lambda run: getattr(run, "properties", None)):
        pieces = [*group]
        texts = [piece for piece in pieces if isinstance(piece, Run)]
        if properties is None:
            yield from pieces
        elif properties == usual:
            yield from _read_texts(texts, is_outer=True, has_lines=has_lines)
        else:
            name, mark = f"run {properties}", FORMAT + properties
            yield Piece(Role.OPEN, texts[0].before, name=name, rewritten=mark)
            yield from _read_texts(texts, is_outer=False, has_lines=has_lines)
            yield Piece(Role.CLOSE, texts[-1].after, name=name, rewritten=FORMAT)


def _read_texts(runs: Sequence[Run], *, is_outer: bool, has_lines: bool) -> Iterator[Piece]:
    """Yield the texts of runs with equal properties; ``is_outer`` includes the outer markup.

    A newline in a cell was typed by a user, so it ends a sentence.
    """
    for number, run in enumerate(runs):
        start = 0 if is_outer or number else len(run.before)
        end = len(run.raw) - (0 if is_outer or number + 1 < len(runs) else len(run.after))
        text = LINE_END.sub(HARD_BREAK, run.text) if has_lines else run.text
        yield Piece(Role.TEXT, run.raw[start:end], text)


def _write_runs(
    _: str, written: Sequence[Written], *, usual: str, before: str, after: str
) -> list[str]:
    """Return a translation as runs, each text with the properties of the pair around it."""
    current, parts = [usual], []
    for text, tag in written:
        if tag is None:
            lines = "&#10;".join(map(write_xml, text.split(HARD_BREAK)))
            parts.append(f"{before.replace(FORMAT, current[-1])}{lines}{after}" if text else "")
        elif not text.startswith(FORMAT):
            parts.append(text)
        else:
            if tag.kind is Role.OPEN:
                current.append(text.removeprefix(FORMAT))
            else:
                current.pop()
            parts.append("")
    return parts


PRESENTATION = ArchiveKind(
    "presentation",
    ".pptx",
    re.compile(r"ppt/(?:slides/slide|notesSlides/notesSlide|diagrams/data|charts/chart)\d*\.xml"),
    required="ppt/presentation.xml",
)
SLIDE = ("pPr", "br", "endParaRPr")
"""Elements of a paragraph that end a sentence, or are before or after all runs."""


def read_presentation(data: bytes, _: LanguageCodes | None = None) -> Document[bytes]:
    """Return a presentation (.pptx): slides, notes, and descriptions of pictures."""
    return read_archived(data, read_archive(data, PRESENTATION), _read_slide)


def _read_slide(_: str, text: str) -> Iterator[Part]:
    read = partial(read_runs, kept=SLIDE)
    return read_elements(scan_xml(text), lambda tag: tag.name == "p", read, described="cNvPr")


WORKBOOK = ArchiveKind(
    "workbook",
    ".xlsx",
    re.compile(
        r"xl/(?:workbook|sharedStrings|worksheets/sheet\d+|tables/table\d+|pivotCache/[^/]+)\.xml"
    ),
    required="xl/workbook.xml",
)
BOOK = "xl/workbook.xml"
STRINGS = re.compile(r"xl/(?:sharedStrings|worksheets/sheet\d+)\.xml")
COLUMN = re.compile(r'<(?:\w+:)?(?:tableColumn|cacheField)\s[^<>]*?\bname="([^"]*)"')
"""Columns of tables, whose names must equal the text of cells."""

FORMULA = re.compile(
    r"<(?:\w+:)?(?:f|formula[12]?|definedName|calculatedColumnFormula|totalsRowFormula)\b[^<>]*>"
    r"([^<>]+)<"
)
FILTER = re.compile(r'<(?:\w+:)?(?:filter|customFilter)\s[^<>]*?\bval="([^"<>]*)"')
"""Elements with formulas, and elements with the values of a filter."""

LITERAL = re.compile(r'"((?:[^"]|"")*+)"')
"""A string in a formula, in which quotes are doubled."""

CALCULATION = re.compile(r"<(?:\w+:)?calcPr\b[^<>]*>")
BEFORE_CALCULATION = re.compile(
    r"\A(?s:.*)</(\w+:)?(?:sheets|functionGroups|externalReferences|definedNames)\s*>"
)
"""The calculation settings in ``BOOK``, and everything before them."""

CELL = ("rPh", "phoneticPr")
"""Phonetic elements of a cell."""


def read_workbook(data: bytes, _: LanguageCodes | None = None) -> Document[bytes]:
    """Return a workbook: texts of cells are translated; numbers and formulas do not change.

    Texts are not translated if they name columns of tables, or if formulas, lists of choices,
    conditions or filters contain them. Formulas are recalculated when the file is opened.
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
    untranslated = Untranslated()

    def read_cell(pieces: Sequence[XmlPiece]) -> Iterator[Part]:
        content = read_text_of(pieces)
        is_compared = _fold(content) in compared and any(map(str.isalpha, content))
        if content in columns or is_compared:
            untranslated[Reason.COMPARED] += content not in columns
            yield join_whole(pieces)
        else:
            yield from read_runs(pieces, CELL, is_cell=True)

    def read_sheet(name: str, text: str) -> Iterable[Part]:
        if name == BOOK:
            return [_request_calculation(text)]
        return read_elements(scan_xml(text), lambda tag: tag.name in {"si", "is"}, read_cell)

    return read_archived(data, read, read_sheet, untranslated)


def _list_literals(formulas: Iterable[str]) -> Iterator[str]:
    """Yield the strings in formulas, and each item of a list of choices, folded."""
    for formula in formulas:
        for quoted in LITERAL.findall(formula):
            literal = quoted.replace('""', '"')
            yield _fold(literal)
            yield from map(_fold, literal.split(","))


def _fold(text: str) -> str:
    """Return a text for comparison as in Excel, without the operator of a criterion: ``<>Yes``."""
    return text.lstrip("<>=").strip().casefold()


def _request_calculation(book: str) -> str:
    """Return the main file of a workbook with a request to recalculate all formulas."""
    if not CALCULATION.search(book):
        book = BEFORE_CALCULATION.sub(r"\g<0><\1calcPr/>", book, count=1)
    return CALCULATION.sub(lambda tag: set_attribute(tag[0], "fullCalcOnLoad", "1"), book)

"""Read tables: .csv and .tsv, the first sheet of an .xlsx, and the objects of a .jsonl.

A header names the columns by codes or names of the two languages, in any order, or by words like
source and target. In a .tsv without a header, each line is a row and quotes are text; a .csv, and a
.tsv with a header, use the quotes of RFC 4180. Formulas in a sheet have their saved values. The
sides of an object are its own keys, ``{"de": "Guten Tag.", "en": "Good day."}``, or the keys of a
nested ``translation``, as in datasets of Hugging Face.
"""

import csv
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from nmt_core.base.errors import CorpusError
from nmt_core.base.files import BYTE_ORDER_MARK, refuse_utf16
from nmt_core.base.languages import Languages
from nmt_core.base.packages import import_optional
from nmt_core.base.raw_lines import (
    MAX_COMPRESSION_RATIO,
    MIN_UNPACKED_LIMIT,
    explain_damage,
    open_raw,
    read_raw_lines,
)
from nmt_core.corpora.formats.paired_units import SIDES, PairedUnits, RowPlace
from nmt_core.text.language_codes import list_language_names, pick_code

MAX_COLUMNS = 1000
MAX_LINE_BYTES = 1 << 20
"""Maximum length of a row, in bytes; the csv module limits a cell to 131,072 characters."""

ROLES = (("source", "src", "source text"), ("target", "trg", "tgt", "target text", "translation"))
"""Headings of the columns of the two sides, in addition to the names of their languages."""

DELIMITERS = ("\t", ";", ",")
"""Delimiters in order of preference if equally frequent; sentences also contain commas."""

_NO_TEXT = re.compile(r".+_(ids?|score|lang|length|url)")
"""A heading of a column with metadata, such as de_id; ``id`` is not a region here."""

MAX_CELLS = 1 << 25
"""Maximum size of the rectangle around all values of a sheet, for which calamine uses 1 GB."""

NESTED = "translation"
"""Key of a nested object with both sides."""


def read_tsv(path: Path, languages: Languages) -> PairedUnits:
    """Return the units of a .tsv with or without a header."""
    first = next(_read_plain(path), [])
    if find_columns(first, languages) is not None:
        return read_table(_parse(path, "\t"), path, languages)
    return PairedUnits(_read_plain(path), RowPlace(), plain=True)


def read_csv(path: Path, languages: Languages) -> PairedUnits:
    """Return the units of a .csv; the first line determines its delimiter."""
    line = next(_read_lines(path), "")
    delimiter = max(DELIMITERS, key=line.count)
    for each in DELIMITERS:
        if find_columns(line.split(each)[:MAX_COLUMNS], languages):
            delimiter = each
    return read_table(_parse(path, delimiter), path, languages)


def read_table(rows: Iterator[Sequence[str]], path: Path, languages: Languages) -> PairedUnits:
    """Return the columns of source and target of a table.

    ``rows`` begin with a header, which is optional if there are two columns.

    Raises:
        CorpusError: if the columns of source and target are unknown.
    """
    header = next(rows, None)
    if header is None:
        return PairedUnits(iter(()), RowPlace("row"))
    if len(header) > MAX_COLUMNS:
        raise CorpusError(f"{path} row 1 has more than {MAX_COLUMNS:,} columns; keep only two")
    columns = find_columns(header, languages)
    if columns is not None:
        picked = (_pick(row, columns, len(header)) for row in rows)
        return PairedUnits(picked, RowPlace("row", 1, len(header)))
    if len(header) != SIDES:
        cells = ", ".join(repr(cell[:20]) for cell in header[:10])
        raise CorpusError(
            f"{path} row 1 does not name the source and target among {len(header)} columns: "
            f"{cells}; name them {' and '.join(languages.codes)}, or keep only these two"
        )
    return PairedUnits(
        (_pick(row, (0, 1), SIDES) for row in chain([header], rows)), RowPlace("row")
    )


def find_columns(header: Sequence[str], languages: Languages) -> tuple[int, int] | None:
    """Return the columns of source and target in a header, or None if they are not named.

    Both columns are named by languages, by codes, by roles, or by longer headings with one of
    these, in this order. Otherwise, each may be named in a different way.
    """
    cells = [cell.strip(f"{BYTE_ORDER_MARK} \r\n\"'").casefold() for cell in header]
    pairs = [
        tuple(_find(cells, languages, side, by) for side in range(SIDES))
        for by in ("name", "code", "role", "longer")
    ]
    mixed = tuple(
        next((pair[side] for pair in pairs if pair[side] is not None), None)
        for side in range(SIDES)
    )
    for source, target in (*pairs, mixed):
        if source is not None and target is not None and source != target:
            return source, target
    return None


def _find(cells: Sequence[str], languages: Languages, side: int, by: str) -> int | None:
    """Return the first column whose heading names a side."""
    code = languages.codes[side]
    if by == "code":
        return pick_code(["" if _NO_TEXT.fullmatch(cell) else cell for cell in cells], code)
    if by == "longer":
        parts = [_list_parts(cell) for cell in cells]
        matches = (
            index
            for kind in ("name", "code", "role")
            for index, cell_parts in enumerate(parts)
            if _find(cell_parts, languages, side, kind) is not None
        )
        return next(matches, None)
    words = list_language_names(code, languages.codes) if by == "name" else ROLES[side]
    return next((index for index, cell in enumerate(cells) if cell in words), None)


def _list_parts(cell: str) -> list[str]:
    """Return the parts of a heading such as text_de, Source (de) or German (Austria)."""
    if explained := re.fullmatch(r"([^()]*)\(([^()]+)\)", cell):
        return [explained[2], explained[1].rstrip()]
    joined = re.fullmatch(r"\w{1,99}[_.-](\w{1,99})", cell)
    return [joined[1]] if joined else []


def _pick(row: Sequence[str], columns: tuple[int, int], width: int) -> Sequence[str]:
    """Return source and target; all cells of a row that has too many, which is reported later."""
    if len(row) > width and any(cell for cell in row[width:]):
        return row[: width + 1]
    source, target = (row[column] if column < len(row) else "" for column in columns)
    return source, target


def _read_plain(path: Path) -> Iterator[list[str]]:
    for line in read_raw_lines(path):
        yield (line or b"").decode(errors="surrogateescape").split("\t")


def _read_lines(path: Path) -> Iterator[str]:
    """Yield lines with their newlines; invalid UTF-8 becomes surrogates."""
    for number, line in enumerate(read_raw_lines(path, max_line_bytes=MAX_LINE_BYTES), start=1):
        if line is None:
            raise CorpusError(
                f"{path} line {number} is longer than {MAX_LINE_BYTES:,} bytes; "
                f"shorten it, or close an open quote"
            )
        if number == 1:
            refuse_utf16(line, path)
        text = line.decode(errors="surrogateescape")  # reported with its pair
        yield (text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text) + "\n"


def _parse(path: Path, delimiter: str) -> Iterator[list[str]]:
    rows = csv.reader(_read_lines(path), delimiter=delimiter, strict=True)
    for number in count(1):
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise _refuse(path, number, rows.line_num, str(error)) from None
        if row is None:
            return
        if delimiter == "\t" and _is_several_lines(row):
            raise _refuse(path, number, rows.line_num, "a quote joins lines that are rows")
        yield row


def _is_several_lines(row: Sequence[str]) -> bool:
    """Return whether each line of a quoted .tsv row is a complete row, so its quotes are text."""
    lines = "\t".join(row).split("\n")
    return len(lines) > 1 and all(
        len(cells := line.split("\t")) == len(row) and all(cells) for line in lines
    )


def _refuse(path: Path, number: int, line: int, reason: str) -> CorpusError:
    return CorpusError(
        f"{path} row {number} (line {line}) is not a row of a table ({reason}); "
        f"enclose cells that contain quotes in quotes, and double each quote in them"
    )


def read_xlsx(path: Path, languages: Languages) -> PairedUnits:
    """Return the units of the first sheet of a workbook."""
    return read_table(read_sheet(path), path, languages)


def read_sheet(path: Path) -> Iterator[list[str]]:
    """Yield the rows of the first sheet of a workbook."""
    calamine = import_optional("python_calamine", f"{path} cannot be read", CorpusError)
    with explain_damage(path), open_raw(path) as packed, tempfile.TemporaryFile() as file:
        shutil.copyfileobj(packed, file)
        _check_workbook(file, path)
        file.seek(0)
        try:
            book = calamine.CalamineWorkbook.from_filelike(file)
            kind = calamine.SheetTypeEnum.WorkSheet
            [name, *_] = [sheet.name for sheet in book.sheets_metadata if sheet.typ == kind]
            sheet = book.get_sheet_by_name(name)
        except (calamine.CalamineError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise CorpusError(
                f"{path} is not a workbook, or is damaged ({reason}); save it again as .xlsx"
            ) from None
    rows = sheet.iter_rows()
    names = [_write(value) for value in next(rows, [])]
    while names and not names[-1]:
        names.pop()
    yield names
    for row in rows if len(names) <= MAX_COLUMNS else ():
        yield [_write(value) for value in row[: len(names) or 1]]


def _check_workbook(file: IO[bytes], path: Path) -> None:
    """Raise a CorpusError if a workbook would need too much memory."""
    limit = min(1 << 30, max(MIN_UNPACKED_LIMIT, MAX_COMPRESSION_RATIO * file.tell()))
    with zipfile.ZipFile(file) as archive:
        if sum(member.file_size for member in archive.infolist()) > limit:
            raise CorpusError(f"{path} unpacks to more than {limit:,} bytes; save it as .csv")
        for member in archive.infolist():
            with archive.open(member) as content, suppress(expat.ExpatError):  # such as a picture
                _Extent(path).parser.ParseFile(content)


class _Extent:
    """The last row and column of a sheet with a value."""

    def __init__(self, path: Path) -> None:
        self._path, self._row, self._column, self._rows, self._columns = path, 0, 0, 0, 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        place = re.fullmatch(r"([A-Z]{0,3})(\d{1,9})", attributes.get("r", "").upper())
        letters, number = place.groups() if place else ("", "")
        kind = name.rpartition(":")[2]
        if kind == "row":
            self._row, self._column = int(number or self._row + 1), 0
        elif kind == "c":
            column = sum(26**i * (ord(letter) - 64) for i, letter in enumerate(letters[::-1]))
            self._row, self._column = int(number or self._row), column or self._column + 1
        elif kind in {"v", "is"}:
            self._rows, self._columns = max(self._rows, self._row), max(self._columns, self._column)
        if self._rows * self._columns > MAX_CELLS:
            raise CorpusError(f"{self._path} has {self._columns:,} columns with values; keep two")


def _write(value: Any) -> str:
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def read_jsonl(path: Path, languages: Languages) -> PairedUnits:
    """Return the units of a .jsonl; sides that are missing in an object or blank line are empty.

    Raises:
        CorpusError: if the first object does not name both sides; reading rows may also raise it.
    """
    first = next((each for each in _read_objects(path) if each), {})
    keys = [*_find_sides(first)]
    columns = find_columns(keys, languages)
    if first and columns is None:
        shown = ", ".join(repr(key[:20]) for key in keys[:10])
        raise CorpusError(
            f"{path} does not name the source and target among the keys of its first object: "
            f"{shown}; name them {' and '.join(languages.codes)}"
        )
    side_keys = tuple(keys[column] for column in columns or ())
    rows = (_pick_sides(each, side_keys) for each in _read_objects(path))
    return PairedUnits(rows, RowPlace())


def _read_objects(path: Path) -> Iterator[dict[str, Any]]:
    for number, text in enumerate(_read_lines(path), start=1):
        try:
            object_ = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError):
            object_ = None
        if not isinstance(object_, dict):
            raise CorpusError(
                f"{path} line {number} is not a JSON object; a .jsonl has one object per line "
                f"(jq -c '.[]' converts a list)"
            )
        yield object_


def _find_sides(object_: dict[str, Any]) -> dict[str, Any]:
    nested = object_.get(NESTED)
    return nested if isinstance(nested, dict) else object_


def _pick_sides(object_: dict[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    sides = _find_sides(object_)
    values = [sides.get(key) for key in keys] or ["", ""]
    return tuple(value if isinstance(value, str) else "" for value in values)

"""Read .xlsx: the first sheet of a workbook, as a table; formulas are their last values."""

import io
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from nmt_core.base import raw_lines
from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.packages import require
from nmt_core.base.raw_lines import explain_damage, open_raw
from nmt_core.corpora.formats.tables import MOST_COLUMNS, read_table
from nmt_core.corpora.formats.units import PairedUnits

MOST_BYTES = 1 << 30
"""Unpacked."""

MOST_ROWS = 1 << 20
"""Rows of a sheet, as Excel has it; a file may claim any number."""

MOST_CELLS = 1 << 25
"""Cells of the rectangle that holds all values of a sheet, empty ones included: 1 GB."""

_PLACE = re.compile(r"([A-Z]{1,3})?(\d{1,9})")
"""A cell such as AB12, or a row."""


def read_xlsx(path: Path, languages: Languages) -> PairedUnits:
    """Read the first sheet of a workbook."""
    return read_table(partial(_read_rows, path), path, languages)


def _read_rows(path: Path) -> Iterator[list[str]]:
    calamine = require("python_calamine", f"{path} cannot be read", CorpusError)
    with explain_damage(path), open_raw(path) as packed, tempfile.TemporaryFile() as file:
        shutil.copyfileobj(packed, file)
        has_formulas = _check(file, path)
        file.seek(0)
        try:
            book = calamine.CalamineWorkbook.from_filelike(file)
            kind = calamine.SheetTypeEnum.WorkSheet
            [name, *_] = [sheet.name for sheet in book.sheets_metadata if sheet.typ == kind]
            sheet = book.get_sheet_by_name(name)
        except (calamine.CalamineError, ValueError) as error:
            told = str(error).partition("\n")[0]
            raise CorpusError(
                f"{path} is not a workbook, or is damaged ({told}); save it again as .xlsx, or as "
                f".csv"
            ) from None
    yield from _trim(sheet.iter_rows(), path, has_formulas=has_formulas)


def _trim(rows: Iterator[list[Any]], path: Path, *, has_formulas: bool) -> Iterator[list[str]]:
    """Yield the columns that have a heading.

    Raises:
        CorpusError: if no cell below the headings has a value, as in uncomputed formulas.
    """
    names = [_write(value) for value in next(rows, [])]
    while names and not names[-1]:
        names.pop()
    yield names
    if len(names) > MOST_COLUMNS:
        return
    filled = False
    for row in rows:
        cells = [_write(value) for value in row[: len(names) or 1]]
        filled = filled or any(cells)
        yield cells
    if has_formulas and not filled:
        raise CorpusError(
            f"{path} has no value below row 1; of formulas the values are read that the workbook "
            f"was saved with, so open it in a program for spreadsheets and save it there"
        )


def _write(value: Any) -> str:
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _check(file: IO[bytes], path: Path) -> bool:
    """Refuse what would fill memory; tell whether there are formulas.

    Raises:
        CorpusError: naming the limit.
    """
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
        most = min(MOST_BYTES, raw_lines.bound_size(file.seek(0, io.SEEK_END)))
        if unpacked > most:
            raise CorpusError(
                f"{path} unpacks to {unpacked:,} bytes, more than {most:,}; "
                f"save it as .csv, which has no bound"
            )
        has_formulas = False
        for member in archive.infolist():
            extent = _Extent(path)
            with archive.open(member) as content, suppress(expat.ExpatError):  # a picture is no XML
                extent.read(content)
            has_formulas |= extent.has_formulas
    return has_formulas


class _Extent:
    """The row and the column furthest from the first cell of a sheet."""

    def __init__(self, path: Path) -> None:
        self._path, self._row, self._column = path, 0, 0
        self._rows = self._columns = 0
        self.has_formulas = False

    def read(self, content: IO[bytes]) -> None:
        """Read XML, which need not be that of a sheet."""
        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EntityDeclHandler = self._begin, self._define
        parser.ParseFile(content)

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(":")[2]
        place = _PLACE.fullmatch(attributes.get("r", ""))
        if kind == "row":
            self._row, self._column = int(place[2]) if place else self._row + 1, 0
        elif kind == "c":
            self._column = _read_column(place[1]) if place and place[1] else self._column + 1
        elif kind in {"v", "is"}:
            self._rows = max(self._rows, self._row)
            self._columns = max(self._columns, self._column)
        self.has_formulas |= kind == "f"
        if self._rows > MOST_ROWS:
            raise CorpusError(
                f"{self._path} has a row {self._rows:,}, more than a sheet may have; repair it"
            )
        if self._rows * self._columns > MOST_CELLS:
            raise CorpusError(
                f"{self._path} has values in {self._rows:,} rows and {self._columns:,} columns, "
                f"more than {MOST_CELLS:,} cells; keep two columns"
            )

    def _define(self, *_: object) -> None:
        raise CorpusError(f"{self._path} defines entities, which text never needs; save it anew")


def _read_column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number

"""Read .xlsx: the first sheet of a workbook, as a table; formulas are their last values."""

import io
import re
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, time
from functools import partial
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from nmt_core.base import compression
from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import explain_damage, open_raw
from nmt_core.corpora.formats.packages import require_package
from nmt_core.corpora.formats.tables import MOST_COLUMNS, read_table
from nmt_core.corpora.formats.units import PairedUnits

MOST_BYTES = 1 << 30
"""Unpacked; strings that occur in several cells, and those alone, are held in memory."""

MOST_CELLS = 1 << 14
"""Cells of a row, as Excel has it."""

MOST_ROWS = 1 << 20
"""Rows of a sheet, as Excel has it; a file may claim any number."""

_SPELT = re.compile("_x([0-9A-Fa-f]{4})_")
"""A character by its number, as Excel has the CR of Windows' line ends."""

WRONG = (
    expat.ExpatError,
    SyntaxError,
    KeyError,
    ValueError,
    TypeError,
    IndexError,
    AttributeError,
    EOFError,
)
"""Errors of openpyxl on files that are no workbooks; wrong XML is a SyntaxError, entities are a
ValueError."""


def read_xlsx(path: Path, languages: Languages) -> PairedUnits:
    """Read the first sheet of a workbook."""
    return read_table(partial(_read_rows, path), path, languages)


def _read_rows(path: Path) -> Iterator[list[str]]:
    openpyxl = require_package("openpyxl", path)
    require_package("defusedxml", path)  # which openpyxl then uses by itself
    with explain_damage(path), open_raw(path) as packed, tempfile.TemporaryFile() as file:
        shutil.copyfileobj(packed, file)
        _check(file, path)
        try:
            yield from _silence(_read_sheet(openpyxl, file, path))
        except WRONG as error:
            told = str(error).partition("\n")[0]
            raise CorpusError(
                f"{path} is no workbook, or a damaged one ({told}); save it anew as .xlsx, or "
                f"as .csv"
            ) from None


def _silence(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Pass rows on without warnings of openpyxl: a generator may not hold their filters itself.

    Who stops reading would leave them as they are, until they are collected amid another's reading.
    """
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = next(rows, None)
        if row is None:
            return
        yield row


def _read_sheet(openpyxl: Any, file: IO[bytes], path: Path) -> Iterator[list[str]]:
    book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # they may be wrong
    names = _show(next(sheet.iter_rows(max_row=1, max_col=MOST_COLUMNS + 1), ()))
    while names and not names[-1]:
        names.pop()
    yield names
    if len(names) > MOST_COLUMNS:
        return
    number, filled = 1, False
    for number, row in enumerate(sheet.iter_rows(min_row=2, max_col=len(names) or 1), start=2):
        if number > MOST_ROWS:
            raise CorpusError(f"{path} has a row {number:,}, more than a sheet may have; repair it")
        cells = _show(row)
        filled = filled or any(cells)
        yield cells
    if number > 1 and not filled:
        raise CorpusError(
            f"{path} has no value below row 1; of formulas the values are read that the workbook "
            f"was saved with, so open it in a program for spreadsheets and save it there"
        )


def _show(row: Sequence[Any]) -> list[str]:
    return [
        ""
        if cell.value is None or cell.data_type == "e"
        else _SPELT.sub(lambda found: chr(int(found[1], 16)), _write(cell.value))
        for cell in row
    ]


def _write(value: Any) -> str:
    """Return a value as people write it: a date has a time of day, midnight if nobody gave one."""
    is_day = isinstance(value, datetime) and value.time() == time()
    return str(value.date() if is_day else value)


def _check(file: IO[bytes], path: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    most = min(MOST_BYTES, compression.bound_size(file.seek(0, io.SEEK_END)))
    if unpacked > most:
        raise CorpusError(
            f"{path} unpacks to {unpacked:,} bytes, more than {most:,}; "
            f"save it as .csv, which has no bound"
        )
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            with archive.open(member) as content, suppress(expat.ExpatError):  # a picture is no XML
                _check_width(content, path)


def _check_width(content: IO[bytes], path: Path) -> None:
    """Refuse rows of more cells than a sheet may have, for openpyxl holds a whole row in memory."""
    cells = 0

    def begin(name: str, _: object) -> None:
        nonlocal cells
        kind = name.rpartition(":")[2]
        cells = 0 if kind == "row" else cells + (kind == "c")
        if cells > MOST_CELLS:
            raise CorpusError(
                f"{path} has a row of more than {MOST_CELLS:,} cells, as no sheet has; keep two "
                f"columns"
            )

    def define(*_: object) -> None:
        raise CorpusError(f"{path} defines entities, which text never needs; save it anew")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EntityDeclHandler = begin, define
    parser.ParseFile(content)

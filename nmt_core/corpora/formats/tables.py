"""Read tables of text: .csv and .tsv, with a header row or without.

A header names the columns by codes or names of the two languages, in any order, or by words like
source and target. A .tsv without one is a row a line, and quotes in it are text; a .csv, and a .tsv
with a header, quote as RFC 4180 says.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, count, islice
from pathlib import Path

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import bound_lines, explain_damage, open_raw, read_raw_lines
from nmt_core.base.utf8 import BYTE_ORDER_MARK, refuse_utf16
from nmt_core.corpora.formats.units import PairedUnits, RowPlace
from nmt_core.text.language_codes import list_language_names, pick_code

MOST_COLUMNS = 1000
MOST_LINE_BYTES = 1 << 20
"""Of a row, with all its columns; csv bounds each by 131,072 characters."""

SIDES = 2
ROLES = (("source", "src", "source text"), ("target", "trg", "tgt", "target text", "translation"))
"""Words for the columns of the two sides, beside the names of their languages."""

DELIMITERS = ("\t", ";", ",")
"""Of two that cut as well, the first: sentences hold commas."""

COMPARED_ROWS = 100
"""First rows of a .csv that tell its delimiter."""

_JOINED = re.compile(r"\w{1,99}[_.-](\w{1,99})")
"""A heading such as text_de."""

_NO_TEXT = re.compile(r".+_(ids?|score|lang|length|url)")
"""A heading such as de_id, of a column about the text of another, which is no region of a code."""

_EXPLAINED = re.compile(r"([^()]*)\(([^()]+)\)")
"""A heading such as Source (de) or German (Austria)."""


def read_tsv(path: Path, languages: Languages) -> PairedUnits:
    """Read a .tsv: plain, or with a header row."""
    first = next(_read_plain(path), [])
    if find_columns(first, languages) is not None:
        return read_table(partial(_parse, path, "\t"), path, languages)
    return PairedUnits(_read_plain(path), RowPlace(), plain=True)


def read_csv(path: Path, languages: Languages) -> PairedUnits:
    """Read a .csv, whose cells stand between commas, semicolons or tabs."""
    delimiter = _find_delimiter(path, next(_read_lines(path), ""), languages)
    return read_table(partial(_parse, path, delimiter), path, languages)


def _find_delimiter(path: Path, line: str, languages: Languages) -> str:
    """Return the delimiter by which the first row is a header, or else as wide as most others.

    A single row may hold another one in its text, as in ``Ja, gut;Yes``.

    Args:
        path: of the table.
        line: its first, which tells where rows do not.
        languages: of source and target.
    """
    first = {each: [*_read_first_rows(path, each)] for each in DELIMITERS}
    for each in DELIMITERS:
        if first[each] and find_columns(first[each][0], languages) is not None:
            return each
    alike = {
        each: sum(len(row) == len(rows[0]) > 1 for row in rows) for each, rows in first.items()
    }
    return max(DELIMITERS, key=alike.__getitem__ if any(alike.values()) else line.count)


def _read_first_rows(path: Path, delimiter: str) -> Iterator[list[str]]:
    """Yield the first rows of a table, up to one that is none by this delimiter."""
    rows = csv.reader(_read_lines(path), delimiter=delimiter, strict=True)
    try:
        yield from islice(rows, COMPARED_ROWS)
    except csv.Error:  # said when the table is read
        return


def read_table(
    read_rows: Callable[[], Iterator[Sequence[str]]],
    path: Path,
    languages: Languages,
) -> PairedUnits:
    """Take the columns of source and target out of a table.

    Args:
        read_rows: reads rows of cells, a header first or, if there are two columns, none.
        path: of their file.
        languages: of source and target.

    Raises:
        CorpusError: if nothing says which columns are meant.
    """
    rows = read_rows()
    header = next(rows, None)
    if header is None:
        return PairedUnits(iter(()), RowPlace("row"))
    if len(header) > MOST_COLUMNS:
        raise CorpusError(f"{path} row 1 has more than {MOST_COLUMNS:,} columns; keep two of them")
    columns = find_columns(header, languages)
    if columns is not None:
        picked = (_pick(row, columns, len(header)) for row in rows)
        return PairedUnits(picked, RowPlace("row", 1, len(header)))
    if len(header) != SIDES:
        cells = ", ".join(repr(cell[:20]) for cell in header[:10])
        raise CorpusError(
            f"{path} row 1 does not say which of {len(header)} columns are source and target: "
            f"{cells}; name them {' and '.join(languages.codes)}, or keep those two alone"
        )
    return PairedUnits(
        (_pick(row, (0, 1), SIDES) for row in chain([header], rows)), RowPlace("row")
    )


def find_columns(header: Sequence[str], languages: Languages) -> tuple[int, int] | None:
    """Return the columns of source and target that a header names, or None if it is none.

    Both by the names of their languages, else by codes, by words for the sides, or by longer
    headings that hold one of these; else each in its own way.
    """
    cells = [cell.strip(f"{BYTE_ORDER_MARK} \r\n\"'").casefold() for cell in header]
    ways = [
        tuple(find(cells, languages, side) for side in range(SIDES))
        for find in (_find_name, _find_code, _find_role, _find_longer)
    ]
    mixed = tuple(
        next((way[side] for way in ways if way[side] is not None), None) for side in range(SIDES)
    )
    for source, target in (*ways, mixed):
        if source is not None and target is not None and source != target:
            return source, target
    return None


def _find_name(cells: Sequence[str], languages: Languages, side: int) -> int | None:
    names = list_language_names(languages.codes[side], languages.codes)
    return next((index for index, cell in enumerate(cells) if cell in names), None)


def _find_code(cells: Sequence[str], languages: Languages, side: int) -> int | None:
    of_text = ["" if _NO_TEXT.fullmatch(cell) else cell for cell in cells]
    return pick_code(of_text, languages.codes[side])


def _find_role(cells: Sequence[str], languages: Languages, side: int) -> int | None:
    del languages
    return next((index for index, cell in enumerate(cells) if cell in ROLES[side]), None)


def _find_longer(cells: Sequence[str], languages: Languages, side: int) -> int | None:
    """Return the column whose heading has the language or the side in a part of it."""
    parts = [_list_parts(cell) for cell in cells]
    for find in (_find_name, _find_code, _find_role):
        for index, some in enumerate(parts):
            if find(some, languages, side) is not None:
                return index
    return None


def _list_parts(cell: str) -> list[str]:
    if found := _EXPLAINED.fullmatch(cell):
        return [found[2], found[1].rstrip()]
    found = _JOINED.fullmatch(cell)
    return [found[1]] if found else []


def _pick(row: Sequence[str], columns: tuple[int, int], width: int) -> Sequence[str]:
    """Return source and target; of a row with more cells than there are columns, more than two."""
    if len(row) > width and any(cell for cell in row[width:]):
        return row[: width + 1]
    source, target = (row[column] if column < len(row) else "" for column in columns)
    return source, target


def _read_plain(path: Path) -> Iterator[list[str]]:
    for line in read_raw_lines(path):
        yield (line or b"").decode(errors="surrogateescape").split("\t")


def _read_lines(path: Path) -> Iterator[str]:
    """Yield lines with their ends; bytes that are no UTF-8 become surrogates."""
    with explain_damage(path), open_raw(path) as file:
        for number, line in enumerate(bound_lines(file.readline, MOST_LINE_BYTES), start=1):
            if line is None:
                raise CorpusError(
                    f"{path} line {number} is longer than {MOST_LINE_BYTES:,} bytes; "
                    f"take columns away, or look for a quote that nothing closes"
                )
            if number == 1:
                refuse_utf16(line, path)
            text = line.decode(errors="surrogateescape")
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
    """Tell whether each line of a row of a .tsv is as wide as the row: its quotes are text."""
    lines = "\t".join(row).split("\n")
    return len(lines) > 1 and all(
        len(cells := line.split("\t")) == len(row) and all(cells) for line in lines
    )


def _refuse(path: Path, number: int, line: int, why: str) -> CorpusError:
    return CorpusError(
        f"{path} row {number} (line {line}) is no row of a table ({why}); "
        f"a cell that holds a quote is put into quotes, and each of its quotes doubled"
    )

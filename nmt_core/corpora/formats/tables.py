"""Read tables of text: .csv and .tsv, with a header row or without.

A header names the columns by codes or names of the two languages, in any order, or by words like
source and target. A .tsv without one is a row a line, and quotes in it are text; a .csv, and a .tsv
with a header, quote as RFC 4180 says.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path

from nmt_core.base.errors import CorpusError
from nmt_core.base.raw_lines import bound_lines, explain_damage, open_raw, read_raw_lines
from nmt_core.base.utf8 import BYTE_ORDER_MARK, UTF16, looks_like_utf16
from nmt_core.corpora.formats.units import Metadata, PairedUnits, RowPlace, find_field
from nmt_core.text.language_codes import pick_code
from nmt_core.text.languages import Languages

MOST_COLUMNS = 1000
MOST_LINE_BYTES = 1 << 20
"""Of a row, with all its columns; csv bounds each by 131,072 characters."""

SIDES = 2
ROLES = (("source", "src", "source text"), ("target", "trg", "tgt", "target text", "translation"))
"""Words for the columns of the two sides, beside the names of their languages."""

DELIMITERS = (",", ";", "\t")


def read_tsv(path: Path, languages: Languages) -> PairedUnits:
    """Read a .tsv: plain, or with a header row."""
    first = next(_read_plain(path), [])
    if find_columns(first, languages) is not None:
        return read_table(partial(_parse, path, "\t"), path, languages)
    return PairedUnits(_read_plain(path), RowPlace(), plain=True)


def read_csv(path: Path, languages: Languages) -> PairedUnits:
    """Read a .csv, whose cells stand between commas, semicolons or tabs."""
    first = next(_read_lines(path), "")
    fit = [each for each in DELIMITERS if find_columns(_cut(first, each), languages) is not None]
    pairs = [each for each in DELIMITERS if len(_cut(first, each)) == SIDES]
    most = max(DELIMITERS, key=first.count)
    return read_table(partial(_parse, path, [*fit, *pairs, most][0]), path, languages)


def read_table(
    read_rows: Callable[[], Iterator[Sequence[str]]], path: Path, languages: Languages
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
    header = next(rows, ("", ""))
    if len(header) > MOST_COLUMNS:
        raise CorpusError(f"{path} row 1 has more than {MOST_COLUMNS:,} columns; keep two of them")
    columns = find_columns(header, languages)
    if columns is not None:
        picked = (_pick(row, columns, len(header)) for row in rows)
        place = RowPlace("row", 1, len(header))
        return PairedUnits(picked, place, metadata=partial(_read_metadata, read_rows))
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
    """Return the columns of source and target that a header names, or None if it is none."""
    cells = [cell.strip(f"{BYTE_ORDER_MARK} \r\n\"'").casefold() for cell in header]
    found = [
        _find_column(cells, code, roles) for code, roles in zip(languages.codes, ROLES, strict=True)
    ]
    source, target = found
    return None if source is None or target is None or source == target else (source, target)


def _find_column(cells: Sequence[str], code: str, roles: Sequence[str]) -> int | None:
    """Return the column with a language's name or code, else the one with a word for the side."""
    names = list_language_names(code)
    by_name, by_role = (
        next((index for index, cell in enumerate(cells) if cell in known), None)
        for known in (names, roles)
    )
    found = (by_name, pick_code(cells, code), by_role)
    return next((index for index in found if index is not None), None)


@cache
def list_language_names(code: str) -> frozenset[str]:
    """Return the names of a language in English and in itself, where babel is installed."""
    try:
        from babel import Locale, UnknownLocaleError  # noqa: PLC0415 - optional
    except ImportError:
        return frozenset()
    try:
        locale = Locale.parse(code, sep="-")
    except (ValueError, UnknownLocaleError):  # babel knows some hundred
        return frozenset()
    names = (locale.get_language_name("en"), locale.get_language_name())
    return frozenset(name.casefold() for name in names if name)


def _pick(row: Sequence[str], columns: tuple[int, int], width: int) -> Sequence[str]:
    """Return source and target; of a row with more cells than there are columns, more than two."""
    if len(row) > width and any(cell for cell in row[width:]):
        return row[: width + 1]
    source, target = (row[column] if column < len(row) else "" for column in columns)
    return source, target


def _read_metadata(read_rows: Callable[[], Iterator[Sequence[str]]]) -> Iterator[Metadata]:
    rows = read_rows()
    columns: dict[str, int] = {}
    for column, cell in enumerate(next(rows, ())):
        if field := find_field(cell):
            columns.setdefault(field, column)
    for row in rows:
        there = {field: row[at].strip() for field, at in columns.items() if at < len(row)}
        yield Metadata(**there)


def _cut(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # said when the table is read
        return []


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
            if number == 1 and looks_like_utf16(line):
                raise CorpusError(f"{path} {UTF16}")
            text = line.decode(errors="surrogateescape")
            yield (text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text) + "\n"


def _parse(path: Path, delimiter: str) -> Iterator[list[str]]:
    rows = csv.reader(_read_lines(path), delimiter=delimiter, strict=True)
    number = 0
    while True:
        number += 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise CorpusError(
                f"{path} row {number} (line {rows.line_num}) is no row of a table ({error}); "
                f"a cell that holds a quote is put into quotes, and each of its quotes doubled"
            ) from None
        if row is None:
            return
        yield row

"""Formats of files with both sides: their names, and what their readers return."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import (
    COMPRESSED_SUFFIXES,
    plain_name,
)
from nmt_core.text.language_codes import pick_code

MAX_NAMED = 20
"""Codes in a message, and characters of each."""


class RowPlace(NamedTuple):
    """Name of the place of a unit in its file, for messages."""

    noun: str = "line"
    before: int = 0
    """Rows before the first unit, such as a header."""
    columns: int = 2
    """Columns of a row; more than two if others are left out."""

    def name(self, number: int) -> str:
        """Name the place of a unit by its number, counted from 1."""
        return f"{self.noun} {number + self.before}"


class PairedUnits(NamedTuple):
    """Units of a file, in their order."""

    rows: Iterator[Sequence[str]]
    """Source and target; empty where the file has none, so that numbers stay those of the file; a
    row with another number of columns is at fault. Bytes that are not UTF-8 may be surrogates."""
    place: RowPlace = RowPlace("unit")
    plain: bool = False
    """True if every line is a source, a tab and a target."""


def pick_pair(codes: Sequence[str], languages: Languages) -> tuple[int, int] | None:
    """Return the indices of source and target among codes, or None if one is missing."""
    source, target = (pick_code(codes, wanted) for wanted in languages.codes)
    return None if source is None or target is None or source == target else (source, target)


def refuse_languages(path: Path, codes: Counter[str], languages: Languages) -> CorpusError:
    """Return the error of a file without the two languages, which names those that it has."""
    named = [
        f"{' '.join(code.split())[:MAX_NAMED] or 'none named'} ({count:,})"
        for code, count in codes.most_common(MAX_NAMED)
    ]
    return CorpusError(
        f"{path} has no unit in {' and '.join(languages.codes)}; "
        f"it has {', '.join(named) or 'no unit at all'}; "
        f"set download.languages, or give another file"
    )


ARCHIVE = ".zip"
"""Suffix of an archive of one file with both sides, or of a file for each."""

SUFFIXES = (".tsv", ".csv", ".jsonl", ".xlsx", ".tmx", ".xlf", ".xliff", ".po")
"""Suffixes of files that hold both sides, before that of a compression."""

NO_FORMAT = (
    f"is of no known format of parallel text; its name must end in {', '.join(SUFFIXES)}, "
    f"{ARCHIVE}, or one of these and {', '.join(COMPRESSED_SUFFIXES)}"
)

PAIRS_NO_LINES = (
    "is of a format of pairs; write the text of one language to a file, a sentence a line"
)
"""Error for a file with both sides where text of one language is read."""


def holds_both_sides(path: Path) -> bool:
    """Tell by its name whether a file holds source and target; a .zip may, or may hold one side."""
    return plain_name(path).lower().endswith(SUFFIXES)


def may_hold_both_sides(path: Path) -> bool:
    """Tell by its name whether a file can be read without another for the other side."""
    return path.suffix.lower() == ARCHIVE or holds_both_sides(path)

"""Formats of files with both sides: their suffixes, and the result of their readers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import COMPRESSED_SUFFIXES, plain_name
from nmt_core.text.language_codes import pick_code

SIDES = 2
"""Number of sides, source and target."""

MAX_NAMED = 20
"""Maximum number of language codes in a message, and of characters of each."""


class RowPlace(NamedTuple):
    """Describes the position of a unit in its file for messages."""

    noun: str = "line"
    before: int = 0
    """Number of rows before the first unit, such as a header."""
    columns: int = 2
    """Number of columns of a row, including unused ones."""

    def name(self, number: int) -> str:
        """Return the position of a unit, counted from 1, such as "line 7"."""
        return f"{self.noun} {number + self.before}"


class PairedUnits(NamedTuple):
    """The units of a file, in order."""

    rows: Iterator[Sequence[str]]
    """Source and target of each unit, empty if missing, so that numbers match the file. Invalid
    rows have another number of columns; invalid UTF-8 may become surrogates."""
    place: RowPlace = RowPlace("unit")
    plain: bool = False
    """Whether every line has the form source, tab, target."""


def pick_pair(codes: Sequence[str], languages: Languages) -> tuple[int, int] | None:
    """Return the indices of source and target among codes, or None if one is missing."""
    source, target = (pick_code(codes, code) for code in languages.codes)
    return None if source is None or target is None or source == target else (source, target)


def refuse_languages(path: Path, codes: Counter[str], languages: Languages) -> CorpusError:
    """Return the error of a file without the two languages, with the codes in the file."""
    listed = [
        f"{' '.join(code.split())[:MAX_NAMED] or 'no language'} ({count:,})"
        for code, count in codes.most_common(MAX_NAMED)
    ]
    return CorpusError(
        f"{path} has no unit in {' and '.join(languages.codes)}; "
        f"it has {', '.join(listed) or 'no units'}; "
        f"set download.languages, or use another file"
    )


ARCHIVE = ".zip"
"""Suffix of an archive of one file with both sides, or of one file per side."""

SUFFIXES = (".tsv", ".csv", ".jsonl", ".xlsx", ".tmx", ".xlf", ".xliff", ".po")
"""Suffixes of files with both sides, without that of a compression."""

NO_FORMAT = (
    f"is not in a format of parallel text; its name must end in {', '.join(SUFFIXES)}, "
    f"{ARCHIVE}, or one of these and {', '.join(COMPRESSED_SUFFIXES)}"
)

PAIRS_NO_LINES = (
    "is in a format of pairs; write the text of one language to a file, one sentence per line"
)
"""Message for a file with both sides where monolingual text is expected."""


def holds_both_sides(path: Path) -> bool:
    """Return whether a file has source and target by its name; False for a .zip, which may."""
    return plain_name(path).lower().endswith(SUFFIXES)


def may_hold_both_sides(path: Path) -> bool:
    """Return whether a file may have source and target, by its name."""
    return path.suffix.lower() == ARCHIVE or holds_both_sides(path)

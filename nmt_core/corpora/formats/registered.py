"""Formats of files with both sides by name, and what their readers return.

A format is a module that reads it, and a line here. This module imports none of them: settings are
checked before any text is read.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import (
    COMPRESSED,
    explain_damage,
    list_members,
    plain_name,
)
from nmt_core.base.registry import Registry
from nmt_core.text.language_codes import pick_code

MOST_NAMED = 20
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
    """PairedUnits of a file, in their order."""

    rows: Iterator[Sequence[str]]
    """Source and target; empty where the file has none, so that numbers stay those of the file; a
    row with another number of columns is at fault. Bytes that are no UTF-8 may be surrogates."""
    place: RowPlace = RowPlace("unit")
    plain: bool = False
    """True if every line is a source, a tab and a target."""


def pick_pair(codes: Sequence[str], languages: Languages) -> tuple[int, int] | None:
    """Return the indices of source and target among codes, or None if one is missing."""
    source, target = (pick_code(codes, wanted) for wanted in languages.codes)
    return None if source is None or target is None or source == target else (source, target)


def refuse_languages(path: Path, codes: Counter[str], languages: Languages) -> CorpusError:
    """Return the error of a file that has not the two languages, and name those that it has."""
    named = [
        f"{' '.join(code.split())[:MOST_NAMED] or 'none named'} ({count:,})"
        for code, count in codes.most_common(MOST_NAMED)
    ]
    return CorpusError(
        f"{path} has no unit in {' and '.join(languages.codes)}; "
        f"it has {', '.join(named) or 'no unit at all'}; "
        f"set download.languages, or give another file"
    )


ARCHIVE = ".zip"
NO_FORMAT = "is of no known format of parallel text; its name must end in {}"

PAIRS_NO_LINES = (
    "is of a format of pairs; write the text of one language to a file, a sentence a line"
)
"""Said of a file by its name, where text of one language is read."""


class PairFormat(NamedTuple):
    """A format of files that hold both sides.

    A sentence and below it its translation, in a module ``couplets`` that another package offers by
    an entry point of ``nmt.pair_formats``, ``couplets = couplets:COUPLETS``::

        COUPLETS = PairFormat((".two",), "couplets:read_couplets")

        def read_couplets(path, languages):
            with open_raw(path) as file:
                lines = file.read().decode().splitlines()
            return PairedUnits(zip(lines[::2], lines[1::2]), RowPlace("couplet"))
    """

    suffixes: tuple[str, ...]
    """Of the names of its files, but for a compression."""
    reader: str
    """The reader, ``module:thing``; it takes a path, perhaps of a compressed file, and languages,
    and returns PairedUnits, of which it holds few in memory."""


PAIR_FORMATS = Registry(
    "a format of parallel text",
    "nmt.pair_formats",
    {
        "tsv": PairFormat((".tsv",), "nmt_core.corpora.formats.tables:read_tsv"),
        "csv": PairFormat((".csv",), "nmt_core.corpora.formats.tables:read_csv"),
        "jsonl": PairFormat((".jsonl",), "nmt_core.corpora.formats.tables:read_jsonl"),
        "xlsx": PairFormat((".xlsx",), "nmt_core.corpora.formats.tables:read_xlsx"),
        "tmx": PairFormat((".tmx",), "nmt_core.corpora.formats.translations:read_tmx"),
        "xliff": PairFormat((".xlf", ".xliff"), "nmt_core.corpora.formats.translations:read_xliff"),
        "po": PairFormat((".po",), "nmt_core.corpora.formats.translations:read_po"),
        "moses": PairFormat((ARCHIVE,), "nmt_core.corpora.formats.translations:read_moses"),
    },
)
"""Formats of parallel text by name."""


def holds_both_sides(path: Path) -> bool:
    """Tell by its name whether a file holds source and target, in a format of ours.

    A .zip may, or may hold one side.
    """
    suffixes = tuple(suffix for each in PAIR_FORMATS.ours.values() for suffix in _suffixes(each))
    return plain_name(path).lower().endswith(suffixes)


def may_hold_both_sides(path: Path) -> bool:
    """Tell by its name whether a file can be read without another for the other side."""
    return path.suffix.lower() == ARCHIVE or _find_pair_format(plain_name(path)) is not None


def list_pair_suffixes() -> list[str]:
    """Return the endings of names of files that hold both sides."""
    return [suffix for name in PAIR_FORMATS for suffix in PAIR_FORMATS.load(name).suffixes]


def open_units(path: Path, languages: Languages) -> PairedUnits:
    """Open a file that holds both sides.

    Args:
        path: its name says how it is compressed, and which format it has; of a .zip, the name of
            the file in it does, or it holds two, one for each language.
        languages: of source and target.

    Raises:
        CorpusError: if it is of no known format, is damaged, or lacks a language; the first rows
            may raise it, too.
    """
    name = plain_name(path)
    if path.suffix.lower() == ARCHIVE:
        with explain_damage(path):
            members = list_members(path)
        name = members[0] if len(members) == 1 else ARCHIVE
    found = _find_pair_format(name)
    if found is None:
        raise CorpusError(f"{path}: {name} {NO_FORMAT.format(advise_suffixes())}")
    units: PairedUnits = resolve_name(found.reader)(path, languages)
    return units


def advise_suffixes() -> str:
    """Return the endings of names of files with both sides, and of compression, for a message."""
    return f"{', '.join(list_pair_suffixes())}, or one of these and {', '.join(COMPRESSED)}"


def _find_pair_format(name: str) -> PairFormat | None:
    for known in PAIR_FORMATS:
        found = PAIR_FORMATS.load(known)
        if name.lower().endswith(found.suffixes):
            return found
    return None


def _suffixes(known: PairFormat | str) -> tuple[str, ...]:
    return () if isinstance(known, str) else known.suffixes

"""Several reference translations of a given test set (Papineni et al. 2002, section 2.1)."""

import logging
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

from nmt_core.base import files
from nmt_core.corpora.parallel_text import UNUSABLE, CorpusReading, Pair, Text, cut_rows, read_pairs
from nmt_core.corpora.text_files import ReferenceFiles

_log = logging.getLogger(__name__)

MAX_PAIRS = 2**40
"""Pairs that are read as one span: all of a file."""


def write_references(tests: Iterable[ReferenceFiles], folder: Path, *, scratch: Path) -> None:
    """Write the further references of the test pairs in a folder, an empty line if there is none.

    Raises:
        CorpusError: if a file cannot be read or has another number of lines than the source.
    """
    further: dict[Pair, list[str]] = {}
    for test in tests:
        first, *others = (
            _read(test.source, target, scratch) for target in (test.target, *test.references)
        )
        for number, pair in first.items():
            further[pair] = [rows[number].target if number in rows else "" for rows in others]
    if not any(further.values()):
        return
    pairs = map(Pair, *(files.read_lines(folder / f"test.{side}") for side in Pair._fields))
    rows = [further.get(pair, []) for pair in pairs]
    if alone := sum(not any(row) for row in rows):
        _log.warning("%d of %d test pairs have one reference only", alone, len(rows))
    for number, column in enumerate(zip_longest(*rows, fillvalue=""), start=2):
        files.write_lines(folder / f"test.target.{number}", column)


def _read(source: Path, target: Path | None, scratch: Path) -> dict[int, Pair]:
    """Return the pairs of two aligned files by their line numbers."""
    paths = (source,) if target is None else (source, target)
    return {
        number: pair
        for rows in cut_rows(Text((paths,)), MAX_PAIRS, scratch=scratch)
        for number, pair in read_pairs(rows, drop=UNUSABLE, reading=CorpusReading())
    }

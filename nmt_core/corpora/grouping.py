"""Splits by where text is from: a document, a day or a speaker is never in two of them."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.formats.chapters import read_chapters
from nmt_core.corpora.formats.registered import are_paired_by_id, open_units
from nmt_core.corpora.formats.units import Metadata
from nmt_core.corpora.formats.verses import read_verses
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import PER, SPLITS, Split, SplitConfig, digest

MOST_HELD_OUT = 0.5
"""Share of the pairs of a corpus that validation and test may hold together."""

_DAY = re.compile(r"(?<!\d)(?:(\d{4})(-?)(\d\d)\2(\d\d)|ep-(\d\d)-(\d\d)-(\d\d))(?!\d)")
"""A day as ISO 8601 has it, or as EuroParl does in the names of its files."""

CENTURY = 70
"""Years of two digits from here are of the twentieth century."""


class GroupedRows(NamedTuple):
    """The split of every row of a text."""

    splits: npt.NDArray[np.int32]
    """Places in ``SPLITS``."""
    unknown: int
    """Rows in train because they say nothing of where they are from."""


def group_rows(
    text: Text, rows: int, config: SplitConfig, wanted: Collection[Split], name: str
) -> GroupedRows:
    """Return the split of every row.

    Args:
        text: the text.
        rows: how many it has.
        config: what stays whole, and how many pairs are set aside.
        wanted: "test", "validation", or both.
        name: of the corpus.

    Raises:
        CorpusError: if the text does not say where it is from, or does so for another number of
            rows, or a date cannot be read, or see :func:`split_groups`.
    """
    numbers: dict[str, int] = {}
    groups = np.fromiter(
        (numbers.setdefault(label, len(numbers)) for label in _read_labels(text, config)), np.int32
    )
    if len(groups) != rows:
        raise CorpusError(
            f"download.split.by: corpus {name} has {rows:,} pairs but names the documents of "
            f"{len(groups):,}; give one for each, in the order of the pairs"
        )
    counts = dict(zip(numbers, np.bincount(groups, minlength=len(numbers)).tolist(), strict=True))
    splits = split_groups(Counter(counts), config, wanted, name)
    places = np.array([SPLITS.index(splits[label]) for label in numbers], dtype=np.int32)
    return GroupedRows(places[groups], counts.get("", 0))


def split_groups(
    counts: Counter[str], config: SplitConfig, wanted: Collection[Split], name: str
) -> dict[str, Split]:
    """Return the split of every group: test from one end of an order, validation from what is next.

    Days are taken from the newest; others in the order of a keyed hash of their names, validation
    from its other end, so that changing the size of one does not touch the other.

    Args:
        counts: pairs of each group; the one without a name is train.
        config: what the groups are, and how many pairs are set aside.
        wanted: "test", "validation", or both.
        name: of the corpus.

    Raises:
        CorpusError: if there are too few groups, or those to hold out hold most of the pairs.
    """
    by_date = config.by == "date"
    left = sorted(
        (group for group in counts if group),
        key=lambda group: (b"" if by_date else digest(group, salt=config.salt), group),
        reverse=by_date,
    )
    splits: dict[str, Split] = dict.fromkeys(counts, "train")
    rates = {"test": config.test_per_10000, "validation": config.validation_per_10000}
    total, named = counts.total(), len(left)
    for split in (each for each in ("test", "validation") if each in wanted):
        taken = 0
        while left and taken < max(1, total * rates[split] / PER):
            group = left.pop(0 if by_date or split == "test" else -1)
            splits[group], taken = split, taken + counts[group]
    needed = ["train", *sorted(wanted)]
    if not {*needed} <= {*splits.values()}:
        raise CorpusError(
            f"download.split.by: corpus {name} names {named} {config.by}"
            f"{'' if named == 1 else 's'}, too few for {', '.join(needed)}; give text whose format "
            f"names more, as docs/your-text.md says, or set by=pair"
        )
    held_out = sum(counts[group] for group, split in splits.items() if split != "train")
    if held_out > MOST_HELD_OUT * total:
        raise CorpusError(
            f"download.split.by: of corpus {name}, {held_out:,} of {total:,} pairs would be "
            f"held out, since each {config.by} stays whole; ask for fewer by "
            f"download.split.test_per_10000 and validation_per_10000, or set another "
            f"download.split.salt or by=pair"
        )
    return splits


def find_day(text: str) -> str:
    """Return the first day in a text, as in 2000-01-17, or nothing."""
    for found in _DAY.finditer(text):
        year, _, *rest = found.groups()
        numbers = [year, *rest[:2]] if year else rest[2:]
        century = 0 if year else 1900 if int(numbers[0]) >= CENTURY else 2000
        try:
            return date(century + int(numbers[0]), *map(int, numbers[1:])).isoformat()
        except ValueError:  # no such day
            continue
    return ""


def name_files(paths: Sequence[Path]) -> list[str]:
    """Return the names of files, with as many of their folders as tell them apart."""
    parts = [path.parts for path in paths]
    for length in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(some[-length:]) for some in parts]
        if len({*names}) == len(names):
            return names
    return [str(path) for path in paths]


def _read_labels(text: Text, config: SplitConfig) -> Iterator[str]:
    names = name_files([paths[0] for paths in text.parts])
    for name, paths in zip(names, text.parts, strict=True):
        for number, unit in enumerate(_read_part(paths, text, name), start=1):
            document = unit.document or name
            match config.by:
                case "date":
                    day = find_day(unit.date or document)
                    if unit.date and not day:
                        raise CorpusError(
                            f"download.split.by: {paths[0]} unit {number} has the date "
                            f"{unit.date[:40]!r}; write it as in 2000-01-17"
                        )
                    yield day
                case "speaker":
                    yield unit.speaker
                case _:
                    yield document


def _read_part(paths: tuple[Path, ...], text: Text, name: str) -> Iterator[Metadata]:
    if are_paired_by_id(paths):
        return (Metadata() for _ in read_verses(*paths).rows)
    if len(paths) == 1 and text.languages:
        units = open_units(paths[0], text.languages)
        return units.metadata() if units.metadata else (Metadata() for _ in units.rows)
    return read_chapters(paths[0], name)

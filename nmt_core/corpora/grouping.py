"""Splits by the origin of pairs: a document, day, speaker or session is held out as a whole."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_core.base import config
from nmt_core.base.errors import CorpusError, suggest
from nmt_core.base.raw_lines import read_raw_lines
from nmt_core.base.utf8 import BYTE_ORDER_MARK
from nmt_core.corpora.formats.chapters import read_chapters
from nmt_core.corpora.formats.registered import are_paired_by_id, open_units
from nmt_core.corpora.formats.units import Metadata
from nmt_core.corpora.formats.verses import read_verses
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import PER, SPLITS, SessionSplit, Split, SplitConfig, digest
from nmt_core.corpora.staging import Digests, Mask
from nmt_core.corpora.text_files import require_pinned

Ranks: TypeAlias = npt.NDArray[np.int32]

NOT_HELD_OUT = -1
"""The rank of a session that is not held out."""

MAX_HELD_OUT = 0.5
"""Largest share of pairs in validation and test together."""

FIRST_YEAR = 70
"""Two-digit years from here on are of the twentieth century."""

_DAY = re.compile(r"(?<!\d)(?:(\d{4})(-?)(\d\d)\2(\d\d)|ep-(\d\d)-(\d\d)-(\d\d))(?!\d)")
"""A day in ISO 8601, or as in EuroParl's file names."""


class GroupedRows(NamedTuple):
    """The split of every row of a text."""

    splits: Ranks
    """Indices into ``SPLITS``."""
    unknown: int
    """Rows of unknown origin, which are in train."""


def group_rows(
    text: Text, rows: int, config: SplitConfig, wanted: Collection[Split], name: str
) -> GroupedRows:
    """Return the split of every row.

    ``wanted`` names the splits to hold out.

    Raises:
        CorpusError: if the origins are missing, unreadable or of another number of rows, or as
            :func:`split_groups`.
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
    """Return the split of every group.

    Test takes the newest days, and validation the next. Other groups are ordered by a keyed hash of
    their names; test takes them from one end and validation from the other, so that changing the
    size of one does not affect the other.

    ``counts`` has the pairs of each group; the group without a name is train.

    Raises:
        CorpusError: if there are too few groups, or those to hold out have most of the pairs.
    """
    by_date = config.by == "date"
    left = sorted(
        (group for group in counts if group),
        key=lambda group: (b"" if by_date else digest(group, salt=config.salt), group),
        reverse=by_date,
    )
    splits: dict[str, Split] = dict.fromkeys(counts, "train")
    total, named = counts.total(), len(left)
    for split in ("test", "validation"):
        taken = 0
        while split in wanted and left and taken < max(1, total * config.rate(split) / PER):
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
    if held_out > MAX_HELD_OUT * total:
        raise CorpusError(
            f"download.split.by: of corpus {name}, {held_out:,} of {total:,} pairs would be "
            f"held out, since each {config.by} stays whole; ask for fewer by "
            f"download.split.test_per_10000 and validation_per_10000, or set another "
            f"download.split.salt or by=pair"
        )
    return splits


def find_day(text: str) -> str:
    """Return the first day in a text, as in 2000-01-17; empty if there is none."""
    for match in _DAY.finditer(text):
        year, _, *rest = match.groups()
        numbers = [*map(int, [year, *rest[:2]] if year else rest[2:])]
        century = 0 if year else 1900 if numbers[0] >= FIRST_YEAR else 2000
        try:
            return date(century + numbers[0], *numbers[1:]).isoformat()
        except ValueError:  # no such day
            continue
    return ""


def name_files(paths: Sequence[Path]) -> list[str]:
    """Return the names of files, with as many of their folders as distinguish them."""
    parts = [path.parts for path in paths]
    for length in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(some[-length:]) for some in parts]
        if len({*names}) == len(names):
            return names
    return [str(path) for path in paths]


def _read_labels(text: Text, config: SplitConfig) -> Iterator[str]:
    names = name_files([paths[0] for paths in text.parts])
    for name, paths in zip(names, text.parts, strict=True):
        for number, unit in enumerate(_read_metadata(paths, text, name), start=1):
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


def _read_metadata(paths: tuple[Path, ...], text: Text, name: str) -> Iterator[Metadata]:
    if are_paired_by_id(paths):
        return (Metadata() for _ in read_verses(*paths).rows)
    if len(paths) == 1 and text.languages:
        units = open_units(paths[0], text.languages)
        return units.metadata() if units.metadata else (Metadata() for _ in units.rows)
    return read_chapters(paths[0], name)


def rank_sessions(sessions: SessionSplit, lines: int) -> Ranks:
    """Return for every pair the rank of its session among those held out, or NOT_HELD_OUT.

    Raises:
        CorpusError: if the file cannot be read, has another number of lines, or does not name a
            session to hold out.
    """
    require_pinned(sessions)
    columns = ((line or b"").partition(b"\t")[0] for line in read_raw_lines(sessions.file))
    names = [name.decode(errors="replace").strip(BYTE_ORDER_MARK).strip() for name in columns]
    if len(names) != lines:
        raise CorpusError(
            f"{sessions.file} has {len(names)} lines but the corpus {lines}; "
            f"line N must name the session of pair N"
        )
    known = sorted(set(names))
    for prefix in sessions.held_out:
        if not any(name.startswith(prefix) for name in known):
            raise CorpusError(
                f"download.split.sessions.held_out: no session of {sessions.file} begins with "
                f"{prefix!r}; {suggest_sessions(prefix, known)}"
            )
    held_out = [name for name in known if name.startswith(sessions.held_out)]
    ranks = {name: rank for rank, name in enumerate(held_out)}
    return np.array([ranks.get(name, NOT_HELD_OUT) for name in names], dtype=np.int32)


def suggest_sessions(prefix: str, known: Sequence[str]) -> str:
    """Suggest the closest names of sessions."""
    alike = sorted({name[: len(prefix)] for name in known})
    suggestion = suggest(prefix, alike)
    if len(alike) <= config.BRIEF_CHARACTERS // 10 or suggestion.startswith("did"):
        return suggestion
    return f"it names {known[0]} to {known[-1]}"


def take_last(
    unique: Mask, ranks: Ranks, sessions: SessionSplit, wanted: Collection[Split]
) -> dict[Split, Mask]:
    """Select the last unique pairs of held-out sessions: test from the end, validation before it.

    ``unique`` marks pairs whose sides occur nowhere else, and ``ranks`` orders sessions.

    Raises:
        CorpusError: if there are too few.
    """
    sizes: dict[Split, int] = {
        "test": sessions.test_pairs,
        "validation": sessions.validation_pairs,
    }
    places = np.flatnonzero(unique)
    places = places[np.argsort(ranks[places], kind="stable")]
    needed = sum(sizes[name] for name in wanted)
    if len(places) < needed:
        raise CorpusError(
            f"download.split.sessions: those held out have {len(places):,} pairs that occur "
            f"nowhere else, fewer than the required {needed:,}; name more sessions, or ask for "
            f"fewer pairs"
        )
    taken: dict[Split, Mask] = {}
    for name in (name for name in sizes if name in wanted):
        taken[name] = np.zeros(len(unique), dtype=np.bool_)
        taken[name][places[len(places) - sizes[name] :]] = True
        places = places[: len(places) - sizes[name]]
    return taken


def mark_unique(rows: Digests) -> Mask:
    """Mark the rows of (pairs, sides) whose digest is unique in every column."""
    marked = np.ones(len(rows), dtype=np.bool_)
    for column in rows.T:
        _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
        marked &= counts[places] == 1
    return marked

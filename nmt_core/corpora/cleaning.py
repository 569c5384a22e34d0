"""Turn parallel text into train, validation and test sets that share no sentence.

Pairs are checked by themselves in parallel (:mod:`nmt_core.base.parallel`); then 16 bytes per pair
come into memory, the digests by which duplicates and leaks are found.
Validation and test keep every line as the corpus has it; only train is filtered.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Literal

import numpy as np

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.parallel.jobs import WorkersConfig, append, run_in_order
from nmt_core.corpora.filters import FilterConfig, find_fault
from nmt_core.corpora.near_duplicates import Nearness, find_near_pairs
from nmt_core.corpora.parallel_text import (
    CorpusReading,
    Pair,
    PairRows,
    Problem,
    Text,
    cut_rows,
    read_pairs,
)
from nmt_core.corpora.sessions import (
    NOT_HELD_OUT,
    Mask,
    Ranks,
    mark_unique,
    rank_sessions,
    take_last,
)
from nmt_core.corpora.splitting import (
    SPLITS,
    NearDuplicateConfig,
    SessionSplit,
    Split,
    SplitConfig,
    split_of,
)
from nmt_core.corpora.staging import ASIDE, SIDES, AsidePairs, PairKeys, PairWriter, StagedPairs

Home = Split | Literal["aside"]


@dataclass
class CleaningOutcome:
    """Pairs kept per split, and removed per split and reason."""

    kept: dict[str, int] = field(default_factory=dict)
    removed: dict[str, Counter[str]] = field(default_factory=dict)
    readings: dict[str, CorpusReading] = field(default_factory=dict)
    """Problems in each text."""
    near: Nearness | None = None
    """Pairs of train that are near to those of test and then validation; None if not compared."""


@dataclass(frozen=True)
class Sieve:
    """Filters and the split of the pairs of one text."""

    name: Split
    drop: tuple[Problem, ...]
    split_off: frozenset[Split]
    """Splits that must come from this text, because no other gives them."""
    filters: FilterConfig
    split: SplitConfig

    @property
    def homes(self) -> list[Home]:
        """The possible splits of a pair."""
        if self.split_off and self.split.sessions:
            return [self.name, ASIDE]
        return [self.name, *self.split_off]

    def find_home(self, pair: Pair, rank: int) -> Home:
        """Return where a pair of a session of this rank belongs."""
        if not self.split_off:
            return self.name
        if self.split.sessions:
            return self.name if rank == NOT_HELD_OUT else ASIDE
        drawn = split_of(pair.source, self.split)
        return drawn if drawn in self.split_off else self.name


@dataclass(frozen=True)
class SiftJob(PairRows):
    """Pairs to check."""

    sieve: Sieve
    ranks: Ranks | None
    """Of the sessions of the pairs, where these decide."""


@dataclass(frozen=True)
class Sifted:
    """Counts of checked pairs."""

    reading: CorpusReading = field(default_factory=CorpusReading)
    unfit: Counter[str] = field(default_factory=Counter)


def sift(job: SiftJob, part: Path) -> Sifted:
    """Write the pairs of each split with their digests, but for those unfit to train on."""
    sieve, sifted = job.sieve, Sifted()
    with ExitStack() as stack:
        homes = {name: PairWriter(part, name, stack) for name in sieve.homes}
        first = job.spans[0].first
        for number, pair in read_pairs(job, drop=sieve.drop, reading=sifted.reading):
            rank = NOT_HELD_OUT if job.ranks is None else int(job.ranks[number - first])
            home = sieve.find_home(pair, rank)
            why = find_fault(pair, sieve.filters) if home in ("train", ASIDE) else None
            if home == ASIDE:
                homes[home].add(pair, rank=rank, unfit=why)
            elif why is None:
                homes[home].add(pair)
            else:
                sifted.unfit[why] += 1
    return sifted


def clean_and_split(
    texts: Mapping[Split, Text],
    folder: Path,
    *,
    scratch: Path,
    filters: FilterConfig,
    split: SplitConfig,
    near_duplicates: NearDuplicateConfig,
    workers: WorkersConfig,
) -> CleaningOutcome:
    """Write ``{train,validation,test}.{source,target}`` into ``folder``, without a leak.

    No sentence of test, on either side, is left in validation or train, and none of validation in
    train; sentences are the same if their :func:`comparison_key` is. Nor is one left in train that
    is near to one of test or validation; ``test.near`` says of each pair of test how many were.

    Args:
        texts: "train" and, if the corpus brings them, "validation" and "test"; missing ones are
            split off train, each pair once.
        folder: the target; the caller makes it appear whole.
        scratch: folder for all pairs while they are compared.
        filters: applied to train alone.
        split: how to split train.
        near_duplicates: the threshold of sentences that are too near to stay in train.
        workers: processes or a cluster.

    Raises:
        CorpusError: if the text cannot be trusted, or a split is left without any pair.
        WorkersError: if workers are lost.
    """
    outcome = CleaningOutcome(
        removed={name: Counter() for name in SPLITS},
        readings={name: CorpusReading() for name in texts},
    )
    jobs = list(_jobs(texts, scratch, filters, split, workers.chunk_lines))
    staged = {name: StagedPairs(scratch, name) for name in SPLITS}
    if any(ASIDE in job.sieve.homes for job in jobs):
        assert split.sessions
        aside = AsidePairs(scratch)
        _stage(jobs, [*staged.values(), aside], scratch, workers, outcome)
        wanted = [name for name in SPLITS if name not in texts]
        _take_sessions(aside, staged, split.sessions, wanted, outcome.removed["train"])
    else:
        _stage(jobs, list(staged.values()), scratch, workers, outcome)
    held_out: dict[str, PairKeys] = {}
    for name in ("test", "validation", "train"):
        keys = staged[name].keys()
        removed = outcome.removed[name]
        keep = np.ones(len(keys.source), dtype=np.bool_)
        for other, other_keys in held_out.items():
            keep = _strike(keep, keys.shared_with(other_keys), removed, f"also_in_{other}")
        if name == "train" and near_duplicates.distance:
            outcome.near = _find_near(staged[name], folder, scratch, near_duplicates, workers)
            near_tests = outcome.near.counts[: outcome.kept["test"]]
            files.write_lines(folder / "test.near", map(str, near_tests.tolist()))
            if near_duplicates.remove:
                marked = np.zeros_like(keep)
                marked[outcome.near.rows] = True
                keep = _strike(keep, marked, removed, "near_duplicate")
        if filters.remove_duplicates if name == "train" else name not in texts:
            keep = _strike(keep, keys.repeated(), removed, "duplicate")
        staged[name].write(folder, keep)
        held_out[name] = keys.only(keep)
        outcome.kept[name] = int(keep.sum())
    _check(outcome, texts, split)
    return outcome


def _jobs(
    texts: Mapping[Split, Text],
    scratch: Path,
    filters: FilterConfig,
    split: SplitConfig,
    lines: int,
) -> Iterator[SiftJob]:
    missing = frozenset(SPLITS) - frozenset(texts)
    for name, text in texts.items():
        split_off = missing if name == "train" else frozenset[Split]()
        sieve = Sieve(name, text.drop, split_off, filters, split)
        cut = cut_rows(text, lines, scratch=scratch)
        ends = np.cumsum([rows.spans[0].lines for rows in cut])
        ranks: Sequence[Ranks | None] = [None] * len(cut)
        if split_off and split.sessions and cut:
            ranks = np.split(rank_sessions(split.sessions, int(ends[-1])), ends[:-1])
        for rows, of_rows in zip(cut, ranks, strict=True):
            yield SiftJob(rows.spans, rows.names, rows.place, sieve, of_rows)


def _stage(
    jobs: Sequence[SiftJob],
    homes: Sequence[StagedPairs],
    scratch: Path,
    workers: WorkersConfig,
    outcome: CleaningOutcome,
) -> None:
    with run_in_order(sift, jobs, workers, beside=scratch / "sifted", title="cleaning") as done:
        for job, (part, sifted) in zip(jobs, done, strict=True):
            for home in homes:
                home.take(part)
            outcome.removed["train"].update(sifted.unfit)
            outcome.readings[job.sieve.name].add(sifted.reading)


def _take_sessions(
    aside: AsidePairs,
    staged: Mapping[Split, StagedPairs],
    sessions: SessionSplit,
    wanted: Sequence[Split],
    removed: Counter[str],
) -> None:
    """Give the last pairs of the sessions held out to test and validation, others to train."""
    keys, others = aside.keys(), staged["train"].keys()
    columns = ((keys.source, others.source), (keys.target, others.target))
    unique = mark_unique(np.concatenate(column) for column in columns)[: len(keys.source)]
    ranks, unfit = aside.marks()
    left = np.ones(len(unique), dtype=np.bool_)
    for name, taken in take_last(unique, ranks, sessions, wanted).items():
        aside.give(taken, staged[name])
        left &= ~taken
    fit = np.array([not why for why in unfit], dtype=np.bool_)
    aside.give(left & fit, staged["train"])
    removed.update(compress(unfit, (left & ~fit).tolist()))
    aside.remove()


def _find_near(
    train: StagedPairs,
    folder: Path,
    scratch: Path,
    config: NearDuplicateConfig,
    workers: WorkersConfig,
) -> Nearness:
    """Compare train with test and validation, which are written."""
    held_out = {side: scratch / f"held_out.{side}" for side in SIDES}
    for side, path in held_out.items():
        path.touch()
        for name in ("test", "validation"):
            append(folder / f"{name}.{side}", path)
    sides = {side: train.files[side] for side in SIDES}
    near = find_near_pairs(sides, held_out, config, workers=workers, scratch=scratch)
    for path in held_out.values():
        path.unlink()
    return near


def _strike(keep: Mask, marked: Mask, removed: Counter[str], why: str) -> Mask:
    struck = int((keep & marked).sum())
    if struck:
        removed[why] += struck
    return keep & ~marked


def _check(outcome: CleaningOutcome, texts: Mapping[Split, Text], split: SplitConfig) -> None:
    """Refuse a split without any pair, train first, for the others may come of it."""
    rates = {"validation": split.validation_per_10000, "test": split.test_per_10000}
    for name in ("train", "test", "validation"):
        if outcome.kept[name]:
            continue
        reading = outcome.readings.get(name, outcome.readings["train"])
        breaks = reading.repaired["inner_line_break"] > sum(outcome.kept.values())
        hint = ""
        if breaks or reading.dropped["line_too_long"]:
            hint = r"; lines must end in \n, for which CR alone does not stand"
        if name not in texts:
            raise CorpusError(
                f"no pair of {outcome.kept['train']} fell into {name} at {rates[name]:g} in "
                f"10,000; raise split.{name}_per_10000 or give a {name} text{hint}"
            )
        why = outcome.removed[name] + reading.dropped
        reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(why.items()))
        others = any(outcome.kept.values())
        nothing = "none, all fell into other splits" if others else "none, the text is empty"
        raise CorpusError(
            f"no pair is left for {name} (removed: {reasons or nothing}); "
            f"give more text or loosen the filter{hint}"
        )

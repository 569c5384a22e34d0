"""Read one corpus: repair or leave out what is no text, filter it, and set pairs aside.

Pairs are checked by themselves in parallel (:mod:`nmt_core.base.parallel`). What comes of a corpus
depends on nothing but its text and its settings, so it can be kept, whatever other corpora there
are. Validation and test sets that are given keep every line as the corpus has it. What is split off
from train is repaired and screened as train is, since scores on noise tell nothing; the bounds of
lengths, which keep training cheap, are of train alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import compress, islice
from pathlib import Path
from typing import Literal

import numpy as np

from nmt_core.base import files
from nmt_core.base.parallel.jobs import WorkersConfig, load_cached, run_in_order
from nmt_core.corpora.filters import NO_TRANSLATION, FilterConfig, find_fault
from nmt_core.corpora.grouping import group_rows
from nmt_core.corpora.parallel_text import (
    CorpusReading,
    Pair,
    PairRows,
    Problem,
    Text,
    cut_rows,
    read_pairs,
)
from nmt_core.corpora.screening.finding import settle_findings
from nmt_core.corpora.screening.looking import (
    MOST_TRUSTED,
    CorpusSample,
    look_at_corpus,
    read_sample,
)
from nmt_core.corpora.screening.properties import BY_SCREEN
from nmt_core.corpora.screening.screen import Screen
from nmt_core.corpora.screening.settings import RepairName, ScreenConfig
from nmt_core.corpora.screening.signals import PAIRS_AT_ONCE
from nmt_core.corpora.sessions import (
    NOT_HELD_OUT,
    Ranks,
    mark_unique,
    rank_sessions,
    take_last,
)
from nmt_core.corpora.splitting import SPLITS, SessionSplit, Split, SplitConfig, split_of
from nmt_core.corpora.staging import ASIDE, AsidePairs, PairWriter, StagedPairs

Home = Split | Literal["aside"]

EXAMPLES = 3
"""Pairs that are shown of those that a filter takes."""

COUNTS = "counts.json"
"""Beside the pairs of a corpus: what was left out, repaired and noticed."""


@dataclass(frozen=True)
class SiftRules:
    """What is left out of a corpus, and what is set aside."""

    filters: FilterConfig
    """Not applied to validation and test sets that are given."""
    split: SplitConfig
    """How to split train."""
    split_off: frozenset[Split]
    """Splits that are taken from train, because no corpus brings them."""
    languages: tuple[str, ...] = ()
    """Of the text, source first, or one; without, nothing is looked at and screened."""


@dataclass(frozen=True)
class Sieve:
    """Filters and the split of the pairs of one text."""

    name: Split
    drop: tuple[Problem, ...]
    rules: SiftRules
    screen: Path | None = None
    """Folder of the screen of the corpus, where it has one."""

    @property
    def split_off(self) -> frozenset[Split]:
        """The splits that are taken from this text."""
        return self.rules.split_off if self.name == "train" else frozenset()

    @property
    def repair(self) -> Sequence[RepairName]:
        """Repairs of this text."""
        return self.rules.filters.repair if self.name == "train" else ()

    @property
    def homes(self) -> list[Home]:
        """The possible splits of a pair."""
        if self.split_off and self.rules.split.sessions:
            return [self.name, ASIDE]
        return [self.name, *self.split_off]

    def find_home(self, pair: Pair, rank: int) -> Home:
        """Return where a pair belongs whose session has this rank, or whose split this place."""
        if not self.split_off:
            return self.name
        if self.rules.split.by != "pair":
            return SPLITS[rank]
        if self.rules.split.sessions:
            return self.name if rank == NOT_HELD_OUT else ASIDE
        drawn = split_of(pair.source, self.rules.split)
        return drawn if drawn in self.split_off else self.name


@dataclass(frozen=True)
class SiftJob(PairRows):
    """Pairs to check."""

    sieve: Sieve
    ranks: Ranks | None
    """Of the sessions of the pairs, or places of their splits, where these decide."""


@dataclass(frozen=True)
class SiftedRows:
    """Counts of checked pairs."""

    reading: CorpusReading = field(default_factory=CorpusReading)
    unfit: dict[Home, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Pairs that are left out, by where they would belong and by reason."""
    examples: dict[str, list[Pair]] = field(default_factory=dict)
    """Some of them, by reason."""

    def leave_out(self, pair: Pair, home: Home, why: str) -> None:
        """Count a pair that is unfit."""
        self.unfit[home][why] += 1
        if len(some := self.examples.setdefault(why, [])) < EXAMPLES:
            some.append(pair)


def sift(job: SiftJob, part: Path) -> SiftedRows:
    """Write the pairs of each split with their digests, but for those that are unfit for it."""
    sieve, sifted = job.sieve, SiftedRows()
    with ExitStack() as stack:
        homes = {name: PairWriter(part, name, stack) for name in sieve.homes}
        first = job.spans[0].first
        screen = load_cached(Screen.load, sieve.screen) if sieve.screen else None
        for number, pair, taken in _screen(
            read_pairs(job, drop=sieve.drop, reading=sifted.reading, repair=sieve.repair), screen
        ):
            rank = NOT_HELD_OUT if job.ranks is None else int(job.ranks[number - first])
            home, why, noise = sieve.find_home(pair, rank), None, None
            if sieve.name == "train":
                why = find_fault(pair, sieve.rules.filters) or taken
                noise = why if why in NO_TRANSLATION else taken
            if home == ASIDE and not noise:
                homes[home].add(pair, rank=rank, unfit=why)
            elif reason := why if home == "train" else noise:
                sifted.leave_out(pair, home, reason)
            else:
                homes[home].add(pair)
    return sifted


def _screen(
    numbered: Iterator[tuple[int, Pair]], screen: Screen | None
) -> Iterator[tuple[int, Pair, str | None]]:
    """Yield pairs with the filters that take them, many of them being judged at once."""
    while batch := [*islice(numbered, PAIRS_AT_ONCE)]:
        pairs = [pair for _, pair in batch]
        taken = screen.judge(pairs) if screen else [None] * len(pairs)
        for (number, pair), why in zip(batch, taken, strict=True):
            yield number, pair, why


@dataclass
class SiftedCorpus:
    """A corpus whose pairs lie in a folder, split, with the digests of their sentences."""

    folder: Path
    removed: dict[Split, Counter[str]] = field(
        default_factory=lambda: {name: Counter() for name in SPLITS}
    )
    """Pairs that were left out, by split and reason."""
    notices: list[str] = field(default_factory=list)
    """Problems of the text, one sentence each."""
    readings: dict[Split, CorpusReading] = field(default_factory=dict)
    """Problems in each text that the corpus brought."""
    examples: dict[str, list[Pair]] = field(default_factory=dict)
    """Some of the pairs that were left out, by reason."""
    keep_duplicates: bool = False
    """Whether pairs that are repeated stay in train."""
    replayed: bool = False
    """Whether it is of an earlier training: nothing that was held out then is learnt now."""

    @classmethod
    def load(cls, folder: Path) -> "SiftedCorpus":
        """Return the corpus in a folder."""
        counts = files.read_json(folder / COUNTS)
        readings: dict[Split, CorpusReading] = {
            split: CorpusReading(**{name: Counter(kind) for name, kind in reading.items()})
            for split, reading in counts["readings"].items()
        }
        examples = {why: [Pair(*pair) for pair in some] for why, some in counts["examples"].items()}
        removed = {split: Counter(reasons) for split, reasons in counts["removed"].items()}
        return cls(folder, removed, counts["notices"], readings, examples)

    def save(self) -> None:
        """Write the counts into the folder."""
        readings = {split: vars(reading) for split, reading in self.readings.items()}
        files.write_json(
            self.folder / COUNTS,
            {
                "removed": self.removed,
                "notices": self.notices,
                "readings": readings,
                "examples": self.examples,
            },
        )


def sift_corpus(
    texts: Mapping[Split, Text],
    folder: Path,
    *,
    scratch: Path,
    rules: SiftRules,
    workers: WorkersConfig,
    name: str = "corpus",
) -> SiftedCorpus:
    """Write the pairs of each split with their digests into a folder.

    Args:
        texts: "train" and, if the corpus brings them, "validation" and "test".
        folder: the target; the caller makes it appear whole.
        scratch: folder for temporary files.
        rules: what is left out, and what is set aside.
        workers: processes or a cluster.
        name: of the corpus.

    Raises:
        CorpusError: if the text cannot be trusted, or all of it is wrong.
        WorkersError: if workers are lost.
    """
    sifted = SiftedCorpus(folder, readings={name: CorpusReading() for name in texts})
    staged: dict[Home, StagedPairs] = {name: StagedPairs(folder, name) for name in SPLITS}
    jobs: list[SiftJob] = []
    for split, text in texts.items():
        rows = cut_rows(text, workers.chunk_lines, scratch=scratch)
        sieve = Sieve(split, text.drop, rules)
        jobs += _make_jobs(text, rows, sieve, sifted.readings[split], name)
    screen, sifted.notices = learn_screen_of(jobs, rules, scratch / "screen", name)
    jobs = [replace(job, sieve=replace(job.sieve, screen=screen)) for job in jobs]
    if any(ASIDE in job.sieve.homes for job in jobs):
        staged[ASIDE] = AsidePairs(folder)
    with run_in_order(
        sift, jobs, workers, beside=scratch / "sifted", title=f"cleaning {name}"
    ) as done:
        for job, (part, counts) in zip(jobs, done, strict=True):
            for home in staged.values():
                home.take(part)
            for place, reasons in counts.unfit.items():
                sifted.removed["train" if place == ASIDE else place].update(reasons)
            for why, some in counts.examples.items():
                sifted.examples[why] = [*sifted.examples.get(why, []), *some][:EXAMPLES]
            sifted.readings[job.sieve.name].add(counts.reading)
    if ASIDE in staged:
        assert rules.split.sessions
        wanted = [name for name in SPLITS if name in rules.split_off]
        _take_sessions(staged, rules.split.sessions, wanted, sifted.removed["train"])
    sifted.save()
    return sifted


def learn_screen_of(
    jobs: Sequence[SiftJob], rules: SiftRules, folder: Path, name: str
) -> tuple[Path | None, list[str]]:
    """Look at a corpus if asked to; return its screen, if it is to have one, and what to report.

    Raises:
        CorpusError: if something is wrong with all of the corpus.
    """
    look, config = rules.filters.look, rules.filters.screen
    if not rules.languages or (look is None and config is None):
        return None, []
    of_train = [job for job in jobs if job.sieve.name == "train"]
    given = [job for job in jobs if job.sieve.name != "train"]
    most = (config or ScreenConfig()).sample_pairs
    sample, trusted = (
        read_sample(some, some[0].sieve.drop, limit, some[0].sieve.repair)
        if some
        else CorpusSample([], [])
        for some, limit in ((of_train, most), (given, MOST_TRUSTED))
    )
    accepted = look.accepted if look else ()
    looked = look_at_corpus(sample, trusted.pairs, rules.languages, config, accepted)
    taken = {BY_SCREEN} if looked.screen else {}
    left = [finding for finding in looked.findings if finding.setting not in taken]
    notices = settle_findings(name, left, accepted)
    if looked.screen is None:
        return None, notices
    looked.screen.save(folder)
    return folder, notices


def _make_jobs(
    text: Text, cut: Sequence[PairRows], sieve: Sieve, reading: CorpusReading, name: str
) -> Iterator[SiftJob]:
    ends = np.cumsum([rows.spans[0].lines for rows in cut])
    ranks: Sequence[Ranks | None] = [None] * len(cut)
    split = sieve.rules.split
    if sieve.split_off and cut:
        if split.sessions:
            ranks = np.split(rank_sessions(split.sessions, int(ends[-1])), ends[:-1])
        elif split.by != "pair":
            places, unknown = group_rows(text, int(ends[-1]), split, sieve.split_off, name)
            ranks = np.split(places, ends[:-1])
            if unknown:
                reading.noticed[f"unknown_{split.by}"] += unknown
    for rows, of_rows in zip(cut, ranks, strict=True):
        yield SiftJob(rows.spans, rows.names, rows.place, sieve, of_rows)


def _take_sessions(
    staged: Mapping[Home, StagedPairs],
    sessions: SessionSplit,
    wanted: Sequence[Split],
    removed: Counter[str],
) -> None:
    """Give the last pairs of the sessions held out to test and validation, others to train."""
    aside, train = staged[ASIDE], staged["train"]
    assert isinstance(aside, AsidePairs)
    keys, others = aside.keys(), train.keys()
    columns = ((keys.source, others.source), (keys.target, others.target))
    unique = mark_unique(np.concatenate(column) for column in columns)[: len(keys.source)]
    ranks, unfit = aside.marks()
    left = np.ones(len(unique), dtype=np.bool_)
    for name, taken in take_last(unique, ranks, sessions, wanted).items():
        aside.give(taken, staged[name])
        left &= ~taken
    fit = np.array([not why for why in unfit], dtype=np.bool_)
    aside.give(left & fit, train)
    removed.update(compress(unfit, (left & ~fit).tolist()))
    aside.remove()

"""Filter a corpus: repair its lines, drop unsuitable pairs, and split off held-out sets.

Jobs process pairs in parallel (``nmt_core.base.jobs``). The result depends only on the text and
its settings, so it can be cached. Validation and test sets of the user keep every line. Sets that
are split off are repaired and screened like train, because scores on noise are meaningless; limits
of length, which reduce the cost of training, apply only to train.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from nmt_core.base import files
from nmt_core.base.jobs import WorkersConfig, run_in_order
from nmt_core.corpora.filters import NO_TRANSLATION, FilterConfig, ScreenConfig, find_fault
from nmt_core.corpora.parallel_text import (
    CorpusReading,
    Pair,
    PairRows,
    Problem,
    Text,
    cut_rows,
    read_pairs,
)
from nmt_core.corpora.repairs import RepairName
from nmt_core.corpora.screening.inspection import (
    BY_SCREEN,
    inspect_sample,
    read_sample,
    settle_findings,
)
from nmt_core.corpora.screening.screen import MIN_PAIRS, PAIRS_AT_ONCE, Screen, learn_screen
from nmt_core.corpora.splitting import SPLITS, Split, SplitConfig, digest, split_of
from nmt_core.corpora.staging import StagedPairs, stage_pairs

MAX_EXAMPLES = 3
"""Maximum number of examples of pairs that a filter drops."""

COUNTS = "counts.json"
"""Name of the file with counts of dropped pairs, repairs and notices, next to the pairs."""

NOT_STORED = {"folder", "kept", "origins", "keep_duplicates", "replayed", "swapped", "measured"}
"""Fields of a corpus that depend on the other corpora, or on settings of another key."""


@dataclass(frozen=True)
class FilterRules:
    """Filters of a corpus, and the sets to split off."""

    filters: FilterConfig
    """Filters, which do not apply to validation and test sets of the user."""
    split: SplitConfig
    split_off: frozenset[Split]
    """Splits that are taken from train, because no corpus has them."""
    languages: tuple[str, ...] = ()
    """Source and target, or one language; if empty, the corpus is not inspected or screened."""


@dataclass(frozen=True)
class FilterJob(PairRows):
    """Rows of one text to filter."""

    text: Split
    """The split of the text."""
    drop: tuple[Problem, ...]
    rules: FilterRules

    @property
    def repair(self) -> Sequence[RepairName]:
        """The repairs of this text."""
        return self.rules.filters.repair if self.text == "train" else ()

    def find_split(self, pair: Pair) -> Split:
        """Return the split of a pair."""
        if self.text != "train" or not self.rules.split_off:
            return self.text
        split = split_of(pair.source, self.rules.split)
        return split if split in self.rules.split_off else "train"


Examples = dict[str, list[Pair]]
"""Some dropped pairs, by reason."""

Dropped = Counter[tuple[Split, str]]
"""Number of dropped pairs, by split and reason."""


def filter_rows(
    screen: Screen | None, job: FilterJob, part: Path
) -> tuple[CorpusReading, Dropped, Examples]:
    """Write accepted pairs with their digests; return problems, and dropped pairs with examples."""
    reading, dropped, examples = CorpusReading(), Dropped(), Examples()
    accepted: dict[Split, tuple[list[Pair], bytearray]] = {}
    for pair, screened in _screen_pairs(screen, job, reading):
        split, fault, noise = job.find_split(pair), None, None
        if job.text == "train":
            fault = find_fault(pair, job.rules.filters) or screened
            noise = fault if fault in NO_TRANSLATION else screened
        if reason := fault if split == "train" else noise:
            dropped[split, reason] += 1
            if len(pairs := examples.setdefault(reason, [])) < MAX_EXAMPLES:
                pairs.append(pair)
        else:
            pairs, digests = accepted.setdefault(split, ([], bytearray()))
            pairs.append(pair)
            digests += b"".join(map(digest, pair))
    for split, (pairs, digests) in accepted.items():
        stage_pairs(pairs, bytes(digests), part, split)
    return reading, dropped, examples


def _screen_pairs(
    screen: Screen | None, job: FilterJob, reading: CorpusReading
) -> Iterator[tuple[Pair, str | None]]:
    """Yield pairs with the filter of the screen that drops each, or None, in batches."""
    numbered = read_pairs(job, drop=job.drop, reading=reading, repair=job.repair)
    while batch := [*islice(numbered, PAIRS_AT_ONCE)]:
        pairs = [pair for _, pair in batch]
        verdicts = screen.judge(pairs) if screen else [None] * len(pairs)
        yield from zip(pairs, verdicts, strict=True)


@dataclass
class FilteredCorpus:
    """A filtered corpus: split pairs in a folder, with the digests of their sentences."""

    folder: Path
    removed: dict[Split, Counter[str]] = field(
        default_factory=lambda: {name: Counter() for name in SPLITS}
    )
    """Dropped pairs, by split and reason."""
    notices: list[str] = field(default_factory=list)
    """Problems of the text, one sentence each."""
    readings: dict[Split, CorpusReading] = field(default_factory=dict)
    """Problems in each text of the corpus."""
    examples: Examples = field(default_factory=Examples)
    kept: dict[Split, int] = field(default_factory=dict)
    """Number of pairs of each split after corpora were joined."""
    origins: list[dict[str, Any]] = field(default_factory=list)
    """Size and SHA-256 of each of its files."""
    keep_duplicates: bool = False
    """Whether repeated pairs stay in train."""
    replayed: bool = False
    """Whether the corpus is from an earlier training, whose held-out sets stay held out."""
    measured: bool = True
    """Validation and test include its held-out sets."""
    swapped: bool = False
    """Training reads its targets as sources, for the opposite direction."""

    def swap(self) -> "FilteredCorpus":
        """Return the corpus for the opposite direction, with the same split and no counts."""
        readings = {name: CorpusReading() for name in self.readings}
        return FilteredCorpus(
            self.folder,
            readings=readings,
            origins=self.origins,
            keep_duplicates=self.keep_duplicates,
            replayed=self.replayed,
            swapped=not self.swapped,
        )

    @classmethod
    def load(cls, folder: Path) -> "FilteredCorpus":
        """Return the corpus in a folder."""
        counts = files.read_json(folder / COUNTS)
        return TypeAdapter(cls).validate_python(counts | {"folder": folder})

    def save(self) -> None:
        """Write the counts into the folder."""
        counts = TypeAdapter(FilteredCorpus).dump_python(self, mode="json", exclude=NOT_STORED)
        files.write_json(self.folder / COUNTS, counts)

    def list_reasons(self, name: Split) -> Counter[str]:
        """Return the number of removed pairs of a split by reason, including unreadable ones."""
        return self.removed[name] + self.readings.get(name, CorpusReading()).dropped


def filter_corpus(
    texts: Mapping[Split, Text],
    folder: Path,
    *,
    scratch: Path,
    rules: FilterRules,
    workers: WorkersConfig,
    name: str = "corpus",
) -> FilteredCorpus:
    """Write the accepted pairs of each split with their digests into a folder.

    The caller replaces the folder atomically.

    Raises:
        CorpusError: if the text is unusable, or the sanity check fails.
    """
    filtered = FilteredCorpus(folder, readings={name: CorpusReading() for name in texts})
    staged = [StagedPairs(folder, name) for name in SPLITS]
    jobs = [
        FilterJob(rows.spans, rows.names, rows.place, split, text.drop, rules)
        for split, text in texts.items()
        for rows in cut_rows(text, workers.chunk_lines, scratch=scratch)
    ]
    train = [job for job in jobs if job.text == "train"]
    screen, filtered.notices = _inspect(train, rules, name)
    work, title = partial(filter_rows, screen), f"cleaning {name}"
    with run_in_order(work, jobs, workers, output=scratch / "filtered", title=title) as done:
        for job, (part, (reading, dropped, examples)) in zip(jobs, done, strict=True):
            for pairs in staged:
                pairs.take(part)
            for (split, reason), count in dropped.items():
                filtered.removed[split][reason] += count
            for reason, pairs_of_part in examples.items():
                earlier = filtered.examples.get(reason, [])
                filtered.examples[reason] = [*earlier, *pairs_of_part][:MAX_EXAMPLES]
            filtered.readings[job.text].add(reading)
    filtered.save()
    return filtered


def _inspect(
    train: Sequence[FilterJob], rules: FilterRules, name: str
) -> tuple[Screen | None, list[str]]:
    """Inspect a corpus if this is configured; return its screen, if it has one, and notices."""
    look, config = rules.filters.look, rules.filters.screen
    if not rules.languages or not train or (look is None and config is None):
        return None, []
    limit = (config or ScreenConfig()).sample_pairs
    pairs, lines = read_sample(train, train[0].drop, limit, train[0].repair)
    findings = inspect_sample(pairs, rules.languages, lines)
    screened = config is not None and len(pairs) >= MIN_PAIRS and len(rules.languages) > 1
    if screened:
        findings = [finding for finding in findings if finding.setting != BY_SCREEN]
    notices = settle_findings(name, findings, look.accepted if look else ())
    if config is None or not screened:
        return None, notices
    source, target = rules.languages
    return learn_screen(pairs, (source, target), config), notices

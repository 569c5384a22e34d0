"""Inspect a corpus before it is used: draw a sample, check it, and learn its screen."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.parallel_text import CorpusReading, Pair, PairRows, Problem, read_pairs
from nmt_core.corpora.screening.findings import Finding, find_properties, show_finding
from nmt_core.corpora.screening.inspection import inspect_sample
from nmt_core.corpora.screening.screen import MIN_PAIRS, Screen, learn_screen
from nmt_core.corpora.screening.settings import (
    FilterName,
    FindingKind,
    RepairName,
    ScreenConfig,
)

MAX_TRUSTED = 10_000
"""Maximum number of trusted pairs to which thresholds are fitted."""

MAX_DROPPED = 0.5
"""Share of a sample that filters may drop; if they drop more, the whole text is noise."""

WHOLLY_WRONG = frozenset({"swapped", "wrong_language", "unrelated"})
"""Findings that prevent learning from a corpus."""

MIN_RUN = 100
"""Minimum number of neighbouring pairs in a run."""


class CorpusSample(NamedTuple):
    """Pairs of a corpus, in runs of neighbours."""

    pairs: list[Pair]
    lines: list[int]
    """The line, or unit, of each in its file."""


@dataclass(frozen=True)
class Inspection:
    """The result of inspecting a sample of a corpus."""

    pairs: list[Pair]
    """The sample, in the order of the corpus."""
    findings: list[Finding]
    screen: Screen | None
    """None if there are too few pairs to learn one."""
    dropped: list[FilterName | None]
    """The filter that drops each pair of the sample."""


def inspect_corpus(
    sample: CorpusSample,
    trusted: Sequence[Pair],
    languages: tuple[str, ...],
    config: ScreenConfig | None,
    accepted: Collection[FindingKind] = (),
) -> Inspection:
    """Check a sample, and learn a screen from it.

    Trusted pairs are those of given validation and test sets. Without settings, and for
    monolingual text, no screen is learnt; accepted findings do not prevent it.

    Raises:
        CorpusError: if py3langid is missing.
    """
    pairs = sample.pairs
    findings = inspect_sample(pairs, languages, sample.lines)
    findings += [
        finding._replace(
            sentence=f"{finding.sentence} in validation and test", setting="", stops=False
        )
        for finding in find_properties(trusted, languages)
    ]
    wholly_wrong = any(finding.kind in WHOLLY_WRONG - {*accepted} for finding in findings)
    unscreened = Inspection(pairs, findings, None, [None] * len(pairs))
    if config is None or len(pairs) < MIN_PAIRS or wholly_wrong or len(languages) == 1:
        return unscreened
    try:
        screen = learn_screen(pairs, trusted, (languages[0], languages[1]), config)
    except CorpusError:  # no two words occur together
        sentence = "the pairs teach no filter what goes together; give other text, or no screen"
        findings.append(show_finding("noise", sentence, pairs, range(len(pairs))))
        return unscreened
    dropped = screen.judge(pairs)
    rows = [row for row, name in enumerate(dropped) if name]
    if len(rows) > MAX_DROPPED * len(pairs):
        counts = Counter(name for name in dropped if name).most_common()
        filters = ", ".join(f"{name} {count:,}" for name, count in counts)
        sentence = (
            f"{len(rows) / len(pairs):.0%} of the pairs are noise (dropped by the filters "
            f"{filters}); give other text, or set thresholds under screen"
        )
        findings.append(show_finding("noise", sentence, pairs, rows))
    return Inspection(pairs, findings, screen, dropped)


def read_sample(
    rows: Sequence[PairRows],
    drop: Collection[Problem],
    limit: int,
    repair: Collection[RepairName] = (),
) -> CorpusSample:
    """Return a run of pairs from the beginning of each of many rows, about ``limit`` in all.

    Raises:
        CorpusError: if the text is unusable.
    """
    step = max(1, len(rows) * MIN_RUN // limit)
    chosen = rows[::step]
    run = -(-limit // max(len(chosen), 1))
    sample = CorpusSample([], [])
    for part in chosen:
        numbered = read_pairs(part, drop=drop, reading=CorpusReading(), repair=repair)
        for number, pair in islice(numbered, run):
            sample.pairs.append(pair)
            sample.lines.append(number + part.place.before)
    return sample

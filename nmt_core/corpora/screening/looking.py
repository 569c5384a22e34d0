"""Look at a corpus before it is used: a sample, what is wrong with all of it, and its screen."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.parallel_text import CorpusReading, Pair, PairRows, Problem, read_pairs
from nmt_core.corpora.screening.finding import Finding, show_finding
from nmt_core.corpora.screening.findings import inspect_sample
from nmt_core.corpora.screening.properties import find_properties
from nmt_core.corpora.screening.screen import LEAST_PAIRS, Screen, learn_screen
from nmt_core.corpora.screening.settings import (
    FilterName,
    FindingKind,
    RepairName,
    ScreenConfig,
)

MOST_TRUSTED = 10_000
"""Trusted pairs to which thresholds are fitted."""

MOST_TAKEN = 0.5
"""Share of a sample that filters may take; more of them is not noise in a text, but all of it."""

WHOLLY_WRONG = frozenset({"swapped", "wrong_language", "unrelated"})
"""Findings after which there is nothing to learn from."""


class CorpusSample(NamedTuple):
    """Pairs of a corpus, in runs of neighbours."""

    pairs: list[Pair]
    lines: list[int]
    """The line, or unit, of each in its file."""


@dataclass(frozen=True)
class CorpusLook:
    """A corpus as its sample shows it."""

    pairs: list[Pair]
    """The sample, in the order of the corpus."""
    findings: list[Finding]
    screen: Screen | None
    """None where there are too few pairs to learn one from."""
    taken: list[FilterName | None]
    """The filter that takes each pair of the sample."""


def look_at_corpus(
    sample: CorpusSample,
    trusted: Sequence[Pair],
    languages: tuple[str, ...],
    config: ScreenConfig | None,
    accepted: Collection[FindingKind] = (),
) -> CorpusLook:
    """Inspect a sample, and learn a screen from it.

    Args:
        sample: pairs of train.
        trusted: pairs of given validation and test sets; see :func:`learn_screen`.
        languages: codes of source and target; or of text of one language alone, from which no
            screen is learnt.
        config: thresholds that a person sets, and which share may be lost; None learns no screen.
        accepted: findings that a person wants, which keep no screen from being learnt.

    Raises:
        CorpusError: if py3langid is missing.
    """
    pairs = sample.pairs
    findings = inspect_sample(pairs, languages, sample.lines)
    findings += [
        found._replace(sentence=f"{found.sentence} in validation and test", setting="", stops=False)
        for found in find_properties(trusted, languages)
    ]
    wholly_wrong = any(finding.kind in WHOLLY_WRONG - {*accepted} for finding in findings)
    without = CorpusLook(pairs, findings, None, [None] * len(pairs))
    if config is None or len(pairs) < LEAST_PAIRS or wholly_wrong or len(languages) == 1:
        return without
    try:
        screen = learn_screen(pairs, trusted, (languages[0], languages[1]), config)
    except CorpusError:  # no word of it goes with another
        sentence = "the pairs teach no filter what goes together; give other text, or no screen"
        findings.append(show_finding("noise", sentence, pairs, range(len(pairs))))
        return without
    taken = screen.judge(pairs)
    rows = [row for row, why in enumerate(taken) if why]
    if len(rows) > MOST_TAKEN * len(pairs):
        counts = Counter(why for why in taken if why).most_common()
        named = ", ".join(f"{name} {count:,}" for name, count in counts)
        sentence = (
            f"{len(rows) / len(pairs):.0%} of the pairs are noise (taken by the filters {named}); "
            f"give other text, or set thresholds under screen"
        )
        findings.append(show_finding("noise", sentence, pairs, rows))
    return CorpusLook(pairs, findings, screen, taken)


def read_sample(
    rows: Sequence[PairRows],
    drop: Collection[Problem],
    most: int,
    repair: Collection[RepairName] = (),
    least: int = 100,
) -> CorpusSample:
    """Return pairs from the beginning of each of many rows, about so many in all.

    Args:
        rows: all of a text, cut.
        drop: problems for which a pair is left out.
        most: pairs to return; a run of neighbours has ``least`` or more of them.
        repair: what is repaired in them.
        least: pairs of a run.

    Raises:
        CorpusError: if the text cannot be trusted.
    """
    step = max(1, len(rows) * least // most)
    chosen = rows[::step]
    each = -(-most // max(len(chosen), 1))
    sample = CorpusSample([], [])
    for part in chosen:
        numbered = read_pairs(part, drop=drop, reading=CorpusReading(), repair=repair)
        for number, pair in islice(numbered, each):
            sample.pairs.append(pair)
            sample.lines.append(number + part.place.before)
    return sample

"""Findings: what is wrong with a corpus or some of its pairs, with examples and the remedy."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, get_args

import numpy as np

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.filters import make_comparison_key
from nmt_core.corpora.repairs import REPAIRS
from nmt_core.corpora.screening.settings import FindingKind, RepairName
from nmt_core.corpora.screening.signals import count_differing_literals
from nmt_core.corpora.screening.thresholds import PLAINLY_WRONG

SampleRow = tuple[str, ...]
"""A line of each side: a pair, or one line of monolingual text."""

LanguageCodes = tuple[str, ...]

EXAMPLE_CHARACTERS = 60
"""Length of an example."""

STOPPING = frozenset({"entities", "mojibake"})
"""Properties of pairs that stop a run if they are frequent."""

STOPPING_SHARE, STOPPING_PAIRS = 0.01, 10
"""Share and number of pairs from which such a property stops a run."""

REPORTED_SHARE, REPORTED_PAIRS = 0.002, 3
"""Share and number of pairs from which a property is reported."""

REPEATED = 20
"""Occurrences of a sentence in a small sample from which it counts as repeated."""

BY_SCREEN = "screen={}"
"""The setting that filters out pairs that are wrong as a whole."""


class Finding(NamedTuple):
    """A problem of a corpus, or of some of its pairs."""

    kind: FindingKind
    sentence: str
    """The problem and its remedy."""
    examples: tuple[SampleRow, ...]
    setting: str = ""
    """The setting of the corpus's filter that solves it, such as ``repair=[tags]``."""
    stops: bool = True
    """Whether the corpus is unfit for training; otherwise the finding is only reported."""

    def __str__(self) -> str:
        examples = (" beside ".join(map(repr, map(_cut, lines))) for lines in self.examples)
        return f"{self.sentence} (for example {'; '.join(examples)})"

    def advise(self, corpus: str) -> str:
        """Return the finding with the setting of a corpus to type."""
        setting = self.setting and f"; set download.corpora.{corpus}.filter.{self.setting}"
        return f"{self}{setting}"


def show_finding(
    kind: FindingKind, sentence: str, pairs: Sequence[SampleRow], rows: Sequence[int]
) -> Finding:
    """Return a finding with two different pairs, from the middle of its rows on."""
    different = dict.fromkeys(pairs[row] for row in rows[len(rows) // 2 :])
    return Finding(kind, sentence, tuple(islice(different, 2)))


def settle_findings(
    name: str, findings: Sequence[Finding], accepted: Sequence[FindingKind] = ()
) -> list[str]:
    """Return the notices of a corpus, or stop if the corpus is unfit for training.

    Raises:
        CorpusError: naming the findings that stop a run and are not accepted.
    """
    open_findings = [finding for finding in findings if finding.kind not in accepted]
    stopping = [finding for finding in open_findings if finding.stops]
    if not stopping:
        return [finding.advise(name) for finding in open_findings]
    setting = f"download.corpora.{name}.filter"
    kinds = ",".join(sorted({finding.kind for finding in stopping}))
    kinds_of_repair = get_args(RepairName)
    repairs = [each.kind for each in open_findings if each.kind in kinds_of_repair]
    repair = f"; set {setting}.repair=[{','.join(repairs)}]" if repairs else ""
    raise CorpusError(
        f"the corpus {name} is not fit to train on: {'; '.join(map(str, stopping))}{repair}; or, "
        f"if this is intended, set {setting}.look.accepted=[{kinds}]"
    )


def find_properties(pairs: Sequence[SampleRow], languages: LanguageCodes) -> Iterator[Finding]:
    """Yield the properties that more than a few pairs of a sample have."""
    for name, sentence in REPAIRABLE.items():
        repair = REPAIRS[name]
        rows = [row for row, pair in enumerate(pairs) if any(repair(line) != line for line in pair)]
        yield from report_rows(name, sentence, f"repair=[{name}]", pairs, rows)
    rows = find_differing_numbers(pairs, languages)
    yield from report_rows("numbers", "have different numbers", BY_SCREEN, pairs, rows)
    rows = find_repeated(pairs)
    yield from report_rows("repeated", "contain a sentence of many other pairs", "", pairs, rows)


REPAIRABLE: dict[RepairName, str] = {
    "entities": "contain entities of HTML",
    "mojibake": "are UTF-8 that was read as Windows-1252, as Ã¤ for ä",
    "tags": "contain tags of HTML",
}
"""Problems of lines that a repair solves."""


def report_rows(
    kind: FindingKind,
    sentence: str,
    setting: str,
    pairs: Sequence[SampleRow],
    rows: Sequence[int],
) -> Iterator[Finding]:
    """Yield a finding if more than a few rows have a property.

    ``sentence`` follows the number of pairs.
    """
    if len(rows) < max(REPORTED_PAIRS, REPORTED_SHARE * len(pairs)):
        return
    unit = "pairs" if len(pairs[0]) > 1 else "lines"
    counted = f"{len(rows):,} {unit} ({len(rows) / len(pairs):.1%}) {sentence}"
    frequent = len(rows) >= max(STOPPING_PAIRS, STOPPING_SHARE * len(pairs))
    yield show_finding(kind, counted, pairs, rows)._replace(
        setting=setting, stops=kind in STOPPING and frequent
    )


def find_differing_numbers(pairs: Sequence[SampleRow], languages: LanguageCodes) -> list[int]:
    """Return the pairs whose sides differ in numbers, URLs and the like."""
    if len(languages) == 1:
        return []
    source, target = ([pair[side] for pair in pairs] for side in (0, 1))
    differing = count_differing_literals(source, target, (languages[0], languages[1]))
    rows: list[int] = np.flatnonzero(differing > PLAINLY_WRONG["literals"]).tolist()
    return rows


def find_repeated(pairs: Sequence[SampleRow]) -> list[int]:
    """Return the pairs with a sentence of many pairs, ignoring case and punctuation."""
    keys = [[*enumerate(map(make_comparison_key, pair))] for pair in pairs]
    counts = Counter(key for pair in keys for key in pair)
    least = max(REPEATED, REPORTED_SHARE * len(pairs))
    return [row for row, pair in enumerate(keys) if any(counts[key] >= least for key in pair)]


def _cut(line: str) -> str:
    return line if len(line) <= EXAMPLE_CHARACTERS else f"{line[: EXAMPLE_CHARACTERS - 1]}…"

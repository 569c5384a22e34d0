"""Properties that hardly any pair of sound text has: how many pairs of a sample have them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nmt_core.corpora.filters import make_comparison_key
from nmt_core.corpora.repairs import REPAIRS
from nmt_core.corpora.screening.finding import Finding, SampleRow, show_finding
from nmt_core.corpora.screening.settings import FindingKind, RepairName
from nmt_core.corpora.screening.signals import count_differing_literals
from nmt_core.corpora.screening.thresholds import PLAINLY_WRONG

STOPPING = frozenset({"entities", "mojibake"})
"""Properties that no text is meant to have, so that a run stops."""

SOME = 0.01
"""Share of pairs with such a property that stops a run."""

FEW = 10
"""Fewer of them are an accident in any sample."""

REPORTED = 0.002
"""Share of pairs that is reported; of sound text, one in a thousand lines looks like another
language."""

FEWEST_REPORTED = 3

REPEATED = 20
"""Pairs of a sample in which no sentence stands that is not boilerplate, of up to 10,000."""

BY_SCREEN = "screen={}"
"""The setting that leaves out what is wrong with a pair as a whole."""

LanguageCodes = tuple[str, ...]
RowNumbers = Sequence[int]


class Property(NamedTuple):
    """A property of pairs."""

    kind: FindingKind
    find: Callable[[Sequence[SampleRow], LanguageCodes], RowNumbers]
    """Returns the numbers of the pairs that have it."""
    sentence: str
    """Follows the number of pairs."""
    setting: str = ""
    """Setting of the filter that mends it."""


def find_properties(pairs: Sequence[SampleRow], languages: LanguageCodes) -> Iterator[Finding]:
    """Yield the properties of more than a few pairs of a sample."""
    for one in PROPERTIES:
        yield from report_rows(one, pairs, one.find(pairs, languages))


def report_rows(one: Property, pairs: Sequence[SampleRow], rows: RowNumbers) -> Iterator[Finding]:
    """Yield a finding if more than a few rows have a property."""
    if len(rows) < max(FEWEST_REPORTED, REPORTED * len(pairs)):
        return
    unit = "pairs" if len(pairs[0]) > 1 else "lines"
    sentence = f"{len(rows):,} {unit} ({len(rows) / len(pairs):.1%}) {one.sentence}"
    yield show_finding(one.kind, sentence, pairs, rows)._replace(
        setting=one.setting,
        stops=one.kind in STOPPING and len(rows) >= max(FEW, SOME * len(pairs)),
    )


def find_differing_numbers(pairs: Sequence[SampleRow], languages: LanguageCodes) -> RowNumbers:
    """Return the pairs whose sides differ in numbers, or in addresses and the like."""
    if len(languages) == 1:
        return []
    source, target = ([pair[side] for pair in pairs] for side in (0, 1))
    differing = count_differing_literals(source, target, (languages[0], languages[1]))
    return np.flatnonzero(differing > PLAINLY_WRONG["literals"]).tolist()


def find_repeated(pairs: Sequence[SampleRow], languages: LanguageCodes) -> RowNumbers:
    """Return the pairs with a sentence that many pairs have, regardless of case and punctuation."""
    del languages
    keys = [[*enumerate(map(make_comparison_key, pair))] for pair in pairs]
    counts = Counter(key for pair in keys for key in pair)
    least = max(REPEATED, REPORTED * len(pairs))
    return [row for row, pair in enumerate(keys) if any(counts[key] >= least for key in pair)]


def _make_repairable(name: RepairName, sentence: str) -> Property:
    """Return the property that a repair changes a pair."""

    def find(pairs: Sequence[SampleRow], _: LanguageCodes) -> RowNumbers:
        repair = REPAIRS[name]
        return [row for row, pair in enumerate(pairs) if any(repair(line) != line for line in pair)]

    return Property(name, find, sentence, f"repair=[{name}]")


PROPERTIES = (
    _make_repairable("entities", "hold entities of HTML"),
    _make_repairable("mojibake", "are UTF-8 that was read as Windows-1252, as Ã¤ for ä"),
    _make_repairable("tags", "hold tags of HTML"),
    Property("numbers", find_differing_numbers, "have different numbers", BY_SCREEN),
    Property("repeated", find_repeated, "repeat a sentence that many others have, too"),
)

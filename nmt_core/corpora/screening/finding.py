"""A finding: what is wrong with a corpus or some of its pairs, with examples and what mends it."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, get_args

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.screening.settings import FindingKind, RepairName

SampleRow = tuple[str, ...]
"""A line of each side: a pair, or one of text of one language alone."""

MOST = 0.5
"""Share of the lines that tell anything from which a fault is one of the whole corpus."""

SHOWN = 60
"""Characters of an example."""


class Finding(NamedTuple):
    """A fault of a whole corpus, or of some of its pairs."""

    kind: FindingKind
    sentence: str
    """The problem and its remedy."""
    examples: tuple[SampleRow, ...]
    setting: str = ""
    """The setting of the corpus's filter that mends it, such as ``repair=[tags]``."""
    stops: bool = True
    """True if the corpus is unfit for training; false for a finding that is only reported."""

    def __str__(self) -> str:
        shown = "; ".join(" beside ".join(map(repr, map(_cut, lines))) for lines in self.examples)
        return f"{self.sentence} (for example {shown})"

    def advise(self, corpus: str) -> str:
        """Return all of it, with the setting of a corpus to type."""
        mended = self.setting and f"; set download.corpora.{corpus}.filter.{self.setting}"
        return f"{self}{mended}"


def show_finding(
    kind: FindingKind, sentence: str, pairs: Sequence[SampleRow], rows: Sequence[int]
) -> Finding:
    """Return a finding with two different pairs, from the middle of its rows on."""
    different = dict.fromkeys(pairs[row] for row in rows[len(rows) // 2 :])
    return Finding(kind, sentence, tuple(islice(different, 2)))


def settle_findings(
    name: str, findings: Sequence[Finding], accepted: Sequence[FindingKind] = ()
) -> list[str]:
    """Return what is to be reported of a corpus, or stop for what is wrong with all of it.

    Args:
        name: of the corpus.
        findings: what was found.
        accepted: faults that a person knows of and wants.

    Raises:
        CorpusError: naming the findings that stop, if there are others than the accepted ones.
    """
    unknown = [finding for finding in findings if finding.kind not in accepted]
    wrong = [finding for finding in unknown if finding.stops]
    if not wrong:
        return [finding.advise(name) for finding in unknown]
    of_filter = f"download.corpora.{name}.filter"
    kinds = sorted({finding.kind for finding in wrong})
    repairs = ",".join(finding.kind for finding in unknown if finding.kind in get_args(RepairName))
    mended = f"; set {of_filter}.repair=[{repairs}]" if repairs else ""
    raise CorpusError(
        f"the corpus {name} is not fit to train on: {'; '.join(map(str, wrong))}{mended}; or, if "
        f"it is to be so, set {of_filter}.look.accepted=[{','.join(kinds)}]"
    )


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"

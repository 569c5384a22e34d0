"""The page about the training data, for a check before training."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from nmt_core.base import files
from nmt_core.base.languages import Languages
from nmt_core.corpora.staging import SIDES
from stages.reporting.download_report import DownloadReport
from stages.reporting.pages import name_pair, render_template

MAX_EXAMPLES = 4
"""Maximum number of training pairs shown per corpus."""

Examples = Mapping[str, Sequence[tuple[str, str]]]
"""Pairs of source and target text, by corpus."""


def read_examples(corpus: Path, pairs: Mapping[str, int]) -> Examples:
    """Return a few evenly spread training pairs of each corpus.

    ``pairs`` has the number of lines of each corpus, in the order of the files.
    """
    owners: dict[int, str] = {}
    for (name, count), begin in zip(
        pairs.items(), accumulate(pairs.values(), initial=0), strict=False
    ):
        shown = min(count, MAX_EXAMPLES)
        owners |= {begin + place * count // shown: name for place in range(shown)}
    examples: dict[str, list[tuple[str, str]]] = {name: [] for name in pairs}
    source, target = (files.read_lines(corpus / f"train.{side}") for side in SIDES)
    for row, pair in enumerate(zip(source, target, strict=True)):
        if row in owners:
            examples[owners[row]].append(pair)
    return examples


def render_data_page(report: DownloadReport, examples: Examples, languages: Languages) -> str:
    """Return the page about all corpora as HTML, with examples of their training pairs."""
    directions = dict.fromkeys(filter(None, (each.languages for each in report.corpora.values())))
    removed = sum((Counter(text.removed) for text in report.monolingual.values()), Counter[str]())
    return render_template(
        "data.html",
        title=f"Training data, {', '.join(directions) or name_pair(languages)}",
        report=report,
        examples=examples,
        codes=[*languages.codes],
        shares=report.compute_shares(),
        noticed=report.repaired | report.noticed,
        monolingual_removed=sorted(removed.items()),
    )

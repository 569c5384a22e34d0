"""Print a summary of the text and of left-out pairs."""

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nmt_core.base.languages import Languages
from stages import paths
from stages.reporting.download_report import DownloadReport
from stages.reporting.pages import write_words

EXAMPLE_CHARACTERS = 60
"""Maximum number of characters per side of an example."""


def print_text_summary(
    report: DownloadReport, languages: Languages, notices: list[str], console: Console
) -> None:
    """Print the counts of pairs, the reasons of left-out pairs with examples, and notices."""
    pairs = ", ".join(f"{count:,} to {split}" for split, count in report.pairs.items())
    directions = dict.fromkeys(filter(None, (each.languages for each in report.corpora.values())))
    pair = ", ".join(directions) or str(languages)
    console.print(
        f"{pair} pairs: {pairs}; {paths.REPORTS / 'data.html'} shows more", soft_wrap=True
    )
    if table := render_removed(report):
        console.print(table)
    for notice in notices:
        console.print(Text(notice, style="yellow"), soft_wrap=True)


def render_removed(report: DownloadReport) -> Table | None:
    """Return a table of left-out pairs by reason; None if no pair was left out."""
    counts = sum(map(Counter, report.removed.values()), Counter[str]())
    if not counts:
        return None
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("removed", no_wrap=True)
    table.add_column("pairs", justify="right")
    table.add_column("example", style="dim")
    for reason, count in counts.most_common():
        examples = (corpus.examples.get(reason, ()) for corpus in report.corpora.values())
        first: Iterable[str] = next(chain.from_iterable(examples), ())
        example = " | ".join(text[:EXAMPLE_CHARACTERS] for text in first)
        table.add_row(write_words(reason), f"{count:,}", Text(example))
    return table

"""Tables of what the download stage has read, for a terminal."""

from typing import Any

from rich.table import Table
from rich.text import Text

from stages import paths


def tabulate_pairs(metrics: dict[str, dict[str, Any]]) -> Table:
    """Return a table of the pairs that were kept and left out."""
    table = Table(title="Pairs")
    table.add_column("")
    for name in paths.SPLITS:
        table.add_column(name, justify="right")
    table.add_row("kept", *(f"{metrics['pairs'][name]:,}" for name in paths.SPLITS))
    reasons = {why: None for name in paths.SPLITS for why in metrics["removed"][name]}
    for why in reasons:
        counts = (metrics["removed"][name].get(why, 0) for name in paths.SPLITS)
        table.add_row(f"removed: {why}", *(f"{count:,}" for count in counts))
    return table


def tabulate_corpora(corpora: dict[str, dict[str, Any]]) -> Table:
    """Return a table of the pairs of each corpus."""
    table = Table("", *paths.SPLITS, "removed", "weight", "licence", "tag", title="Corpora")
    for column in table.columns[1:-2]:
        column.justify = "right"
    for name, corpus in corpora.items():
        removed = sum(sum(reasons.values()) for reasons in corpus["removed"].values())
        counts = (*(corpus["pairs"][split] for split in paths.SPLITS), removed)
        weight, licence = f"{corpus['weight']:g}", Text(corpus["licence"])
        cells = (*(f"{count:,}" for count in counts), weight, licence, corpus["tag"])
        table.add_row(name, *cells)
    return table


def tabulate_monolingual(corpora: dict[str, dict[str, Any]]) -> Table:
    """Return a table of the lines of each corpus of one language alone."""
    table = Table("", "language", "lines", "removed", "licence", title="Monolingual text")
    for name, corpus in corpora.items():
        removed = sum(corpus["removed"].values())
        counts = (f"{corpus['lines']:,}", f"{removed:,}", Text(corpus["licence"]))
        table.add_row(name, corpus["language"], *counts)
    return table


def tabulate_vectors(metrics: dict[str, dict[str, Any]]) -> Table:
    """Return a table of the rows of word vectors."""
    table = Table("", "rows", "dimensions", "removed", title="Word vectors")
    for side, coverage in metrics["vectors"].items():
        removed = {
            why: count
            for why, count in coverage.items()
            if why not in ("url", "path", "sha256", "rows", "dimensions")
        }
        words = ", ".join(f"{why} {count:,}" for why, count in removed.items())
        table.add_row(side, f"{coverage['rows']:,}", str(coverage["dimensions"]), words or "none")
    return table

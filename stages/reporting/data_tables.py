"""Tables of what the download stage has read, for a terminal."""

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from stages import paths
from stages.reporting.download_report import DownloadReport

ABOUT_FILES = ("url", "path", "sha256", "rows", "dimensions")
"""Fields of word vectors beside the counts of rows left out."""


def list_tables(report: DownloadReport) -> Iterator[Table]:
    """Yield tables of pairs, corpora, monolingual text and word vectors, those that hold any."""
    splits = paths.SPLITS
    rows = [["kept", *(f"{report.pairs[split]:,}" for split in splits)]]
    for why in dict.fromkeys(why for split in splits for why in report.removed[split]):
        counts = (report.removed[split].get(why, 0) for split in splits)
        rows.append([f"removed: {why}", *(f"{count:,}" for count in counts)])
    yield _make_table("Pairs", splits, rows)
    rows = [
        [
            name,
            *(f"{corpus.pairs[split]:,}" for split in splits),
            f"{corpus.left_out:,}",
            f"{corpus.weight:g}",
            corpus.licence,
            corpus.tag,
        ]
        for name, corpus in report.corpora.items()
    ]
    if len(rows) > 1:
        yield _make_table("Corpora", [*splits, "removed", "weight", "licence", "tag"], rows)
    rows = [
        [name, text.language, f"{text.lines:,}", f"{sum(text.removed.values()):,}", text.licence]
        for name, text in report.monolingual.items()
    ]
    if rows:
        yield _make_table("Monolingual text", ["language", "lines", "removed", "licence"], rows)
    rows = []
    for side, vectors in report.vectors.items():
        removed = (f"{why} {count:,}" for why, count in vectors.items() if why not in ABOUT_FILES)
        size = (f"{vectors['rows']:,}", str(vectors["dimensions"]))
        rows.append([side, *size, ", ".join(removed) or "none"])
    if rows:
        yield _make_table("Word vectors", ["rows", "dimensions", "removed"], rows)


def _make_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table("", title=title)
    for name in head:
        table.add_column(
            name, justify="left" if name in ("licence", "tag", "language") else "right"
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table

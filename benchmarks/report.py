"""Tables of benchmarks: as a terminal shows them, and between markers in docs/performance.md."""

from collections.abc import Sequence
from pathlib import Path

from nmt_core.base import files
from stages.reporting.markdown import render_pipe_table, replace_part

REPORT = Path("docs/performance.md")


def record(
    command: str, rows: Sequence[Sequence[str]], *, mark: str, report: Path = REPORT
) -> None:
    """Put a command and its table, the heading first, between the markers of the report."""
    heading, *others = rows
    lines = [f"`{command}`:", "", *render_pipe_table(heading, others), ""]
    page = report.read_text(encoding="utf-8")
    files.write_text(report, replace_part(page, mark, "\n".join(lines)))


def render_blocks(title: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a table as a block of lines for each row, which narrow terminals and logs show whole.

    Args:
        title: what stands above.
        rows: the heading first; the first cell of a row is its name.
    """
    [_, *measures], *others = rows
    width, digits = (
        max(map(len, words))
        for words in (measures, [cell for _, *cells in others for cell in cells])
    )
    lines = [title]
    for name, *cells in others:
        lines += ["", name]
        lines += [
            f"  {measure:<{width}}  {cell:>{digits}}"
            for measure, cell in zip(measures, cells, strict=True)
        ]
    return "\n".join(lines)

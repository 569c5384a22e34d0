"""Tables that benchmarks write into docs/performance.md, each between markers of its own."""

from collections.abc import Sequence
from pathlib import Path

from nmt_core import files
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

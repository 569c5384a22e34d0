"""Tables that benchmarks write into docs/performance.md, each between markers of its own."""

from collections.abc import Sequence
from pathlib import Path

from nmt_core import files

REPORT = Path("docs/performance.md")


def markers(mark: str) -> tuple[str, str]:
    """Return what stands before and after the table of a benchmark."""
    return f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"


def record(
    command: str, rows: Sequence[Sequence[str]], *, mark: str, report: Path = REPORT
) -> None:
    """Put a command and its table, the heading first, between the markers of the report."""
    begin, end = markers(mark)
    before, _, rest = report.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    heading, *others = rows
    lines = [heading, ["---", *["---:"] * (len(heading) - 1)], *others]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    files.write_text(report, f"{before}{begin}\n`{command}`:\n\n{table}\n{end}{after}")

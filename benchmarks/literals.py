"""Count literals that translations lack or add.

Usage: python -m benchmarks.literals SOURCE TARGET LANGUAGES

SOURCE and TARGET are files of lines, such as a corpus and its references: each finding is then a
mistake of the reference or of the rule. LANGUAGES are codes such as de-en.
"""

from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

import typer
from rich.console import Console
from rich.table import Table

from nmt_core.base.files import read_lines
from nmt_core.literals.checking import check_literals


def main(source: Path, target: Path, languages: str, *, every: int = 1, examples: int = 10) -> None:
    """Print the share of lines with a finding, by kind and problem, and some of them."""
    codes = languages.partition("-")[::2]
    counts: Counter[tuple[str, str]] = Counter()
    findings: list[tuple[str, str, str]] = []
    lines = 0
    pairs = zip(read_lines(source), read_lines(target), strict=True)
    for line, other in islice(pairs, 0, None, every):
        lines += 1
        breaches = check_literals(line, other, codes)
        counts.update({(breach.kind, breach.problem) for breach in breaches})
        if breaches:
            named = "; ".join(f"{breach.problem}: {breach.text}" for breach in breaches)
            findings.append((named, line, other))
    table = Table("kind", "problem", "lines", "share", title=f"{source}: {lines:,} lines")
    for (kind, problem), count in counts.most_common():
        table.add_row(kind, problem, f"{count:,}", f"{count / lines:.2%}")
    table.add_row("any", "", f"{len(findings):,}", f"{len(findings) / lines:.2%}")
    console = Console()
    console.print(table)
    for named, line, other in Random(1).sample(findings, min(examples, len(findings))):
        console.print(f"[bold]{named}[/bold]\n  {line}\n  {other}", highlight=False)


if __name__ == "__main__":
    typer.run(main)

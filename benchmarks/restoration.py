"""Words of sound text that restoring of case and accents changes.

Usage: python -m benchmarks.restoration TRAINING TEXT...

Case and accents are learnt from TRAINING, a file of lines, as the tokenize stage does. Each TEXT is
correct text, so that each changed word is a mistake.
"""

from collections import Counter
from itertools import islice
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from nmt_core.base.files import read_lines
from nmt_core.text.normalize import normalize
from nmt_core.text.restoration import find_odd_case
from stages.tokenize import learn_restorer


def main(training: Path, texts: list[Path], *, sentences: int = 20_000) -> None:
    """Learn case and accents, and print how many words of other text change."""
    restorer = learn_restorer(training)
    table = Table("text", "words", "accents", "case", "changed", title=f"learnt from {training}")
    for text in texts:
        lines = map(normalize, islice(read_lines(text), sentences))
        changed: Counter[str] = Counter()
        words = 0
        for line in lines:
            odd = find_odd_case(line) is not None
            read = restorer.restore(line, case=odd).line
            pairs = [*zip(line.split(), read.split(), strict=True)]
            words += len(pairs)
            changed["case" if odd else "accents"] += sum(word != other for word, other in pairs)
        share = f"{changed.total() / words:.4%}"
        counts = (f"{changed[kind]:,}" for kind in ("accents", "case"))
        table.add_row(str(text), f"{words:,}", *counts, share)
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)

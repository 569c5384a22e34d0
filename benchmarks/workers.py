"""How long tokenizing takes by one process and by several, on the reader's own text.

Usage: python -m benchmarks.workers SOURCE TARGET [--pairs N] [--processes N] [--rounds N]
                                    [--source-language de] [--target-language en]

The text is repeated until there is enough of it. Every measurement is a process of its own, as the
stage is, since a tokenizer remembers words; imports do not count, but processes that are started
do. All must write the same bytes.
"""

import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from nmt_core.base import files
from nmt_core.base.parallel.jobs import WorkersConfig
from stages import paths, tokenize
from stages.configure import compose
from stages.params import TokenizeParams, build_all

MODELS = {"SentencePiece": "model=transformer", "spaCy": "model=transformer_article"}
HELD_OUT_LINES = 500


def measure(model: str, processes: int, languages: tuple[str, str], folder: Path) -> float:
    """Tokenize once, and return the seconds."""
    params = build_all(compose.compose_groups([model]), source="conf/")["tokenize"]
    assert isinstance(params, TokenizeParams)
    began = time.perf_counter()
    tokenize.run(
        params,
        languages=languages,
        corpus=folder / "corpus",
        tokenizer=folder / "tokenizer",
        tokenized=folder / "tokenized",
        workers=WorkersConfig(processes=processes),
    )
    return time.perf_counter() - began


def digest(folder: Path) -> dict[str, str]:
    """Return the digest of every file, by name."""
    return {path.name: files.sha256(path) for path in sorted(folder.iterdir())}


def main(
    source: Annotated[Path, typer.Argument(help="One sentence a line.")],
    target: Annotated[Path, typer.Argument(help="Their translations.")],
    pairs: int = 160_000,
    processes: int = 2,
    rounds: int = 3,
    source_language: str = "de",
    target_language: str = "en",
) -> None:
    """Measure in turns, and print medians over the rounds."""
    languages = source_language, target_language
    found: dict[tuple[str, int], list[float]] = {}
    with (
        tempfile.TemporaryDirectory() as made,
        ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as anew,
    ):
        folder = Path(made)
        for side, text in zip(paths.SIDES, (source, target), strict=True):
            lines = list(files.read_lines(text))
            for split in paths.SPLITS:
                wanted = pairs if split == "train" else HELD_OUT_LINES
                files.write_lines(
                    folder / "corpus" / f"{split}.{side}", islice(cycle(lines), wanted)
                )
        for name, model in MODELS.items():
            written = set()
            for _ in range(rounds):
                for number in (1, processes):
                    taken = anew.submit(measure, model, number, languages, folder).result()
                    found.setdefault((name, number), []).append(taken)
                    written.add(tuple(digest(folder / "tokenized").items()))
            assert len(written) == 1, "the bytes differ"
    table = Table(title=f"tokenizing {pairs:,} pairs, median of {rounds}, the same bytes")
    for column in ("tokens", "processes", "seconds"):
        table.add_column(column, justify="left" if column == "tokens" else "right")
    for (name, number), taken in found.items():
        table.add_row(name, str(number), f"{statistics.median(taken):.1f}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)

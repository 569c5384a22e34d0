"""How fast a translation memory is, and how much of what a search of every unit finds it finds.

Usage: python -m benchmarks.memory SOURCE TARGET --languages fr-en [--units 1000000] [--queries 200]

Queries are sentences of the memory with words exchanged, left out and put in, up to a quarter of
them, and as many sentences that are not in it. Each is looked up, and compared with every unit of
a fitting length. Files may be compressed. What the processor takes is what the clock would show on
a machine that does nothing else.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
from rich.console import Console
from rich.table import Table

from nmt_core.base.raw_lines import read_raw_lines
from nmt_core.memory.index import bound_lengths, join_spaces
from nmt_core.memory.pairs import read_languages
from nmt_core.memory.store import THRESHOLD, MemoryScope, MemoryUnit, TranslationMemory


def read_lines(path: Path, most: int) -> list[str]:
    """Return the first lines of a file, as a memory keeps them."""
    lines = islice(read_raw_lines(path), most)
    return [join_spaces((line or b"").decode(errors="replace")) for line in lines]


def change(text: str, words: Sequence[str], draw: random.Random) -> str:
    """Return a text with up to a quarter of its words exchanged, left out or put in."""
    changed = text.split()
    for _ in range(draw.randint(1, max(1, len(changed) // 4))):
        at = draw.randrange(len(changed) + 1)
        kept = draw.choice((at, at + 1))
        changed[at:kept] = draw.choice(([], [draw.choice(words)]))
    return " ".join(changed)


def find_all(text: str, by_length: dict[int, list[str]]) -> float:
    """Return the similarity of the unit most like a text, or 0 if none reaches the threshold."""
    first, last = bound_lengths(len(text), THRESHOLD)
    scorer, best = Levenshtein.normalized_similarity, 0.0
    for length in range(first, last + 1):
        units = by_length.get(length, [])
        found = process.extractOne(text, units, scorer=scorer, score_cutoff=max(best, THRESHOLD))
        best = found[1] if found else best
    return best


def rank(milliseconds: Sequence[float]) -> list[str]:
    """Return the median, what 99 of 100 do not exceed, and the longest."""
    ranked = sorted(milliseconds)
    chosen = statistics.median(ranked), ranked[int(0.99 * len(ranked))], ranked[-1]
    return [f"{each:.1f}" for each in chosen]


def main(
    source: Path,
    target: Path,
    languages: Annotated[str, typer.Option(help="Codes of source and target: fr-en.")],
    units: Annotated[int, typer.Option(min=100)] = 1_000_000,
    queries: Annotated[int, typer.Option(min=2)] = 200,
    seed: int = 1,
) -> None:
    """Fill a memory, search it, and print a table."""
    draw = random.Random(seed)
    sources, targets = (read_lines(path, units + queries * 10) for path in (source, target))
    known = sources[:units]
    words = [word for text in draw.sample(known, 1000) for word in text.split()]
    asked = [change(text, words, draw) for text in draw.sample(known, queries // 2)]
    asked += draw.sample(sources[units:], queries // 2)
    asked = [text for text in asked if text]
    scope = MemoryScope(read_languages(languages))
    with tempfile.TemporaryDirectory() as folder:
        memory = TranslationMemory(Path(folder) / "memory")
        began = time.perf_counter()
        memory.put(scope, map(MemoryUnit, known, targets))
        filled = time.perf_counter() - began
        size = memory.path.stat().st_size
        took, worked, found = [], [], []
        for text in asked:
            began = time.perf_counter(), time.process_time()
            matches = memory.search(text, scope, most=1)
            took.append(1000 * (time.perf_counter() - began[0]))
            worked.append(1000 * (time.process_time() - began[1]))
            found.append(matches[0].score if matches else 0.0)
    by_length: dict[int, list[str]] = {}
    for text in dict.fromkeys(known):
        by_length.setdefault(len(text), []).append(text)
    wanted = [find_all(text, by_length) for text in asked]
    there = [(one, other) for one, other in zip(found, wanted, strict=True) if other]
    table = Table(
        "units", "filled (s)", "file (MB)", "", "median (ms)", "99 % (ms)", "longest (ms)"
    )
    for name in ("queries with a match", "some found", "best found"):
        table.add_column(name)
    table.add_row(
        f"{len(known):,}",
        f"{filled:.0f}",
        f"{size / 1e6:.0f}",
        "by the clock",
        *rank(took),
        f"{len(there)} of {len(asked)}",
        f"{sum(one > 0 for one, _ in there) / max(1, len(there)):.1%}",
        f"{sum(one >= other for one, other in there) / max(1, len(there)):.1%}",
    )
    table.add_row("", "", "", "by the processor", *rank(worked))
    Console(width=160).print(table)


if __name__ == "__main__":
    typer.run(main)

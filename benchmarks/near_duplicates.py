"""How many planted near duplicates are found in real text, how fast, and in how much memory.

Usage: python -m benchmarks.near_duplicates TRAIN.fr TRAIN.en TEST.fr TEST.en --share 0.01

Lines of train are replaced by sentences of the test set in which one word was changed, added or
dropped, a number is another, or case or punctuation are. Those that were near before are counted
apart. One process does all, so that processor seconds are comparable.
"""

import random
import re
import resource
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from nmt_core.base import files
from nmt_core.base.parallel.jobs import WorkersConfig
from nmt_core.corpora.near_duplicates import find_near_pairs
from nmt_core.corpora.splitting import NearDuplicateConfig
from nmt_core.corpora.staging import SIDES

KINDS = ("changed", "added", "dropped", "number", "case", "punctuation")


def plant(line: str, kind: str, lexicon: list[str], chance: random.Random) -> str | None:
    """Return a near duplicate of a line, or None if it cannot have one of this kind."""
    words = line.split()
    place = chance.randrange(len(words))
    match kind:
        case "changed":
            words[place] = chance.choice(lexicon)
        case "added":
            words.insert(place, chance.choice(lexicon))
        case "dropped":
            del words[place]
        case "number":
            found = re.sub(r"\d+", lambda number: str(int(number[0]) + 1), line, count=1)
            return found if found != line else None
        case "case":
            return line.swapcase()
        case "punctuation":
            words[place] += chance.choice([",", " –", "!", "…"])
    return " ".join(words) or None


def main(
    train: Annotated[tuple[Path, Path], typer.Argument(help="Both sides of train.")],
    test: Annotated[tuple[Path, Path], typer.Argument(help="Both sides of test.")],
    share: Annotated[list[float], typer.Option(help="Lines of train to replace.")],
    distance: Annotated[float, typer.Option(help="As download.near_duplicates.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Draws what is planted.")] = 1,
) -> None:
    """Print how many of each kind were found."""
    table = Table("share", *KINDS, "all", "near before", "CPU s", "MB")
    given = dict(zip(SIDES, test, strict=True))
    with tempfile.TemporaryDirectory() as scratch:
        for part in share:
            chance = random.Random(seed)
            sides = {
                side: list(files.read_lines(path)) for side, path in zip(SIDES, train, strict=True)
            }
            held_out = {side: list(files.read_lines(path)) for side, path in given.items()}
            rows = chance.sample(range(len(sides["source"])), int(part * len(sides["source"])))
            planted: dict[str, list[int]] = {kind: [] for kind in KINDS}
            for row in rows:
                side, kind = chance.choice(SIDES), chance.choice(KINDS)
                lexicon = chance.choice(held_out[side]).split() or ["x"]
                line = chance.choice(held_out[side])
                if line.split() and (found := plant(line, kind, lexicon, chance)):
                    sides[side][row] = found
                    planted[kind].append(row)
            written = {side: Path(scratch) / side for side in SIDES}
            for side, path in written.items():
                files.write_lines(path, sides[side])
            del sides
            began = time.process_time()
            near = find_near_pairs(
                written,
                given,
                NearDuplicateConfig(distance=distance),
                workers=WorkersConfig(processes=1),
                scratch=Path(scratch),
            )
            seconds = time.process_time() - began
            found_rows = set(near.rows.tolist())
            counts = {kind: sum(row in found_rows for row in planted[kind]) for kind in KINDS}
            total = sum(map(len, planted.values()))
            table.add_row(
                f"{part:.2%}",
                *(f"{counts[kind]}/{len(planted[kind])}" for kind in KINDS),
                f"{sum(counts.values()) / max(1, total):.1%}",
                str(len(found_rows.difference(*planted.values()))),
                f"{seconds:.0f}",
                f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.0f}",
            )
    Console(width=120).print(table)


if __name__ == "__main__":
    typer.run(main)

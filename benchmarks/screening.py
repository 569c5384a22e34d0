"""Noise that is planted in parallel text: how much a screen finds, loses and costs.

Usage: python -m benchmarks.screening SOURCE TARGET --languages fr,en --foreign FILE
       [--pairs 50000] [--trusted 5000] [--share 0.1] [--seeds 3] [--write FOLDER]

Of the first pairs, drawn at random, some are held back as trusted; in the others a share of each of
five kinds is spoilt: the target of the next pair, a line of ``--foreign`` in the place of a side,
the source in the place of the target (every second without a tenth of its words), one to four words
said four to ten times at the end, and a side that ends after 30 to 60 % of its words. Files may be
compressed. Real noise of the text counts as sound pairs that are lost. ``--write`` keeps the first
seed's text to train on: all of it in ``noisy.fr`` and ``noisy.en``, how each line was spoilt in
``noisy.kind``, and what was left as it is in ``sound.fr`` and ``sound.en``.
"""

import random
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from nmt_core.base import files
from nmt_core.base.raw_lines import open_raw
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening.screen import Screen, learn_screen
from nmt_core.corpora.screening.settings import ScreenConfig

SHORTEST = 6
"""Words of a sentence that can be cut short."""

HALF = 0.5
"""Share of the copies that are not exact, and of lines of a third language that are a source."""

LEFT_OUT = 0.1
"""Share of the words that such a copy lacks."""


def read_lines(path: Path, most: int) -> list[str]:
    """Return the first lines of a file."""
    with open_raw(path) as file:
        return [line.decode().rstrip("\r\n") for line in islice(file, most)]


def shift(pair: Pair, following: Pair, draw: random.Random) -> Pair:
    """Return the source with the next pair's target."""
    del draw
    return Pair(pair.source, following.target)


def copy(pair: Pair, following: Pair, draw: random.Random) -> Pair:
    """Return the source twice, or nearly so."""
    del following
    words = pair.source.split()
    if draw.random() < HALF:
        words = [word for word in words if draw.random() > LEFT_OUT] or words
    return Pair(pair.source, " ".join(words))


def repeat(pair: Pair, following: Pair, draw: random.Random) -> Pair:
    """Return a target that ends in a loop."""
    del following
    words = pair.target.split()
    size = draw.randint(1, 4)
    at = draw.randrange(max(1, len(words) - size + 1))
    return Pair(pair.source, " ".join(words[:at] + words[at : at + size] * draw.randint(4, 10)))


def truncate(pair: Pair, following: Pair, draw: random.Random) -> Pair:
    """Return a pair of which one side is cut short; a short sentence stays as it is."""
    del following
    side = draw.randrange(2)
    words = pair[side].split()
    if len(words) < SHORTEST:
        return pair
    sides = list(pair)
    sides[side] = " ".join(words[: max(1, int(len(words) * draw.uniform(0.3, 0.6)))])
    return Pair(*sides)


def plant(
    pairs: Sequence[Pair], foreign: Sequence[str], share: float, draw: random.Random
) -> tuple[list[Pair], list[str]]:
    """Spoil a share of pairs in each of five ways; return all, and how each was spoilt."""

    def replace(pair: Pair, following: Pair, draw: random.Random) -> Pair:
        del following
        line = draw.choice(foreign)
        return Pair(line, pair.target) if draw.random() < HALF else Pair(pair.source, line)

    ways: dict[str, Callable[[Pair, Pair, random.Random], Pair]] = {
        "shifted": shift,
        "wrong language": replace,
        "copied": copy,
        "repetition": repeat,
        "truncated": truncate,
    }
    count = int(share * len(pairs))
    rows = draw.sample(range(len(pairs) - 1), count * len(ways))
    spoilt, kinds = list(pairs), ["sound"] * len(pairs)
    for number, (name, way) in enumerate(ways.items()):
        for row in rows[number * count : (number + 1) * count]:
            made = way(pairs[row], pairs[row + 1], draw)
            if made != pairs[row]:
                spoilt[row], kinds[row] = made, name
    return spoilt, kinds


def write_text(
    folder: Path, pairs: Sequence[Pair], kinds: Sequence[str], codes: Sequence[str]
) -> None:
    """Write spoilt text, the kind of each pair, and the sound pairs among them."""
    folder.mkdir(parents=True, exist_ok=True)
    sound = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == "sound"]
    for name, some in (("noisy", pairs), ("sound", sound)):
        for side, code in enumerate(codes):
            files.write_lines(folder / f"{name}.{code}", [pair[side] for pair in some])
    files.write_lines(folder / "noisy.kind", kinds)


def measure(
    screen: Screen, pairs: Sequence[Pair], kinds: Sequence[str]
) -> tuple[dict[str, float], float]:
    """Return the share of each kind that is taken, and the microseconds of a pair."""
    began = time.process_time()
    taken = np.array([why is not None for why in screen.judge(pairs)])
    seconds = time.process_time() - began
    rows = np.array(kinds)
    shares = {kind: float(taken[rows == kind].mean()) for kind in dict.fromkeys(sorted(kinds))}
    return shares, 1e6 * seconds / len(pairs)


def main(
    source: Path,
    target: Path,
    *,
    languages: Annotated[str, typer.Option(help="Codes of source and target.")],
    foreign: Annotated[Path, typer.Option(help="Lines of a third language.")],
    pairs: int = 50_000,
    trusted: int = 5000,
    share: float = 0.1,
    seeds: int = 3,
    write: Annotated[Path | None, typer.Option(help="Folder for the first seed's text.")] = None,
) -> None:
    """Plant noise, learn a screen, and show what it takes."""
    lines = [read_lines(path, pairs + trusted) for path in (source, target)]
    whole = [Pair(*pair) for pair in zip(*lines, strict=True) if all(map(str.strip, pair))]
    others = [line for line in read_lines(foreign, 100_000) if line.strip()]
    one, other = languages.split(",")
    table = Table("seed", "thresholds", *("learnt s", "a pair us"), title="share that is taken, %")
    for seed in range(1, seeds + 1):
        draw = random.Random(seed)
        held = {*draw.sample(range(len(whole)), trusted)}
        sound = [pair for row, pair in enumerate(whole) if row in held]
        rest = [pair for row, pair in enumerate(whole) if row not in held]
        spoilt, kinds = plant(rest, others, share, draw)
        if write and seed == 1:
            write_text(write, spoilt, kinds, (one, other))
        step = max(1, len(spoilt) // ScreenConfig().sample_pairs)
        for name, given in (("fitted", sound), ("plain", [])):
            began = time.process_time()
            screen = learn_screen(spoilt[::step][:20_000], given, (one, other), ScreenConfig())
            learnt = time.process_time() - began
            shares, microseconds = measure(screen, spoilt, kinds)
            for kind in shares:
                if kind not in [str(column.header) for column in table.columns]:
                    table.add_column(kind, justify="right")
            found = [f"{100 * value:.2f}" for value in shares.values()]
            table.add_row(str(seed), name, f"{learnt:.1f}", f"{microseconds:.0f}", *found)
    Console(width=140).print(table)


if __name__ == "__main__":
    typer.run(main)

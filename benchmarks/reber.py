r"""Strings of the embedded Reber grammar (Hochreiter and Schmidhuber 1997), and others.

A string of the Reber grammar stands between two equal letters, T or P, so who reads it must
remember the first of these until the end. States and letters are those of Géron, chapter 16.

    python -m benchmarks.reber 10000 > reber.tsv
    python -m benchmarks.reber 2000 --held-out > unseen.tsv
    nmt learn-classifier --labelled reber.tsv --set model.pool=last --set training.epochs=12 \
      --out models/reber
    nmt classify --model models/reber --labelled unseen.tsv
"""

import hashlib
import itertools
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import typer

from nmt_core.base.random import make_generator

LETTERS = "BEPSTVX"

END = None
REBER: tuple[dict[str, int | None], ...] = (
    {"B": 1},
    {"T": 2, "P": 3},
    {"S": 2, "X": 4},
    {"T": 3, "V": 5},
    {"X": 3, "S": 6},
    {"P": 4, "V": 6},
    {"E": END},
)
"""Of each state, the letters that may follow and the states that they lead to."""

SHORTEST = len("BTBTXSETE")


def draw_reber(draw: np.random.Generator) -> str:
    """Return a string of the Reber grammar, each letter that may follow as likely as the other."""
    written = ""
    state: int | None = 0
    while state is not None:
        letter = sorted(REBER[state])[draw.integers(len(REBER[state]))]
        written, state = written + letter, REBER[state][letter]
    return written


def draw_grammatical(draw: np.random.Generator) -> str:
    """Return a string of the embedded grammar."""
    around = "TP"[draw.integers(2)]
    return f"B{around}{draw_reber(draw)}{around}E"


def corrupt(string: str, draw: np.random.Generator) -> str:
    """Return a string in which another letter stands for one; it is not of the grammar then."""
    place = draw.integers(len(string))
    others = LETTERS.replace(string[place], "")
    return string[:place] + others[draw.integers(len(others))] + string[place + 1 :]


def is_held_out(string: str) -> bool:
    """Return whether a string is for tests: a third of all, but none of the shortest.

    There are four shortest grammatical strings, so a classifier needs all of them.
    """
    return len(string) > SHORTEST and hashlib.blake2b(string.encode()).digest()[0] % 3 == 0


def draw_strings(seed: int, purpose: str, *, held_out: bool) -> Iterator[tuple[str, bool]]:
    """Yield strings, every second one corrupted, with whether they are grammatical.

    All are held out, or none is. Held-out strings differ from each other; others repeat.
    """
    draw = make_generator(seed, "reber", purpose)
    tested: set[str] = set()
    for grammatical in itertools.cycle((True, False)):
        string = None
        while string is None or is_held_out(string) != held_out or string in tested:
            string = draw_grammatical(draw)
            string = string if grammatical else corrupt(string, draw)
        if held_out:
            tested.add(string)
        yield string, grammatical


def write_strings(
    count: Annotated[int, typer.Argument(min=1, help="Strings to write.")],
    *,
    held_out: Annotated[bool, typer.Option(help="Others than those to learn from.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Decides what is drawn.")] = 1,
) -> None:
    """Write lines of label, tab and the letters of a string, for nmt learn-classifier."""
    strings = draw_strings(seed, "test" if held_out else "learn", held_out=held_out)
    for string, grammatical in itertools.islice(strings, count):
        typer.echo(f"{'reber' if grammatical else 'other'}\t{' '.join(string)}")


if __name__ == "__main__":
    typer.run(write_strings)

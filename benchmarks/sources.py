r"""An exercise and figures of the sources (docs/sources.md).

Strings of the embedded Reber grammar (Géron, chapter 16, exercise 8), and corrupted strings::

    python -m benchmarks.sources reber 10000 > reber.tsv
    python -m benchmarks.sources reber 2000 --held-out > unseen.tsv
    nmt learn-classifier --labelled reber.tsv --set model.pool=last --set training.epochs=12 \
      --out models/reber
    nmt classify --model models/reber --labelled unseen.tsv

Figures 2 to 5 of van der Goten 2018, drawn by the code of models and trainings::

    python -m benchmarks.sources figures --out reports/sources
"""

import hashlib
from itertools import count, cycle, islice
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from matplotlib.figure import Figure

from nmt_core.base.random import make_generator
from nmt_core.evaluation.pictures import save_figure
from nmt_core.models.attention import MultiHeadAttention, make_causal_mask
from nmt_core.models.embedding import sinusoids
from nmt_core.training.settings import CosineRestarts

REBER: tuple[dict[str, int | None], ...] = (
    {"B": 1},
    {"T": 2, "P": 3},
    {"S": 2, "X": 4},
    {"T": 3, "V": 5},
    {"X": 3, "S": 6},
    {"P": 4, "V": 6},
    {"E": None},
)
"""For each state, the possible letters and the state after each; None ends the string."""

SHORTEST = len("BTBTXSETE")
"""Length of the shortest strings, which are always for training, never held out."""

LENGTHS, WIDTH = (9, 6, 3), 64
"""Lengths of the three sentences of a batch, and the number of features."""

app = typer.Typer(add_completion=False)


def draw_string(draw: np.random.Generator) -> str:
    """Return a random string of the embedded Reber grammar."""
    outer = "TP"[draw.integers(2)]
    string = f"B{outer}"
    state: int | None = 0
    while state is not None:
        letters = sorted(REBER[state])
        string += (letter := letters[draw.integers(len(letters))])
        state = REBER[state][letter]
    return f"{string}{outer}E"


def corrupt(string: str, draw: np.random.Generator) -> str:
    """Return a string with one letter replaced, so that the grammar does not accept it."""
    place = draw.integers(len(string))
    others = "BEPSTVX".replace(string[place], "")
    return string[:place] + others[draw.integers(len(others))] + string[place + 1 :]


@app.command()
def reber(
    number: Annotated[int, typer.Argument(min=1, help="Number of strings.")],
    *,
    held_out: Annotated[bool, typer.Option(help="Strings that are not for training.")] = False,
) -> None:
    """Print lines of label, tab and letters; every second string is corrupted."""
    draw, labels, tested = make_generator(1, "reber", held_out), cycle(("reber", "other")), set()
    for label in islice(labels, number):
        for _ in count():
            string = draw_string(draw) if label == "reber" else corrupt(draw_string(draw), draw)
            digest = hashlib.blake2b(string.encode()).digest()
            is_held_out = len(string) > SHORTEST and digest[0] % 3 == 0
            if is_held_out == held_out and string not in tested:
                break
        tested |= {string} if held_out else set()
        typer.echo(f"{label}\t{' '.join(string)}")


@app.command()
def figures(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("reports/sources"),
) -> None:
    """Draw positions, attention weights with and without masks, and warm restarts."""
    draw_matrices(out / "positions.png", {"positions": sinusoids(80, WIDTH).numpy().T})
    draw = torch.Generator().manual_seed(1)
    query, key = torch.randn(2, len(LENGTHS), 1, max(LENGTHS), WIDTH, generator=draw)
    attention = MultiHeadAttention(WIDTH, 1, WIDTH, bias=False).eval()
    padding = torch.arange(max(LENGTHS)) >= torch.tensor(LENGTHS)[:, None, None, None]
    causal = make_causal_mask(max(LENGTHS), query.device)
    for name, mask, row in (("padding", padding, 1), ("causal", causal, 0)):
        weights = [attention.attend(query, (key, key), m)[1][row, 0] for m in (None, mask)]
        titles = (f"without the {name} mask", f"with the {name} mask")
        matrices = dict(zip(titles, (weight.numpy() for weight in weights), strict=True))
        draw_matrices(out / f"{name}_mask.png", matrices)
    schedule = CosineRestarts(
        learning_rate=0.05, floor=0.1, length_factor=0.9, rate_factor=1.0, first_steps=1000
    )
    figure = Figure(layout="constrained")
    figure.subplots().plot([schedule.rate(step, 0.0) for step in range(5000)])
    save_figure(figure, out / "restarts.png")


def draw_matrices(path: Path, matrices: dict[str, np.ndarray]) -> None:
    """Write a PNG with one picture per matrix, by title; negative values are red."""
    figure = Figure(figsize=(4 * len(matrices), 3.8), layout="constrained")
    for number, (title, matrix) in enumerate(matrices.items(), start=1):
        axes = figure.add_subplot(1, len(matrices), number)
        axes.imshow(matrix, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
        axes.set_title(title)
    save_figure(figure, path)


if __name__ == "__main__":
    app()

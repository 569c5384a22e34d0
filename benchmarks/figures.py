"""Figures 2 and 5 of van der Goten 2018, drawn by what the models and trainings here use.

Usage: python -m benchmarks.figures [--out docs]

Writes ``positions.png`` and ``restarts.png``, which stand in docs/sources.md. The learning rates of
a training of one's own stand in its ``reports/learning_curve.png``.
"""

from pathlib import Path
from typing import Annotated

import typer

from nmt_core.evaluation.pictures import Curve, Panel, draw_panels, draw_positions
from nmt_core.models.embedding import sinusoids
from nmt_core.training.schedule import CosineRestarts

POSITIONS, WIDTH = 80, 64
"""Words of a long sentence, and few enough features to be told apart."""

FIGURE_5 = CosineRestarts(
    learning_rate=0.05, floor=0.1, length_factor=0.9, rate_factor=1.0, first_steps=1000
)
UPDATES = 5000


def trace_restarts() -> Curve:
    """Return the learning rates of figure 5."""
    return Curve("", range(UPDATES), [FIGURE_5.rate(step, 0.0) for step in range(UPDATES)])


def main(out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("docs")) -> None:
    """Draw the sinusoids of positions, and a learning rate with restarts (docs/sources.md)."""
    draw_positions(out / "positions.png", sinusoids(POSITIONS, WIDTH).numpy())
    panel = Panel([trace_restarts()], "updates", "learning rate")
    draw_panels(out / "restarts.png", [panel], points=False)


if __name__ == "__main__":
    typer.run(main)

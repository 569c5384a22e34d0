"""Figures of the sources, drawn by the code that models, trainings and searches use.

    python -m benchmarks.pictures
    python -m benchmarks.pictures --model models/export --source test.de --reference test.en

Draws figures 2 to 5 of van der Goten 2018: positions, attention with and without masks of padding
and of later positions, and warm restarts. With a model, also scores and lengths by beam size: by
the sum of log-probabilities a wider beam prefers shorter translations (Koehn and Knowles 2017,
section 3.6).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
import typer
from jaxtyping import Bool, Float
from matplotlib.figure import Figure

from nmt_core.base import files
from nmt_core.evaluation.pictures import Curve, draw_panels, save_figure
from nmt_core.evaluation.quality import compute_length_ratio, cutter
from nmt_core.evaluation.registered import load_metric
from nmt_core.models.attention import DotProductAttention, make_causal_mask
from nmt_core.models.embedding import sinusoids
from nmt_core.training.schedule import CosineRestarts
from nmt_core.translation.translator import Translator
from stages.reporting.markdown import render_pipe_table

POSITIONS, WIDTH = 80, 64
LENGTHS = (9, 6, 3)
"""Words of three sentences in a batch; the longest has no padding."""

FIGURE_5 = CosineRestarts(
    learning_rate=0.05, floor=0.1, length_factor=0.9, rate_factor=1.0, first_steps=1000
)
UPDATES = 5000
PENALTIES = {"mean of log-probabilities": 1.0, "sum of log-probabilities": 0.0}
SIZES = (1, 2, 3, 5, 10, 20, 50)


class Matrix(NamedTuple):
    """A matrix to draw, and which of its values are red."""

    values: Float[np.ndarray, "Y X"]
    red: Bool[np.ndarray, "Y X"]


def draw_matrices(path: Path, matrices: Mapping[str, Matrix], x: str, y: str) -> None:
    """Write a PNG of matrices side by side, by their titles; dark is 1."""
    figure = Figure(figsize=(4 * len(matrices), 3.8), layout="constrained")
    all_axes = figure.subplots(1, len(matrices), squeeze=False)[0]
    for axes, (title, matrix) in zip(all_axes, matrices.items(), strict=True):
        for hidden, colors in ((matrix.red, "Blues"), (~matrix.red, "Reds")):
            shown = np.ma.masked_array(matrix.values, hidden)
            axes.imshow(shown, cmap=colors, vmin=0, vmax=matrix.values.max(), aspect="auto")
        axes.set(title=title, xlabel=x, ylabel=y)
    save_figure(figure, path)


def draw_positions(path: Path) -> None:
    """Write figure 2: sines, cosines, and both as they alternate; negative values are red."""
    signal = sinusoids(POSITIONS, WIDTH).numpy().T
    parts = {"sine": signal[::2], "cosine": signal[1::2], "juxtaposed": signal}
    matrices = {title: Matrix(np.abs(part), part < 0) for title, part in parts.items()}
    draw_matrices(path, matrices, "position", "feature")


def trace_masks() -> dict[str, dict[str, Matrix]]:
    """Return attention weights without and with each mask; red are those that a mask blocks."""
    draw = torch.Generator().manual_seed(1)
    query, key = torch.randn(2, len(LENGTHS), 1, max(LENGTHS), WIDTH, generator=draw)
    attend = DotProductAttention(WIDTH, 0.0)
    positions = torch.arange(max(LENGTHS))
    padding = positions >= torch.tensor(LENGTHS)[:, None, None, None]
    causal = make_causal_mask(max(LENGTHS), query.device)
    assert causal is not None
    traced: dict[str, dict[str, Matrix]] = {}
    for name, mask, row in (("padding", padding, 1), ("causal", causal, 0)):
        red = mask.expand(len(LENGTHS), 1, max(LENGTHS), -1)[row, 0].numpy()
        weights = (attend(query, (key, key), blocked)[1][row, 0] for blocked in (None, mask))
        titles = (f"without the {name} mask", f"with the {name} mask")
        traced[name] = {
            title: Matrix(each.numpy(), red) for title, each in zip(titles, weights, strict=True)
        }
    return traced


def measure_beams(
    translator: Translator, sources: Sequence[str], references: Sequence[str], sizes: Sequence[int]
) -> dict[tuple[str, str], list[Curve]]:
    """Return BLEU and lengths relative to the references, a curve for each length penalty."""
    assert translator.languages is not None, "this model does not name its languages"
    language = translator.languages.target
    metric, cut = load_metric("bleu", language), cutter(language)
    measures = ("BLEU", "words per word of the references")
    panels: dict[tuple[str, str], list[Curve]] = {("beam size", each): [] for each in measures}
    for label, penalty in PENALTIES.items():
        scores, lengths = [], []
        for size in sizes:
            changes = {"beam_size": size, "n_best": 1, "length_penalty": penalty}
            beam = translator.config.beam.model_copy(update=changes)
            config = translator.config.model_copy(update={"beam": beam})
            lines = replace(translator, config=config).translate(sources)
            scores.append(metric.score(lines, references, sources).value)
            lengths.append(compute_length_ratio(lines, references, cut=cut))
        for curves, values in zip(panels.values(), (scores, lengths), strict=True):
            curves.append(Curve(label, sizes, values))
    return panels


def main(
    *,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("reports/sources"),
    model: Annotated[Path | None, typer.Option(help="Exported model, for beam sizes.")] = None,
    source: Annotated[Path | None, typer.Option(help="Lines to translate.")] = None,
    reference: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    size: Annotated[list[int], typer.Option(help="Beam size; repeatable.")] = [*SIZES],  # noqa: B006
) -> None:
    """Draw the figures; with a model and a test set, also scores by beam size."""
    draw_positions(out / "positions.png")
    for name, matrices in trace_masks().items():
        draw_matrices(out / f"{name}_mask.png", matrices, "key", "query")
    rates = [FIGURE_5.rate(step, 0.0) for step in range(UPDATES)]
    restarts = {("updates", "learning rate"): [Curve("", range(UPDATES), rates)]}
    draw_panels(out / "restarts.png", restarts, logarithmic=False)
    if not model:
        return
    if not source or not reference:
        raise typer.BadParameter("--model requires --source and --reference")
    lines = [[*files.read_lines(path)] for path in (source, reference)]
    panels = measure_beams(Translator.load(model, engine="torch"), *lines, sorted(size))
    draw_panels(out / "beam_sizes.png", panels)
    curves = {f"{y}, {one.label}": one.y for (_, y), own in panels.items() for one in own}
    rows = zip(sorted(size), *curves.values(), strict=True)
    body = [[str(beam), *(f"{value:.3f}" for value in row)] for beam, *row in rows]
    typer.echo("\n".join(render_pipe_table(["beam size", *curves], body)))


if __name__ == "__main__":
    typer.run(main)

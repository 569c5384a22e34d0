"""Charts: learning curves, attention maps, comparisons of systems, and fonts for their text."""

import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

from nmt_core.base import files
from nmt_core.evaluation.metric import ScoreInterval

_log = logging.getLogger(__name__)

MARKED_POINTS = 40
"""Points of a curve up to which each is drawn."""

COLORS = ("#0072b2", "#d55e00")
"""Colours that colour-blind people can tell apart."""

MISSING_SHOWN = 5
"""Missing characters that a warning names."""

Curve = tuple[Sequence[float], Sequence[float]]
"""A curve of one number over another: both coordinates of its points."""


@dataclass(frozen=True)
class Look:
    """The attention of each token of a translation."""

    line: str
    source: list[str]
    """Tokens, with the end of the sentence."""
    target: list[str]
    weights: Float[np.ndarray, "*LH T S"]
    """From 0 to 1; of all heads together, or of each head of each layer."""


def draw_looks(folder: Path, looks: Mapping[int, Look] | Mapping[str, Look]) -> None:
    """Write a folder with a PNG for each look, ``1.png`` for number 1."""
    fonts = choose_fonts(
        text for look in looks.values() for text in (look.line, *look.source, *look.target)
    )
    with files.whole_folder(folder) as part:
        for number, look in looks.items():
            draw_attention_map(part / f"{number}.png", look, fonts=fonts)


def draw_attention_map(path: Path, look: Look, *, fonts: Sequence[str] | None = None) -> None:
    """Write a PNG of a map, or one per head: rows are target tokens, columns source tokens."""
    is_single = look.weights.ndim == len("TS")
    weights = look.weights[None, None] if is_single else look.weights
    wide, high = (0.45, 0.32) if is_single else (0.26 * weights.shape[1], 0.22 * len(weights))
    size = max(4.0, wide * len(look.source) + 1.5), max(3.0, high * len(look.target) + 1.5)
    figure = Figure(figsize=size, layout="constrained")
    maps = figure.subplots(*weights.shape[:2], squeeze=False, sharex=True, sharey=True)
    source, target = ([t.replace("▁", "·") for t in side] for side in (look.source, look.target))
    style: dict[str, Any] = {"parse_math": False, "fontfamily": fonts}
    for (layer, head), axes in np.ndenumerate(maps):
        image = axes.imshow(weights[layer, head], cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        axes.set_xticks(range(len(source)), source, rotation=60, ha="left", **style)
        axes.set_yticks(range(len(target)), target, **style)
        axes.xaxis.tick_top()
        axes.tick_params(length=0, labeltop=layer == 0)
        axes.set_xlabel("" if is_single else f"layer {layer + 1}, head {head + 1}")
    figure.suptitle(look.line, fontsize="medium", **style)
    figure.colorbar(image, ax=maps, label="attention", fraction=0.04)
    save_figure(figure, path)


def draw_learning_curve(
    path: Path, losses: Mapping[str, Curve], scores: Curve, rates: Curve, *, metric: str
) -> None:
    """Write a PNG of a training by update: losses in nats per token, scores and learning rates.

    Losses have labels, and so has the metric of the scores.
    """
    figure = Figure(figsize=(14, 3.6), layout="constrained")
    loss, learning, rate = figure.subplots(1, 3)
    for (label, curve), color in zip(losses.items(), COLORS, strict=True):
        loss.plot(*curve, _style(curve), color=color, label=label)
    loss.set_ylabel("cross entropy in nats per token")
    loss.set_ylim(bottom=0)
    loss.legend(frameon=False)
    learning.plot(*scores, ".-", color=COLORS[0])
    learning.set_ylabel(f"validation {metric}, greedy search")
    learning.set_ylim(bottom=0)
    rate.plot(*rates, _style(rates), color=COLORS[0], linewidth=1.3)
    rate.set_ylabel("learning rate")
    rate.set_ylim(bottom=0)
    rate.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3), useMathText=True)
    for axes in (loss, learning, rate):
        axes.set_xlabel("updates")
        axes.set_xlim(left=0)
        _tidy(axes)
    save_figure(figure, path)


def draw_intervals(path: Path, scores: Mapping[str, ScoreInterval], *, label: str) -> None:
    """Write a PNG with the score of every system and its interval, the first on top."""
    figure = Figure(figsize=(7, 1.2 + 0.45 * len(scores)), layout="constrained")
    axes = figure.subplots()
    for row, score in enumerate(scores.values()):
        axes.plot([score.low, score.high], [row, row], color=COLORS[0], linewidth=2.5, alpha=0.5)
        axes.plot(score.value, row, "o", color=COLORS[0], markersize=7)
        axes.annotate(f"{score.value:.1f}", (score.value, row - 0.15), ha="center", va="bottom")
    axes.set_yticks(range(len(scores)), [*scores])
    axes.set_ylim(len(scores) - 0.5, -0.8)
    axes.set_xlabel(label)
    _tidy(axes)
    save_figure(figure, path)


def _style(curve: Curve) -> str:
    """Return how to draw a curve: with its points while they are few, which a line alone hides."""
    return ".-" if len(curve[0]) <= MARKED_POINTS else "-"


def _tidy(axes: Axes) -> None:
    """Remove lines of the frame that do not help to read numbers."""
    axes.grid(axis="both", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG; two runs draw the same bytes."""
    with files.whole_file(path) as part, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # choose_fonts does it once
        # no software or date inside
        figure.savefig(part, format="png", dpi=120, metadata={"Software": None})


def choose_fonts(texts: Iterable[str]) -> list[str]:
    """Return the font families that together have the most characters, matplotlib's own first.

    Characters of no installed font are drawn as boxes, with a warning.
    """
    default = FontProperties().get_name()
    missing = {ord(character) for text in texts for character in text} - _characters(default)
    names = sorted(fontManager.get_font_names()) if missing else []
    characters = {
        name: missing & _characters(name)
        for name in names
        if "lastresort" not in name.replace(" ", "").lower()  # it draws boxes
    }
    chosen = [default]
    while missing & set().union(*characters.values()):
        best = max(characters, key=lambda name: len(missing & characters[name]))
        chosen.append(best)
        missing -= characters[best]
    if missing:
        _log.warning(
            "no installed font has %d characters of the pictures (%s), which show boxes instead; "
            "install one that has them, such as Noto Sans CJK for Japanese",
            len(missing),
            "".join(map(chr, sorted(missing)[:MISSING_SHOWN])),
        )
    return chosen


def _characters(family: str) -> set[int]:
    """Return the code points of a family, in the face that matplotlib would take."""
    return {*get_font(findfont(FontProperties(family=family))).get_charmap()}

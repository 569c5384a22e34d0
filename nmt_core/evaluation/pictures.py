"""Charts: learning curves, attention maps, comparisons of systems, and fonts for their text."""

import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

from nmt_core.base import files

_log = logging.getLogger(__name__)

MARKED_POINTS = 40
"""Points of a curve up to which each is drawn."""

MISSING_SHOWN = 5
"""Missing characters that a warning names."""


@dataclass(frozen=True)
class Curve:
    """A curve of one number over another, such as score over time; related curves share a label."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


def draw_attention_map(
    path: Path,
    weights: Float[np.ndarray, "T S"],
    *,
    source: Sequence[str],
    target: Sequence[str],
    title: str = "",
    fonts: Sequence[str] | None = None,
) -> None:
    """Write a PNG with a row per target token and a column per source token; dark is much.

    Args:
        path: where to write.
        weights: from 0 to 1.
        source: its tokens.
        target: its tokens.
        title: what stands above.
        fonts: families to write with, in the order in which they are asked for a character;
            matplotlib's own by default.
    """
    width = max(4.0, 0.45 * len(source) + 1.5)
    height = max(3.0, 0.32 * len(target) + 1.5)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(weights, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    words = [[token.replace("▁", "·") for token in side] for side in (source, target)]
    style: dict[str, Any] = {"parse_math": False, "fontfamily": fonts}
    axes.set_xticks(range(len(source)), words[0], rotation=60, ha="left", **style)
    axes.set_yticks(range(len(target)), words[1], **style)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_title(title, fontsize="medium", **style)
    figure.colorbar(image, ax=axes, label="attention", fraction=0.04)
    save_figure(figure, path)


def draw_learning_curve(
    path: Path,
    losses: Sequence[Curve],
    scores: Curve,
    rates: Curve,
) -> None:
    """Write a PNG of a training: losses, validation scores and learning rates, by update.

    Args:
        path: where to write.
        losses: in nats per token.
        scores: of greedy translations of validation text, labelled by the metric.
        rates: of the updates.
    """
    figure = Figure(figsize=(14, 3.6), layout="constrained")
    loss, learning, rate = figure.subplots(1, 3)
    colors = _colors(2)
    for curve, color in zip(losses, colors, strict=True):
        loss.plot(curve.x, curve.y, _style(curve), color=color, label=curve.label)
    loss.set_ylabel("cross entropy in nats per token")
    loss.set_ylim(bottom=0)
    loss.legend(frameon=False)
    learning.plot(scores.x, scores.y, ".-", color=colors[0])
    learning.set_ylabel(f"validation {scores.label}, greedy search")
    learning.set_ylim(bottom=0)
    rate.plot(rates.x, rates.y, _style(rates), color=colors[0], linewidth=1.3)
    rate.set_ylabel("learning rate")
    rate.set_ylim(bottom=0)
    rate.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3), useMathText=True)
    for axes in (loss, learning, rate):
        axes.set_xlabel("updates")
        axes.set_xlim(left=0)
        _tidy(axes)
    save_figure(figure, path)


@dataclass(frozen=True)
class Interval:
    """A system's score, how sure it is, and the score of every seed."""

    label: str
    value: float
    low: float
    high: float
    points: Sequence[float]


def draw_comparison(
    path: Path,
    intervals: Sequence[Interval],
    curves: Sequence[Curve],
    *,
    unit: str,
    metrics: tuple[str, str],
    over: str,
) -> None:
    """Write a PNG with the test score of every system, best on top, beside its learning curves.

    Args:
        path: where to write.
        intervals: a system each; its colour is the same on both sides.
        curves: a training each, of the systems above.
        unit: what the curves' x counts.
        metrics: what people call the scores on the test set, and those of the curves.
        over: what the intervals are of, such as sentences.
    """
    colors = dict(zip((bar.label for bar in intervals), _colors(len(intervals)), strict=True))
    height = max(3.6, 0.45 * len(intervals) + 1.4)
    figure = Figure(figsize=(11, height), layout="constrained")
    scores, learning = figure.subplots(1, 2, width_ratios=(1, 1.3))
    for row, bar in enumerate(intervals):
        color = colors[bar.label]
        scores.plot([bar.low, bar.high], [row, row], color=color, linewidth=2.5, alpha=0.5)
        scores.plot(bar.points, [row] * len(bar.points), "|", color=color, markersize=11)
        scores.plot(bar.value, row, "o", color=color, markersize=7)
        scores.annotate(
            f"{bar.value:.1f}",
            (bar.value, row),
            (0, 7),
            textcoords="offset points",
            ha="center",
            fontsize="small",
        )
    scores.set_yticks(range(len(intervals)), [bar.label for bar in intervals])
    scores.set_ylim(len(intervals) - 0.4, -0.7)
    scores.set_xlabel(f"test {metrics[0]}, 95 % interval over {over}")
    for curve in curves:
        learning.plot(curve.x, curve.y, ".-", color=colors[curve.label], linewidth=1.3)
    learning.set_xlabel(unit)
    learning.set_ylabel(f"validation {metrics[1]}, greedy search")
    learning.set_ylim(bottom=0)
    learning.set_xlim(left=0)
    learning.set_title("learning curves, in the same colours", fontsize="medium")
    for label in scores.get_yticklabels():
        label.set_color(colors[label.get_text()])
    for axes in (scores, learning):
        _tidy(axes)
    save_figure(figure, path)


def _style(curve: Curve) -> str:
    """Return how to draw a curve: with its points while they are few, which a line alone hides."""
    return ".-" if len(curve.x) <= MARKED_POINTS else "-"


def _tidy(axes: Axes) -> None:
    """Remove lines of the frame that do not help to read numbers."""
    axes.grid(axis="both", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _colors(count: int) -> list[Any]:
    """Return distinct colours, colour-blind-safe for a few."""
    few = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333"]
    return few[:count] if count <= len(few) else list(mpl.colormaps["tab20"](range(count)))


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG; two runs draw the same bytes."""
    with files.whole_file(path) as part, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # choose_fonts does it once
        # no software or date inside
        figure.savefig(part, format="png", dpi=120, metadata={"Software": None})


@dataclass(frozen=True)
class Look:
    """The attention of each token of a translation."""

    line: str
    source: list[str]
    """Tokens, the end with them; so of the target."""
    target: list[str]
    weights: Float[np.ndarray, "T S"]


def draw_looks(folder: Path, looks: Mapping[int, Look]) -> None:
    """Write a folder with a PNG for each look, ``1.png`` for number 1, in fonts that have all."""
    fonts = choose_fonts(_texts(looks.values()))
    with files.whole_folder(folder) as part:
        for number, look in looks.items():
            draw_attention_map(
                part / f"{number}.png",
                look.weights,
                source=look.source,
                target=look.target,
                title=look.line,
                fonts=fonts,
            )


def _texts(looks: Iterable[Look]) -> Iterable[str]:
    return (text for look in looks for text in (look.line, *look.source, *look.target))


def choose_fonts(texts: Iterable[str]) -> list[str]:
    """Return the font families that together have the most characters, matplotlib's own first.

    Characters of no installed font are drawn as boxes, with a warning.
    """
    default = FontProperties().get_name()
    missing = {ord(character) for text in texts for character in text} - _characters(default)
    names = sorted(fontManager.get_font_names()) if missing else []
    characters = {name: missing & _characters(name) for name in names if not _is_last_resort(name)}
    chosen = [default]
    while missing & set().union(*characters.values()):
        best = max(characters, key=lambda name: len(missing & characters[name]))
        chosen.append(best)
        missing -= characters[best]
    if missing:
        _log.warning(
            "no installed font has %d characters of the attention pictures (%s), which show boxes "
            "in their place; install one that has them, such as Noto Sans CJK for Japanese",
            len(missing),
            "".join(map(chr, sorted(missing)[:MISSING_SHOWN])),
        )
    return chosen


def _characters(family: str) -> set[int]:
    """Return the code points of a family, in the face that matplotlib would take."""
    return {*get_font(findfont(FontProperties(family=family))).get_charmap()}


def _is_last_resort(family: str) -> bool:
    """Tell whether a font draws a box for every character, as one of matplotlib does."""
    return "lastresort" in family.replace(" ", "").lower()

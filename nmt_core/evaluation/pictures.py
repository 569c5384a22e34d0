"""Attention as a picture: which source words a translation looked at, word by word."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from nmt_core import files


def draw_attention(
    path: Path,
    weights: Float[np.ndarray, "T S"],
    *,
    source: Sequence[str],
    target: Sequence[str],
    title: str = "",
) -> None:
    """Write a PNG with a row per target token and a column per source token; dark is much."""
    width = max(4.0, 0.45 * len(source) + 1.5)
    height = max(3.0, 0.32 * len(target) + 1.5)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(weights, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    words = [[token.replace("▁", "·") for token in side] for side in (source, target)]
    axes.set_xticks(range(len(source)), words[0], rotation=60, ha="left", parse_math=False)
    axes.set_yticks(range(len(target)), words[1], parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_title(title, fontsize="medium", parse_math=False)
    figure.colorbar(image, ax=axes, label="attention", fraction=0.04)
    with files.whole_file(path) as part:
        # no software or date inside, so that two runs draw the same bytes
        figure.savefig(part, format="png", dpi=120, metadata={"Software": None})

"""Pictures of a translator's attention."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from nmt_core.base import files
from nmt_core.evaluation.fonts import choose_fonts
from nmt_core.evaluation.pictures import draw_attention_map


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

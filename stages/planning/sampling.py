"""A part of a corpus, drawn at random and always the same one."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.random import make_generator
from stages import paths

SEED = 1
"""Draws the sample; nothing but a prediction depends on it."""


def draw_rows(total: int, count: int, split: str) -> list[int]:
    """Return ``count`` of ``total`` line numbers in order; a smaller draw is part of a larger."""
    drawn = make_generator(SEED, "planning", split).permutation(total)[:count]
    return [int(row) for row in np.sort(drawn)]


def count_pairs(corpus: Path) -> dict[str, int]:
    """Return how many pairs each split of a corpus has.

    Raises:
        CorpusError: if there is no corpus, or a split of it is empty.
    """
    try:
        found: dict[str, int] = files.read_json(corpus / "corpus.json")["pairs"]
    except (OSError, ValueError, KeyError, TypeError):
        raise CorpusError(
            f"{corpus} holds no corpus, without which nothing can be predicted; bring it by: "
            f"dvc repro download"
        ) from None
    for split in paths.SPLITS:
        if not found.get(split):
            raise CorpusError(
                f"{corpus} holds no {split} pairs; give more text, or a greater share of it: "
                f"download.split, and run: dvc repro download"
            )
    return found


def write_sample(corpus: Path, folder: Path, counts: Mapping[str, int]) -> None:
    """Write so many pairs of some splits to a folder; whatever else a corpus holds is linked."""
    pairs = count_pairs(corpus)
    folder.mkdir(parents=True)
    for path in sorted(corpus.iterdir()):
        split = next((name for name in paths.SPLITS if path.name.startswith(f"{name}.")), None)
        if split is None or counts.get(split, pairs[split]) >= pairs[split]:
            (folder / path.name).symlink_to(path.absolute())
            continue
        rows = set(draw_rows(pairs[split], counts[split], split))
        kept = (line for row, line in enumerate(files.read_lines(path)) if row in rows)
        files.write_lines(folder / path.name, kept)

"""Corpora that programs make, to be a share of what is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt_core.base import files
from stages import paths

HIGHEST = 1_000_000.0
"""The highest weight that a corpus may have."""


def describe_made_corpus(
    stem: Path,
    *,
    share: float,
    pairs: int,
    others: float,
    licence: str,
    tag: str = "",
    filters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings of a corpus of two files, of which nothing is tested on.

    Args:
        stem: their path, without the side that each ends in.
        share: see :func:`find_weight`, as for ``pairs`` and ``others``.
        pairs: how many there are.
        others: pairs of the other corpora, each times its weight.
        licence: what the model card says of it.
        tag: what a model reads before its lines.
        filters: of its own, in the place of some of those of all text.
    """
    return {
        "kind": "files",
        "train": {side: f"{stem}.{side}" for side in paths.SIDES},
        "licence": licence,
        "train_only": True,
        "weight": find_weight(share, pairs=pairs, others=others),
        "tag": tag,
        "filter": filters,
    }


def count_weighted_pairs(metrics: Path = paths.METRICS) -> float:
    """Return how many training pairs were downloaded, those of each corpus times its weight."""
    corpora = files.read_json(metrics / "download.json")["corpora"].values()
    return float(sum(corpus["weight"] * corpus["pairs"]["train"] for corpus in corpora))


def find_weight(share: float, *, pairs: int, others: float) -> float:
    """Return the weight with which pairs are a share of what is read.

    Args:
        share: of these pairs, between 0 and 1.
        pairs: how many there are.
        others: pairs of the other corpora, each times its weight.
    """
    return min(share / (1 - share) * others / pairs, HIGHEST)

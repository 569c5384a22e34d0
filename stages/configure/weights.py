"""Weights of corpora that are made to be a share of what is read."""

from pathlib import Path

from nmt_core.base import files
from stages import paths

HIGHEST = 1_000_000.0
"""The highest weight that a corpus may have."""


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

"""Corpora that programs make, to be a share of what is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stages import paths
from stages.reporting.download_report import DownloadReport

HIGHEST = 1_000_000.0
"""The highest weight that a corpus may have."""


def describe_made_corpus(
    stem: Path,
    *,
    weight: float,
    licence: str,
    tag: str = "",
    filters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings of a corpus of two files, of which nothing is tested on.

    Args:
        stem: their path, without the side that each ends in.
        weight: see :func:`find_weight`.
        licence: what the model card says of it.
        tag: what a model reads before its lines.
        filters: of its own, in the place of some of those of all text.
    """
    return {
        "kind": "files",
        "train": {side: f"{stem}.{side}" for side in paths.SIDES},
        "licence": licence,
        "train_only": True,
        "weight": weight,
        "tag": tag,
        "filter": filters,
    }


def read_temperature(values: Mapping[str, Any]) -> float:
    """Return the temperature of the mixture in the content of a params.yaml."""
    return float(values["train"].get("mixture", {}).get("temperature", 1.0))


def count_weighted_pairs(temperature: float = 1.0, *, reports: Path = paths.REPORTS) -> float:
    """Return how many training pairs were downloaded, those of each corpus times its weight.

    At a temperature T each of these numbers is its T-th root, as in a mixture.
    """
    corpora = DownloadReport.read(reports / "download.json").corpora.values()
    sizes = (corpus.weight * corpus.pairs["train"] for corpus in corpora)
    return float(sum(size ** (1 / temperature) for size in sizes))


def find_weight(share: float, *, pairs: int, others: float, temperature: float = 1.0) -> float:
    """Return the weight with which pairs are a share of what is read.

    Args:
        share: of these pairs, between 0 and 1.
        pairs: how many there are.
        others: what :func:`count_weighted_pairs` returns at that temperature.
        temperature: of the mixture.
    """
    return min((share / (1 - share) * others) ** temperature / pairs, HIGHEST)

"""Settings of synthetic pairs, and the params.yaml of a training that reads them."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from stages import paths
from stages.configure.compose import overlay_group
from stages.reporting.download_report import DownloadReport

STUDENT = ("_base/transformer", "_base/subwords", "student")
"""Files of conf/model/ whose settings a student has."""


MAX_WEIGHT = 1_000_000.0
"""Maximum weight of a corpus."""

DISTILLED, BACKTRANSLATED = "distilled", "backtranslated"
"""Names of the corpora of each direction, and the tag of the second."""


class SynthesisConfig(Config):
    """Which text a teacher translates, and which translations are kept."""

    teacher: Path = Field(paths.EXPORT, strict=False)  # Prefect passes text
    """Folder of the exported model that translates."""

    backward: bool = False
    """Translate text of the target language into the source language, so that what a model learns
    to write is real text (Sennrich, Haddow and Birch 2016); else text of the source language, so
    that a small model learns to write as a large one does (Kim and Rush 2016)."""

    text: tuple[Annotated[Path, Field(strict=False)], ...] = Field((), strict=False)
    """Files with a sentence a line. Without any, the training pairs' sources and the monolingual
    text of the source language; backward, the monolingual text of the target language."""

    beam_size: int = Field(2, ge=1, le=100)
    """Live hypotheses per sentence of a teacher that is a model."""

    share: float = Field(0.5, gt=0, lt=1)
    """Share of these pairs among what is read in training."""

    licence: str = Field("own", min_length=1)
    """Licence of these pairs, which the card of the model names."""

    @property
    def corpus(self) -> str:
        """The name of the corpus."""
        return BACKTRANSLATED if self.backward else DISTILLED

    @property
    def folder(self) -> Path:
        """The folder of the corpus, and of what was translated for it."""
        return paths.DOWNLOADS / "synthetic" / self.corpus


def leave_out(values: Mapping[str, Any], config: SynthesisConfig) -> dict[str, Any]:
    """Return settings without the corpus that is to be made."""
    left = copy.deepcopy(dict(values))
    left["download"]["corpora"].pop(config.corpus, None)
    return left


def compose_synthesis(
    values: Mapping[str, Any],
    config: SynthesisConfig,
    *,
    kept: int,
    pairs: float,
    student: bool,
) -> dict[str, Any]:
    """Return settings of a training with the ``kept`` pairs of a teacher.

    ``pairs`` counts those of the other corpora, see ``count_weighted_pairs``. A student has a
    preset of its own.

    Raises:
        ConfigError: if a student is to learn backward.
    """
    if student and config.backward:
        raise ConfigError(
            "a student learns from a teacher that translates as it will; leave out backward, or "
            "student"
        )
    composed = leave_out(values, config)
    if student:
        overlay_group(composed, "model", STUDENT)
    composed["download"]["corpora"][config.corpus] = describe_made_corpus(
        config.folder / "pairs/train",
        weight=find_weight(
            config.share, pairs=kept, others=pairs, temperature=read_temperature(values)
        ),
        licence=config.licence,
        tag=BACKTRANSLATED if config.backward else "",
    )
    return composed


def describe_made_corpus(
    stem: Path,
    *,
    weight: float,
    licence: str,
    tag: str = "",
    filters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings of a corpus of training text in two files.

    ``stem`` is their path, without the side that each ends in.
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

    ``others`` is the result of ``count_weighted_pairs`` at that temperature.
    """
    return min((share / (1 - share) * others) ** temperature / pairs, MAX_WEIGHT)

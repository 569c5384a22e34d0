"""Settings of synthetic pairs, and the params.yaml of a training on them."""

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
"""Presets of conf/model/ for a student."""


MAX_WEIGHT = 1_000_000.0
"""Maximum weight of a corpus."""

DISTILLED, BACKTRANSLATED = "distilled", "backtranslated"
"""Names of the synthetic corpora; the second is also the tag of its lines."""


class SynthesisConfig(Config):
    """Settings of synthetic pairs: teacher, direction, text and sampling weight."""

    teacher: Path = Field(paths.EXPORT, strict=False)  # Prefect passes text
    """Folder of the exported model that translates."""

    backward: bool = False
    """Back-translate text of the target language, so that the model learns to write real text
    (Sennrich, Haddow and Birch 2016). False translates text of the source language, so that a small
    model learns from a large one (distillation; Kim and Rush 2016)."""

    text: tuple[Annotated[Path, Field(strict=False)], ...] = Field((), strict=False)
    """Files with one sentence per line. By default, the sources of the training pairs and the
    monolingual source text; if backward, the monolingual target text."""

    beam_size: int = Field(2, ge=1, le=100)
    """Beam size of the teacher."""

    share: float = Field(0.5, gt=0, lt=1)
    """Share of the synthetic pairs among the pairs that training reads."""

    licence: str = Field("own", min_length=1)
    """Licence of the synthetic pairs, shown in the model card."""

    @property
    def corpus(self) -> str:
        """The name of the corpus."""
        return BACKTRANSLATED if self.backward else DISTILLED

    @property
    def folder(self) -> Path:
        """The folder of the corpus and of cached translations."""
        return paths.DOWNLOADS / "synthetic" / self.corpus


def remove_corpus(values: Mapping[str, Any], config: SynthesisConfig) -> dict[str, Any]:
    """Return the content of params.yaml without the synthetic corpus."""
    remaining = copy.deepcopy(dict(values))
    remaining["download"]["corpora"].pop(config.corpus, None)
    return remaining


def compose_synthesis(
    values: Mapping[str, Any],
    config: SynthesisConfig,
    *,
    kept: int,
    pairs: float,
    student: bool,
) -> dict[str, Any]:
    """Return the content of params.yaml for a training with ``kept`` synthetic pairs.

    ``pairs`` is the number of pairs of the other corpora; see ``count_weighted_pairs``. ``student``
    uses the preset of a small model.

    Raises:
        ConfigError: for a student of a backward teacher.
    """
    if student and config.backward:
        raise ConfigError(
            "a student requires a teacher of its own direction; set either student or backward"
        )
    composed = remove_corpus(values, config)
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
    """Return the settings of a training corpus of two files.

    ``stem`` is their common path, without the suffixes for the sides.
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
    """Return the temperature of the mixture from the content of params.yaml."""
    return float(values["train"].get("mixture", {}).get("temperature", 1.0))


def count_weighted_pairs(temperature: float = 1.0, *, reports: Path = paths.REPORTS) -> float:
    """Return the sum of weight times number of training pairs over the downloaded corpora.

    At temperature T, the T-th roots of these products are summed, as in a mixture.
    """
    corpora = DownloadReport.read(reports / "download.json").corpora.values()
    sizes = (corpus.weight * corpus.pairs["train"] for corpus in corpora)
    return float(sum(size ** (1 / temperature) for size in sizes))


def find_weight(share: float, *, pairs: int, others: float, temperature: float = 1.0) -> float:
    """Return the sampling weight that makes ``pairs`` a ``share`` of the pairs that are read.

    ``others`` is the result of ``count_weighted_pairs`` at the same temperature.
    """
    return min((share / (1 - share) * others) ** temperature / pairs, MAX_WEIGHT)

"""Settings of synthetic pairs, and the params.yaml of a training on them."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import LanguagePair, Languages
from nmt_core.corpora.local import MonolingualCorpus
from stages import paths
from stages.configure.compose import overlay_group
from stages.params import DownloadParams
from stages.reporting.download_report import DownloadReport

STUDENT = ("_base/transformer", "_base/subwords", "student")
"""Presets of conf/model/ for a student."""

MAX_WEIGHT = 1_000_000.0
"""Maximum weight of a corpus."""

DISTILLED, BACKTRANSLATED = "distilled", "backtranslated"
"""Names of the synthetic corpora; the second is also the tag of its lines. With several directions,
the name of the direction follows, such as ``distilled-de-en``."""


class SynthesisConfig(Config):
    """Settings of synthetic pairs: teacher, direction, text and sampling weight."""

    teacher: Path = Field(paths.EXPORT, strict=False)  # Prefect passes text
    """Folder of the exported model that translates."""

    backward: bool = False
    """Back-translate text of the target language, so that the model learns to write real text
    (Sennrich, Haddow and Birch 2016). False translates text of the source language, so that a small
    model learns from a large one (distillation; Kim and Rush 2016)."""

    direction: LanguagePair | None = None
    """Direction of the synthetic pairs, such as de-en. By default, all that the model learns; if
    backward, those with monolingual text of their target language."""

    text: tuple[Annotated[Path, Field(strict=False)], ...] = Field((), strict=False)
    """Files with one sentence per line. By default, the sources of the training pairs and the
    monolingual source text; if backward, the monolingual target text. If the model learns several
    directions, name the one of the text."""

    beam_size: int = Field(2, ge=1, le=100)
    """Beam size of the teacher."""

    share: float = Field(0.5, gt=0, lt=1)
    """Share of all these pairs among the pairs that training reads."""

    licence: str = Field("own", min_length=1)
    """Licence of the synthetic pairs, shown in the model card."""

    def plan_corpora(self, download: DownloadParams) -> dict[str, Languages]:
        """Return the direction of each corpus to make, by its name.

        Raises:
            ConfigError: if the model does not learn the direction, or several are possible.
        """
        learned, side = download.learned, "target" if self.backward else "source"
        listed = ", ".join(map(str, learned))
        if self.direction and self.direction not in learned:
            raise ConfigError(f"the model learns {listed}; {self.direction} is not one of these")
        name = BACKTRANSLATED if self.backward else DISTILLED
        if len(learned) == 1:
            return {name: learned[0]}
        if self.text and not self.direction:
            raise ConfigError(
                f"the model learns {listed}; name the direction (LANGUAGES= or "
                f"--direction) whose {side} language the text is in"
            )
        chosen = [self.direction] if self.direction else [*learned]
        if self.backward and not self.direction:
            texts = [
                c.language for c in download.corpora.values() if isinstance(c, MonolingualCorpus)
            ]
            chosen = [each for each in chosen if each.target in texts]
        if not chosen:
            raise ConfigError(
                f"download.corpora has no monolingual text in a target language of {listed}; add "
                f"a corpus with role: monolingual, or name text and its direction"
            )
        return {f"{name}-{each}".lower(): each for each in chosen}


def find_folder(corpus: str) -> Path:
    """Return the folder of a synthetic corpus and of its cached translations."""
    return paths.DOWNLOADS / "synthetic" / corpus


def remove_corpora(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the content of params.yaml without some corpora."""
    remaining = copy.deepcopy(dict(values))
    for name in names:
        remaining["download"]["corpora"].pop(name, None)
    return remaining


def compose_synthesis(
    values: Mapping[str, Any],
    config: SynthesisConfig,
    corpora: Mapping[str, Languages],
    *,
    kept: Mapping[str, int],
    pairs: float,
    student: bool,
) -> dict[str, Any]:
    """Return the content of params.yaml for a training with synthetic corpora.

    ``corpora`` are those of ``plan_corpora``, and ``kept`` their numbers of pairs. ``pairs`` is the
    number of pairs of the other corpora; see ``count_weighted_pairs``. ``student`` uses the preset
    of a small model.

    Raises:
        ConfigError: for a student of a backward teacher.
    """
    if student and config.backward:
        raise ConfigError(
            "a student requires a teacher of its own direction; set either student or backward"
        )
    composed = remove_corpora(values, corpora)
    if student:
        overlay_group(composed, "model", STUDENT)
    weight = find_weight(
        config.share, [*kept.values()], others=pairs, temperature=read_temperature(values)
    )
    for name, languages in corpora.items():
        composed["download"]["corpora"][name] = describe_made_corpus(
            find_folder(name) / "pairs/train",
            "" if name in (DISTILLED, BACKTRANSLATED) else str(languages),
            weight=weight,
            licence=config.licence,
            tag=BACKTRANSLATED if config.backward else "",
        )
    return composed


def describe_made_corpus(
    stem: Path,
    direction: str = "",
    *,
    weight: float,
    licence: str,
    tag: str = "",
    filters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings of a training corpus of two files.

    ``stem`` is their common path, without the suffixes for the sides, and ``direction`` that of a
    multilingual model.
    """
    return {
        "kind": "synthetic" if direction else "files",
        **({"languages": direction} if direction else {}),
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


def count_weighted_pairs(temperature: float) -> float:
    """Return the sum of weight times number of training pairs over the downloaded corpora.

    At temperature T, the T-th roots of these products are summed, as in a mixture.
    """
    corpora = DownloadReport.read(paths.REPORTS / "download.json").corpora.values()
    sizes = (corpus.weight * corpus.pairs["train"] for corpus in corpora)
    return float(sum(size ** (1 / temperature) for size in sizes))


def find_weight(
    share: float, pairs: Sequence[int], *, others: float, temperature: float = 1.0
) -> float:
    """Return the sampling weight that makes corpora of ``pairs`` a ``share`` of the mixture.

    ``others`` is the result of ``count_weighted_pairs`` at the same temperature.
    """
    largest = max(pairs)
    size = largest * sum((n / largest) ** (1 / temperature) for n in pairs) ** temperature
    return min((share / (1 - share) * others) ** temperature / size, MAX_WEIGHT)

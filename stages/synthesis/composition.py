"""The params.yaml of a training that learns from a teacher's pairs."""

import copy
from collections.abc import Mapping
from typing import Any

from nmt_core.base.errors import ConfigError
from stages.configure.compose import overlay_group
from stages.configure.text_size import describe_made_corpus, find_weight, read_temperature
from stages.params import TrainParams
from stages.synthesis.settings import BACKTRANSLATED, SynthesisConfig

STUDENT = ("_base/transformer", "_base/subwords", "student")
"""Files of conf/model/ whose settings a student has."""


def leave_out(values: Mapping[str, Any], config: SynthesisConfig) -> dict[str, Any]:
    """Return settings without the corpus that is to be made."""
    left = copy.deepcopy(dict(values))
    left["download"]["corpora"].pop(config.corpus, None)
    return left


def leave_out_phases(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without phases of training, which may name a corpus that is not there yet."""
    left = copy.deepcopy(dict(values))
    left["train"].get("mixture", {}).pop("phases", None)
    return left


def check_phases_read(train: TrainParams, config: SynthesisConfig) -> None:
    """Check that a phase of a training reads these pairs, before hours of translating.

    Raises:
        ConfigError: if none does.
    """
    phases = train.mixture.phases
    if phases and all(phase.corpora and config.corpus not in phase.corpora for phase in phases):
        raise ConfigError(
            f"each of train.mixture.phases names corpora, and none names {config.corpus}, so its "
            f"pairs would never be read; name it in one of them, or set train.mixture.phases=[]"
        )


def compose_synthesis(
    values: Mapping[str, Any],
    config: SynthesisConfig,
    *,
    kept: int,
    pairs: float,
    student: bool,
) -> dict[str, Any]:
    """Return settings of a training with the pairs of a teacher.

    Args:
        values: content of params.yaml, without these pairs.
        config: share, licence and name of these pairs.
        kept: how many there are.
        pairs: of the other corpora in train, each times its weight, at the mixture's temperature.
        student: take the preset of a student.

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

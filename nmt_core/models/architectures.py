"""Architectures by name: each a file with its model, its settings, and a line here.

This file imports no torch: settings are read before a model is built.
"""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any

from nmt_core.base import config
from nmt_core.base.config import OpenUnion
from nmt_core.base.registry import Registry
from nmt_core.models.settings import Seq2SeqConfig

if TYPE_CHECKING:
    from nmt_core.models.seq2seq import Pretrained, Seq2Seq

ARCHITECTURES: Registry[type[Seq2SeqConfig]] = Registry(
    "an architecture",
    "nmt.architectures",
    {
        "transformer": "nmt_core.models.settings:TransformerConfig",
        "convs2s": "nmt_core.models.settings:ConvS2SConfig",
        "rnn": "nmt_core.models.settings:RnnConfig",
    },
)
"""The settings of each architecture."""

ModelConfig = Annotated[Seq2SeqConfig, OpenUnion(ARCHITECTURES, "architecture")]
"""The settings of any architecture, told apart by ``architecture``."""

REMOVED: Mapping[str, Any] = {"state_dropout": 0.0}
"""Defaults of settings that earlier versions saved, by their names."""


def read_model_config(values: Mapping[str, Any]) -> Seq2SeqConfig:
    """Build the settings of a model from JSON, as saved beside its weights.

    Settings that earlier versions had are ignored at their defaults.

    Raises:
        ConfigError: if there is no such architecture, or a key is unknown, missing or of the wrong
            type.
    """
    kept = {name: value for name, value in values.items() if REMOVED.get(name, ...) != value}
    return config.build(ARCHITECTURES.load(str(values.get("architecture"))), kept, at="model")


def build_model(
    model: Seq2SeqConfig,
    *,
    source_size: int,
    target_size: int,
    pretrained: "Pretrained | None" = None,
) -> "Seq2Seq[Any, Any]":
    """Return a freshly initialised model; torch's generator decides its weights."""
    built: Seq2Seq[Any, Any] = resolve_name(model.builds)(
        model, source_size=source_size, target_size=target_size, pretrained=pretrained
    )
    return built

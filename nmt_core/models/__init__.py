"""Architectures: each a file, a config and a line here."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field

from nmt_core import config
from nmt_core.errors import ConfigError
from nmt_core.models.convs2s import ConvS2S, ConvS2SConfig
from nmt_core.models.rnn import Rnn, RnnConfig
from nmt_core.models.seq2seq import Memory, Pretrained, Seq2Seq, Seq2SeqConfig, State
from nmt_core.models.transformer import Transformer, TransformerConfig

ModelConfig = Annotated[
    TransformerConfig | ConvS2SConfig | RnnConfig,
    Field(discriminator="architecture"),
]
"""The settings of any architecture, told apart by ``architecture``."""

ARCHITECTURES: dict[type[Seq2SeqConfig], Callable[..., Seq2Seq[Any, Any]]] = {
    TransformerConfig: Transformer,
    ConvS2SConfig: ConvS2S,
    RnnConfig: Rnn,
}


def build_model(
    model: Seq2SeqConfig,
    *,
    source_size: int,
    target_size: int,
    pretrained: Pretrained | None = None,
) -> Seq2Seq[Any, Any]:
    """Return a freshly initialised model; torch's generator decides its weights."""
    architecture = ARCHITECTURES[type(model)]
    return architecture(
        model, source_size=source_size, target_size=target_size, pretrained=pretrained
    )


def read_model_config(values: Mapping[str, Any]) -> Seq2SeqConfig:
    """Build the settings of a model from JSON, as saved beside its weights.

    Raises:
        ConfigError: if a key is unknown, missing or of the wrong type.
    """
    known = {kind.model_fields["architecture"].default: kind for kind in ARCHITECTURES}
    kind = known.get(values.get("architecture"))
    if kind is None:
        got = values.get("architecture")
        raise ConfigError(f"model.architecture must be one of {', '.join(known)}, got {got!r}")
    return config.build(kind, values, at="model")


__all__ = [
    "ARCHITECTURES",
    "ConvS2S",
    "ConvS2SConfig",
    "Memory",
    "ModelConfig",
    "Pretrained",
    "Rnn",
    "RnnConfig",
    "Seq2Seq",
    "State",
    "Transformer",
    "TransformerConfig",
    "build_model",
    "read_model_config",
]

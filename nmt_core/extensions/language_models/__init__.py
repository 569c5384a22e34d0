"""Language models of several kinds, each with a file and a line here.

One of them, the masked one, says what is missing instead.
"""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Annotated, Any

from torch import Tensor

from nmt_core.base.config import OpenUnion
from nmt_core.base.registry import Registry
from nmt_core.extensions.language_models.feed_forward import (
    FeedForwardConfig,
    FeedForwardLanguageModel,
)
from nmt_core.extensions.language_models.masked import MaskedConfig, MaskedLanguageModel
from nmt_core.extensions.language_models.model import (
    LanguageModel,
    LanguageModelSettings,
    NeuralLanguageModel,
)
from nmt_core.extensions.language_models.ngram import NGram, NGramConfig
from nmt_core.extensions.language_models.recurrent import Recurrent, RecurrentConfig
from nmt_core.extensions.language_models.transformer import (
    TransformerLanguageConfig,
    TransformerLanguageModel,
)

LANGUAGE_MODELS: Registry[type[LanguageModelSettings]] = Registry(
    "a kind of language model",
    "nmt.language_models",
    {
        "ngram": NGramConfig,
        "feed_forward": FeedForwardConfig,
        "rnn": RecurrentConfig,
        "transformer": TransformerLanguageConfig,
        "masked": MaskedConfig,
    },
)
"""The settings of each kind of language model."""

LanguageModelConfig = Annotated[LanguageModelSettings, OpenUnion(LANGUAGE_MODELS)]
"""The settings of any language model, told apart by ``kind``."""

AnyLanguageModel = LanguageModel[Any] | MaskedLanguageModel
"""A model of what comes next, or of what is missing."""


def build_language_model(config: LanguageModelSettings, words: int) -> Any:
    """Return a freshly initialised model; torch's generator decides its weights."""
    return resolve_name(config.builds)(config, words)


def restore_language_model(
    config: LanguageModelSettings, words: int, tensors: Mapping[str, Tensor]
) -> AnyLanguageModel:
    """Return a model as it was saved, in evaluation mode.

    Raises:
        BundleError: if the tensors are not those of such a model.
    """
    restored: AnyLanguageModel = resolve_name(config.builds).restore(config, words, tensors)
    return restored.eval()


__all__ = [
    "LANGUAGE_MODELS",
    "AnyLanguageModel",
    "FeedForwardConfig",
    "FeedForwardLanguageModel",
    "LanguageModel",
    "LanguageModelConfig",
    "LanguageModelSettings",
    "MaskedConfig",
    "MaskedLanguageModel",
    "NGram",
    "NGramConfig",
    "NeuralLanguageModel",
    "Recurrent",
    "RecurrentConfig",
    "TransformerLanguageConfig",
    "TransformerLanguageModel",
    "build_language_model",
    "restore_language_model",
]

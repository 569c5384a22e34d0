"""Language models: how likely is a text, and what comes next? Each kind a file and a line here.

One of them, the masked one, says what is missing instead.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field
from torch import Tensor

from nmt_core.base.errors import BundleError
from nmt_core.extensions.language_models.feed_forward import (
    FeedForwardConfig,
    FeedForwardLanguageModel,
)
from nmt_core.extensions.language_models.masked import MaskedConfig, MaskedLanguageModel
from nmt_core.extensions.language_models.model import LanguageModel, NeuralLanguageModel
from nmt_core.extensions.language_models.ngram import NGram, NGramConfig
from nmt_core.extensions.language_models.recurrent import Recurrent, RecurrentConfig
from nmt_core.extensions.language_models.transformer import (
    TransformerLanguageConfig,
    TransformerLanguageModel,
)
from nmt_core.models.weights import compare_shapes, load_own_tensors

NeuralConfig = FeedForwardConfig | RecurrentConfig | TransformerLanguageConfig
"""The settings of a neural model of what comes next."""

LanguageModelConfig = Annotated[
    NGramConfig | NeuralConfig | MaskedConfig, Field(discriminator="kind")
]
"""The settings of any language model, told apart by ``kind``."""

AnyLanguageModel = LanguageModel[Any] | MaskedLanguageModel
"""A model of what comes next, or of what is missing."""


def build_neural(config: NeuralConfig, words: int) -> NeuralLanguageModel[Any]:
    """Return a freshly initialised model; torch's generator decides its weights."""
    if isinstance(config, FeedForwardConfig):
        return FeedForwardLanguageModel(config, words)
    if isinstance(config, RecurrentConfig):
        return Recurrent(config, words)
    return TransformerLanguageModel(config, words)


def build_trained(
    config: NeuralConfig | MaskedConfig, words: int
) -> NeuralLanguageModel[Any] | MaskedLanguageModel:
    """Return a freshly initialised model of any kind but those that count."""
    if isinstance(config, MaskedConfig):
        return MaskedLanguageModel(config, words)
    return build_neural(config, words)


def restore_language_model(
    config: NGramConfig | NeuralConfig | MaskedConfig, words: int, tensors: Mapping[str, Tensor]
) -> AnyLanguageModel:
    """Return a model as it was saved, in evaluation mode.

    Raises:
        BundleError: if the tensors are not those of such a model.
    """
    try:
        if isinstance(config, NGramConfig):
            return NGram.load(config, words, tensors).eval()
    except (KeyError, RuntimeError) as error:
        raise BundleError(f"the tensors do not fit the settings of the model: {error}") from None
    build = partial(build_trained, config, words)
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    if wrong := compare_shapes(build, shapes):
        raise BundleError(f"the tensors do not fit the settings of the model: {wrong}")
    model = build()
    load_own_tensors(model, tensors)
    return model.eval()


__all__ = [
    "AnyLanguageModel",
    "FeedForwardConfig",
    "FeedForwardLanguageModel",
    "LanguageModel",
    "LanguageModelConfig",
    "MaskedConfig",
    "MaskedLanguageModel",
    "NGram",
    "NGramConfig",
    "NeuralConfig",
    "NeuralLanguageModel",
    "Recurrent",
    "RecurrentConfig",
    "TransformerLanguageConfig",
    "TransformerLanguageModel",
    "build_neural",
    "build_trained",
    "restore_language_model",
]

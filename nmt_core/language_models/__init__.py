"""Language models: how likely is a text, and what comes next? Each kind a file and a line here."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field
from torch import Tensor

from nmt_core.errors import BundleError
from nmt_core.language_models.feed_forward import FeedForwardConfig, FeedForwardLanguageModel
from nmt_core.language_models.model import LanguageModel, NeuralLanguageModel
from nmt_core.language_models.ngram import NGram, NGramConfig
from nmt_core.language_models.recurrent import Recurrent, RecurrentConfig
from nmt_core.models.weights import compare_shapes, load_own_tensors

LanguageModelConfig = Annotated[
    NGramConfig | FeedForwardConfig | RecurrentConfig, Field(discriminator="kind")
]
"""The settings of any language model, told apart by ``kind``."""


def build_neural(
    config: FeedForwardConfig | RecurrentConfig, words: int
) -> NeuralLanguageModel[Any]:
    """Return a freshly initialised model; torch's generator decides its weights."""
    if isinstance(config, FeedForwardConfig):
        return FeedForwardLanguageModel(config, words)
    return Recurrent(config, words)


def restore_language_model(
    config: NGramConfig | FeedForwardConfig | RecurrentConfig,
    words: int,
    tensors: Mapping[str, Tensor],
) -> LanguageModel[Any]:
    """Return a model as it was saved, in evaluation mode.

    Raises:
        BundleError: if the tensors are not those of such a model.
    """
    try:
        if isinstance(config, NGramConfig):
            return NGram.load(config, words, tensors).eval()
    except (KeyError, RuntimeError) as error:
        raise BundleError(f"the tensors do not fit the settings of the model: {error}") from None
    build = partial(build_neural, config, words)
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    if wrong := compare_shapes(build, shapes):
        raise BundleError(f"the tensors do not fit the settings of the model: {wrong}")
    model = build()
    load_own_tensors(model, tensors)
    return model.eval()


__all__ = [
    "FeedForward",
    "FeedForwardConfig",
    "LanguageModel",
    "LanguageModelConfig",
    "NGram",
    "NGramConfig",
    "NeuralLanguageModel",
    "Recurrent",
    "RecurrentConfig",
    "build_neural",
    "restore",
]

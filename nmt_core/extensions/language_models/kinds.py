"""The kinds of language models: their settings, and the model of each."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field
from torch import Tensor

from nmt_core.extensions.language_models.model import LanguageModel
from nmt_core.extensions.language_models.neural import (
    FeedForwardConfig,
    FeedForwardLanguageModel,
    Recurrent,
    RecurrentConfig,
)
from nmt_core.extensions.language_models.ngram import NGram, NGramConfig
from nmt_core.extensions.language_models.transformer import (
    MaskedConfig,
    MaskedLanguageModel,
    TransformerLanguageConfig,
    TransformerLanguageModel,
)
from nmt_core.extensions.sealed import restore_model

LanguageModelConfig = Annotated[
    NGramConfig | FeedForwardConfig | RecurrentConfig | TransformerLanguageConfig | MaskedConfig,
    Field(discriminator="kind"),
]

NEURAL_MODELS: dict[type, Any] = {
    FeedForwardConfig: FeedForwardLanguageModel,
    RecurrentConfig: Recurrent,
    TransformerLanguageConfig: TransformerLanguageModel,
    MaskedConfig: MaskedLanguageModel,
}

AnyLanguageModel = LanguageModel[Any] | MaskedLanguageModel


def build_language_model(config: LanguageModelConfig, words: int) -> Any:
    """Return a neural model with random weights, drawn by torch's generator."""
    return NEURAL_MODELS[type(config)](config, words)


def restore_language_model(
    config: LanguageModelConfig, words: int, tensors: Mapping[str, Tensor]
) -> AnyLanguageModel:
    """Return a model as it was saved, in evaluation mode.

    Raises:
        BundleError: if the tensors do not fit the settings.
    """
    if isinstance(config, NGramConfig):
        return NGram.restore(config, words, tensors).eval()
    return restore_model(partial(build_language_model, config, words), tensors)

"""The feed-forward neural language model (Bengio et al. 2003).

The vectors of the last N - 1 tokens side by side, a hidden layer that combines them, a softmax.
"""

from typing import ClassVar, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.extensions.language_models.model import (
    LanguageModelSettings,
    NeuralLanguageModel,
    Window,
    empty_window,
    slide,
)
from nmt_core.models.dropout import dropout
from nmt_core.models.embedding import embedding_table


class FeedForwardConfig(LanguageModelSettings):
    """A feed-forward language model."""

    builds: ClassVar = "nmt_core.extensions.language_models.feed_forward:FeedForwardLanguageModel"

    kind: Literal["feed_forward"] = "feed_forward"
    order: int = Field(5, ge=2, le=1000)
    """Tokens of an n-gram, N: the context and the token after it."""
    embedding_width: int = Field(128, ge=1, le=65_536)
    """Features of a token."""
    width: int = Field(512, ge=1, le=65_536)
    """Features of the hidden layer."""
    dropout: float = Field(0.2, ge=0, le=0.99)
    """Probability of dropping a feature before and after the hidden layer."""


class FeedForwardLanguageModel(NeuralLanguageModel[Window]):
    """Looks at the last N - 1 tokens.

    Args:
        config: the shape.
        words: vocabulary, in tokens, V.
    """

    def __init__(self, config: FeedForwardConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = embedding_table(words, config.embedding_width)
        self.combine = nn.Linear((config.order - 1) * config.embedding_width, config.width)
        self.output = nn.Linear(config.width, words)
        self.scale = config.embedding_width**0.5

    @override
    def start(self, rows: int) -> Window:
        return empty_window(rows, self.config.order, self.device)

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], state: Window
    ) -> tuple[Float[Tensor, "R T D"], Window]:
        windows, state = slide(tokens, state)
        context = self._drop(self.embedding(windows).flatten(2) * self.scale)
        return self._drop(torch.tanh(self.combine(context))), state

    @override
    def project(self, hidden: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        return self.output(hidden)

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout, training=self.training)

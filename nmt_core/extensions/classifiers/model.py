"""Classifiers of texts: recurrent, and by the layers of a masked language model.

Letters: B texts, S tokens, D features, C classes, V numbers of tokens.
"""

from collections.abc import Collection

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.base.errors import ConfigError
from nmt_core.extensions.classifiers.settings import (
    ClassifierConfig,
    EncoderClassifierConfig,
    Pool,
)
from nmt_core.extensions.language_models.transformer import (
    MaskedConfig,
    MaskedLanguageModel,
    TransformerEncoder,
)
from nmt_core.models.dropout import dropout
from nmt_core.models.embedding import embedding_table, pretrained_table
from nmt_core.models.recurrence import RecurrentLayer
from nmt_core.models.settings import EncoderConfig
from nmt_core.text.vocabulary import PAD
from nmt_core.training.initial import FREE


class Classifier(nn.Module):
    """Reads the embeddings of words by GRU layers (Géron, chapter 16, Sentiment Analysis).

    Layers read from left to right and padding is at the end, so no pooled position depends on it.
    Packed sequences would take three times as long on a CPU.
    """

    def __init__(
        self,
        config: ClassifierConfig,
        words: int,
        classes: int,
        vectors: Float[Tensor, "V D"] | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.embedding = (
            embedding_table(words, config.embedding_width)
            if vectors is None
            else pretrained_table(vectors, frozen=config.frozen)
        )
        self.scale = config.embedding_width**0.5
        widths = [config.embedding_width, *[config.width] * (config.layers - 1)]
        self.layers = nn.ModuleList(RecurrentLayer("gru", width, config.width) for width in widths)
        self.output = nn.Linear(config.width, classes)

    @override
    def forward(self, tokens: Int[Tensor, "B S"]) -> Float[Tensor, "B C"]:
        """Return the logits of every class, in float32."""
        padding = tokens == PAD
        x = self._drop(self.embedding(tokens) * self.scale, self.config.embedding_dropout)
        nothing = self.output.weight.new_zeros(len(tokens), self.config.width)
        for number, layer in enumerate(self.layers):
            if number:
                x = self._drop(x, self.config.dropout)
            x, _ = layer(x, (nothing,))
        pooled = pool(x, padding, self.config.pool)
        return self.output(self._drop(pooled, self.config.dropout)).float()

    def _drop(self, x: Tensor, probability: float) -> Tensor:
        return dropout(x, probability, training=self.training)


class EncoderClassifier(nn.Module):
    """Reads a text by Transformer layers (Devlin et al. 2019, section 3.2)."""

    def __init__(self, config: EncoderClassifierConfig, words: int, classes: int) -> None:
        super().__init__()
        self.config = config
        self.encoder = TransformerEncoder(config.encoder, words)
        self.output = nn.Linear(config.encoder.width, classes)

    @property
    def embedding(self) -> nn.Embedding:
        """A row for every token."""
        return self.encoder.embedding.table

    @override
    def forward(self, tokens: Int[Tensor, "B S"]) -> Float[Tensor, "B C"]:
        """Return the logits of every class, in float32."""
        padding = tokens == PAD
        pooled = pool(self.encoder(tokens, padding), padding, self.config.pool)
        return self.output(dropout(pooled, self.config.dropout, training=self.training)).float()


def describe_encoder(initial: MaskedConfig) -> EncoderConfig:
    """Return the shape of a language model's layers."""
    return EncoderConfig(**initial.model_dump(exclude={"kind"}))


def start_from_language_model(
    initial: MaskedLanguageModel, classifier: EncoderClassifier, parts: Collection[str]
) -> None:
    """Copy ``embeddings``, ``layers`` or both of a language model of the same tokens.

    Raises:
        ConfigError: if the two are of different shapes.
    """
    old = describe_encoder(initial.config).model_dump(exclude={*FREE})
    new = classifier.config.encoder.model_dump()
    if differing := [f"model.encoder.{name}={old[name]}" for name in old if old[name] != new[name]]:
        raise ConfigError(
            f"the classifier has another shape than its language model; set {' '.join(differing)}"
        )
    weights = initial.encoder.state_dict()
    with torch.no_grad():
        for name, weight in classifier.encoder.state_dict(keep_vars=True).items():
            if ("embeddings" if name.startswith("embedding.") else "layers") in parts:
                weight.copy_(weights[name])


def pool(
    x: Float[Tensor, "B S D"], padding: Bool[Tensor, "B S"], kind: Pool
) -> Float[Tensor, "B D"]:
    """Return one value per feature over all positions except padding."""
    lengths = (~padding).sum(dim=1)
    match kind:
        case "max":
            return x.masked_fill(padding[..., None], -torch.inf).amax(dim=1)
        case "mean":
            return x.masked_fill(padding[..., None], 0).sum(dim=1) / lengths[:, None]
        case "last":
            return x[torch.arange(len(x), device=x.device), lengths - 1]

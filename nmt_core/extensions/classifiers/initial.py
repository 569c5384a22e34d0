"""Classifiers that start from a masked language model (Devlin et al. 2019, section 3.2).

They read texts in its tokens, from BOS to EOS, by its layers. What of its weights is not taken is
drawn by chance, so that a classifier of the same shape tells what was gained.
"""

from collections.abc import Collection
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.base.errors import ConfigError
from nmt_core.extensions.classifiers.model import pool
from nmt_core.extensions.classifiers.settings import EncoderClassifierConfig
from nmt_core.extensions.language_models import MaskedConfig, MaskedLanguageModel
from nmt_core.extensions.language_models.encoder import TransformerEncoder
from nmt_core.extensions.language_models.units import Units
from nmt_core.models.dropout import dropout
from nmt_core.models.settings import EncoderConfig
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import BOS, EOS, PAD, Vocabulary
from nmt_core.training.initial import FREE


@dataclass(frozen=True)
class InitialTokens:
    """Texts as a language model reads them."""

    units: Units
    context: int
    """Tokens of a text that are read, with BOS and EOS; of a longer one its end."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The language model's."""
        return self.units.vocabulary

    @property
    def size(self) -> int:
        """Numbers there are, that of the mask included."""
        return len(self.vocabulary) + 1

    def split(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        return Side(self.units.tokenizer, self.vocabulary).tokens(text)

    def number(self, token: str) -> int:
        """Return the number of a token."""
        return self.vocabulary.encode([token])[0]

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's last tokens, between BOS and EOS."""
        return [BOS, *self.units.encode_part(text)[2 - self.context :], EOS]


class EncoderClassifier(nn.Module):
    """Reads a text by Transformer layers, and tells how likely each class is.

    Args:
        config: the shape.
        words: numbers of tokens, V.
        classes: labels to tell apart, C.
    """

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
    """Give a classifier weights of a masked language model of the same tokens, in place.

    Args:
        initial: the language model.
        classifier: freshly initialised.
        parts: to take, of ``embeddings`` and ``layers``; the others stay as they are.

    Raises:
        ConfigError: if the two are of different shapes.
    """
    old = describe_encoder(initial.config).model_dump(exclude={*FREE})
    new = classifier.config.encoder.model_dump()
    if differing := [f"model.encoder.{name}={old[name]}" for name in old if old[name] != new[name]]:
        raise ConfigError(
            f"the classifier has another shape than the language model that it starts from; set "
            f"{' '.join(differing)}"
        )
    weights = initial.encoder.state_dict()
    with torch.no_grad():
        for name, weight in classifier.encoder.state_dict(keep_vars=True).items():
            if ("embeddings" if name.startswith("embedding.") else "layers") in parts:
                weight.copy_(weights[name])

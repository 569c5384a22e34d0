"""A recurrent classifier (Géron, chapter 16, Sentiment Analysis), and one by the mean of words.

Letters: B texts, S tokens, D features, C classes, V numbers of words.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.extensions.classifiers.settings import BagConfig, ClassifierConfig, Pool
from nmt_core.models.dropout import dropout
from nmt_core.models.embedding import embedding_table, pretrained_table
from nmt_core.models.recurrence import RecurrentLayer
from nmt_core.text.vocabulary import PAD


def make_table(
    words: int, width: int, vectors: Float[Tensor, "V D"] | None, *, frozen: bool = False
) -> nn.Embedding:
    """Return embeddings, (V, D), that begin with vectors, or by chance where there are none."""
    if vectors is None:
        return embedding_table(words, width)
    return pretrained_table(vectors, frozen=frozen)


class Classifier(nn.Module):
    """Embeds words, reads them by gated recurrent layers, and tells how likely each class is.

    Layers read from left to right, and padding stands at the end: what is pooled never saw it.
    Sequences are not packed, for that takes three times as long on a processor.

    Args:
        config: the shape.
        words: numbers of words, V.
        classes: labels to tell apart, C.
        vectors: embeddings to start from, (V, D); by default chance.
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
        self.embedding = make_table(words, config.embedding_width, vectors, frozen=config.frozen)
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


class BagClassifier(nn.Module):
    """Judges a text by the mean of the embeddings of its words, and of words in a row.

    It is fastText's classifier (Joulin et al. 2016, *Bag of Tricks for Efficient Text
    Classification*): linear, but for what words share through their embeddings.

    Args:
        config: the shape.
        words: numbers of words, and of words in a row, V.
        classes: labels to tell apart, C.
        vectors: embeddings to start from, (V, D); by default chance.
    """

    def __init__(
        self,
        config: BagConfig,
        words: int,
        classes: int,
        vectors: Float[Tensor, "V D"] | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.embedding = make_table(words, config.embedding_width, vectors)
        self.scale = config.embedding_width**0.5
        self.output = nn.Linear(config.embedding_width, classes)

    @override
    def forward(self, tokens: Int[Tensor, "B S"]) -> Float[Tensor, "B C"]:
        """Return the logits of every class, in float32."""
        mean = F.embedding_bag(tokens, self.embedding.weight, mode="mean", padding_idx=PAD)
        judged = dropout(mean * self.scale, self.config.dropout, training=self.training)
        return self.output(judged).float()


def build_word_classifier(
    config: ClassifierConfig | BagConfig,
    words: int,
    classes: int,
    vectors: Float[Tensor, "V D"] | None = None,
) -> Classifier | BagClassifier:
    """Return the classifier of words that is configured; see there."""
    if isinstance(config, BagConfig):
        return BagClassifier(config, words, classes, vectors)
    return Classifier(config, words, classes, vectors)


def pool(
    x: Float[Tensor, "B S D"], padding: Bool[Tensor, "B S"], kind: Pool
) -> Float[Tensor, "B D"]:
    """Return the features of a text."""
    pools = {"max": pool_largest, "mean": pool_mean, "last": pool_last}
    return pools[kind](x, padding)


def pool_largest(x: Float[Tensor, "B S D"], padding: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """Return the largest value of every feature over all positions but padding."""
    return x.masked_fill(padding[..., None], -torch.inf).amax(dim=1)


def pool_mean(x: Float[Tensor, "B S D"], padding: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """Return the mean of every feature over all positions but padding."""
    lengths = (~padding).sum(dim=1, keepdim=True)
    return x.masked_fill(padding[..., None], 0).sum(dim=1) / lengths


def pool_last(x: Float[Tensor, "B S D"], padding: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """Return the features at the last position that is no padding."""
    last = (~padding).sum(dim=1) - 1
    return x[torch.arange(len(x), device=x.device), last]

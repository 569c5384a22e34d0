"""The Transformer (Vaswani et al. 2017), as published, pre-norm, and as in van der Goten 2018.

The default normalises before each sub-layer (Xiong et al. 2020) and ties the embeddings of both
languages and the output (Press and Wolf 2017), for which they must share a vocabulary. That of
van der Goten 2018 (``norm="article"``) normalises a layer's input and the sum after every residual.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.models.attention import KeyValue, MultiHeadAttention
from nmt_core.models.dropout import dropout
from nmt_core.models.embedding import (
    OutputLayer,
    embedding,
    tie,
    word_table,
)
from nmt_core.models.seq2seq import Memory, Pretrained, Seq2Seq, State
from nmt_core.models.settings import TransformerConfig

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "leaky_relu": F.leaky_relu,
}


@dataclass(frozen=True)
class TransformerMemory(Memory):
    """The encoded source as every decoder layer sees it."""

    layers: tuple[KeyValue, ...]  # per decoder layer, keys and values, (B, H, S, d) each
    blocked: Tensor  # (B, 1, 1, S), True at padding


@dataclass(frozen=True)
class TransformerState(State):
    """Keys and values of the target so far."""

    layers: tuple[KeyValue, ...]  # per decoder layer, (R, H, t, d) each; empty at the start
    position: int


class Sublayer(nn.Module):
    """A residual connection with its normalisation and dropout.

    The one place where the three meet: ``after(x + dropout(block(before(x))))``.
    """

    def __init__(self, config: TransformerConfig, *, first: bool = False) -> None:
        super().__init__()
        before = config.norm == "pre" or (config.norm == "article" and first)
        self.before = build_layer_norm(config) if before else nn.Identity()
        self.after = nn.Identity() if config.norm == "pre" else build_layer_norm(config)
        self.drop = config.dropout
        self.variational = config.variational_dropout

    def forward(self, x: Tensor, block: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``x`` with what ``block`` adds to it."""
        return self.add(x, block(self.before(x)))

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``x`` with what a block made of it normalised: the second half of the above."""
        y = dropout(y, self.drop, training=self.training, variational=self.variational)
        return self.after(x + y)


class FeedForward(nn.Module):
    """Two dense layers, the same at every position (section 3.3)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.width, config.feed_forward_width)
        self.outer = nn.Linear(config.feed_forward_width, config.width)
        self.activation = config.activation
        self.activate_output = config.activate_output
        self.drop = config.dropout
        self.variational = config.variational_dropout

    def forward(self, x: Float[Tensor, "R T D"]) -> Float[Tensor, "R T D"]:
        """Transform every position by itself."""
        activate = ACTIVATIONS[self.activation]
        x = activate(self.inner(x))
        x = dropout(x, self.drop, training=self.training, variational=self.variational)
        x = self.outer(x)
        return activate(x) if self.activate_output else x


class EncoderLayer(nn.Module):
    """Self-attention, then a dense block."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = build_attention(config)
        self.feed_forward = FeedForward(config)
        self.attend = Sublayer(config, first=True)
        self.transform = Sublayer(config)

    def forward(self, x: Tensor, blocked: Tensor) -> Tensor:
        """Read (B, S, D); ``blocked`` is (B, 1, 1, S)."""
        x = self.attend(x, lambda y: self.attention(y, self.attention.project(y), blocked))
        return self.transform(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the source, then a dense block."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = build_attention(config)
        self.cross_attention = build_attention(config)
        self.feed_forward = FeedForward(config)
        self.attend_self = Sublayer(config, first=True)
        self.attend_source = Sublayer(config)
        self.transform = Sublayer(config)

    def forward(
        self, x: Tensor, source: KeyValue, blocked: Tensor, past: KeyValue | None
    ) -> tuple[Tensor, KeyValue]:
        """Read (R, T, D) after ``past``; return the same shape and the past with it."""
        x, present = self.look_back(x, past)
        x = self.attend_source(x, lambda y: self.cross_attention(y, source, blocked))
        return self.transform(x, self.feed_forward), present

    def look_back(self, x: Tensor, past: KeyValue | None) -> tuple[Tensor, KeyValue]:
        """Attend to the target so far; the first half of :meth:`forward`."""
        y = self.attend_self.before(x)
        keys, values = self.self_attention.project(y)
        if past is not None:
            keys = torch.cat([past[0], keys], dim=2)
            values = torch.cat([past[1], values], dim=2)
        future = make_causal_mask(y.size(1), keys.size(2), y.device)
        y = self.self_attention(y, (keys, values), future)
        return self.attend_self.add(x, y), (keys, values)


class Transformer(Seq2Seq[TransformerMemory, TransformerState]):
    """Attention is all you need.

    Args:
        config: the shape.
        source_size: source vocabulary, in tokens.
        target_size: target vocabulary, in tokens, V.
        pretrained: vectors to start from, per side.

    Raises:
        ValueError: if ``tie="all"`` meets vocabularies of two sizes or pretrained vectors.
    """

    def __init__(
        self,
        config: TransformerConfig,
        *,
        source_size: int,
        target_size: int,
        pretrained: Pretrained | None = None,
    ) -> None:
        super().__init__()
        scale = config.width**0.5 if config.scale_embeddings else 1.0
        source = word_table(config, source_size, pretrained, "source")
        self.source_embedding = embedding(config, source, scale=scale)
        target = word_table(config, target_size, pretrained, "target")
        self.target_embedding = embedding(config, target, scale=scale)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.encoder_norm = build_layer_norm(config) if config.norm == "pre" else nn.Identity()
        self.decoder_norm = build_layer_norm(config) if config.norm == "pre" else nn.Identity()
        self.output = OutputLayer(config, target_size)
        self.drop = config.dropout
        self.variational = config.variational_dropout
        for module in [*self.encoder.modules(), *self.decoder.modules(), self.output]:
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        tie(config, source, target, self.output)

    @override
    def encode(
        self, source: Int[Tensor, "B S"], source_padding: Bool[Tensor, "B S"]
    ) -> TransformerMemory:
        blocked = source_padding[:, None, None]
        x = self._drop(self.source_embedding(source))
        for layer in self.encoder:
            x = layer(x, blocked)
        memory = self.encoder_norm(x)
        layers = tuple(layer.cross_attention.project(memory) for layer in self._decoder())
        return TransformerMemory(layers, blocked)

    @override
    def start(self, memory: TransformerMemory, beam_size: int = 1) -> TransformerState:
        return TransformerState((), position=0)

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], memory: TransformerMemory, state: TransformerState
    ) -> tuple[Float[Tensor, "R T D"], TransformerState]:
        x = self._drop(self.target_embedding(tokens, state.position))
        past = state.layers or (None,) * len(self.decoder)
        present = []
        for layer, source, layer_past in zip(self.decoder, memory.layers, past, strict=True):
            x, layer_present = layer(x, source, memory.blocked, layer_past)
            present.append(layer_present)
        return self.decoder_norm(x), TransformerState(
            tuple(present), state.position + tokens.size(1)
        )

    @override
    def project(
        self, hidden: Float[Tensor, "*N D"], tokens: Int[Tensor, " M"] | None = None
    ) -> Tensor:
        return self.output(hidden, tokens)

    @override
    def attention(
        self, tokens: Int[Tensor, "B T"], memory: TransformerMemory
    ) -> Float[Tensor, "B T S"]:
        """See the contract; the last decoder layer but one aligns best, where there are two."""
        x = self._drop(self.target_embedding(tokens))
        aligning = max(0, len(self.decoder) - 2)
        layers = list(zip(self._decoder(), memory.layers, strict=True))
        for layer, source in layers[:aligning]:
            x, _ = layer(x, source, memory.blocked, None)
        layer, source = layers[aligning]
        x, _ = layer.look_back(x, None)
        return layer.cross_attention.weights(layer.attend_source.before(x), source, memory.blocked)

    def _decoder(self) -> list[DecoderLayer]:
        return cast("list[DecoderLayer]", list(self.decoder))

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.drop, training=self.training, variational=self.variational)


def build_attention(config: TransformerConfig) -> MultiHeadAttention:
    """Return an attention block of the configured shape."""
    return MultiHeadAttention(
        config.width,
        config.heads,
        config.head_width or config.width // config.heads,
        bias=config.projection_bias,
        drop=config.attention_dropout,
    )


def build_layer_norm(config: TransformerConfig) -> nn.LayerNorm:
    """Return a normalisation over features, with or without a trained scale."""
    norm = nn.LayerNorm(config.width)
    norm.weight.requires_grad_(config.norm_scale)
    return norm


def make_causal_mask(
    queries: int, keys: int, device: torch.device
) -> Bool[Tensor, "1 1 Q S"] | None:
    """Block each of the last ``queries`` positions from the keys after it."""
    if queries == 1:
        return None
    block = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return block.triu(diagonal=keys - queries + 1)[None, None]

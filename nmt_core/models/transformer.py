"""The Transformer (Vaswani et al. 2017): as published, pre-norm, and as in van der Goten 2018.

The default normalises before each sub-layer (Xiong et al. 2020), and ties both embeddings and the
output layer (Press and Wolf 2017), which requires a joint vocabulary. The variant of van der Goten
2018 (``norm="article"``) normalises a layer's input and the sum after every residual.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.models.attention import (
    Cache,
    KeyValue,
    MultiHeadAttention,
    Rotation,
    TransformerMemory,
    TransformerState,
    compute_rotation,
)
from nmt_core.models.embedding import Embedding, OutputLayer, build_word_embedding, tie
from nmt_core.models.layers import Dense, Dropout
from nmt_core.models.seq2seq import Pretrained, Seq2Seq
from nmt_core.models.settings import TransformerConfig


class _Sublayer(nn.Module):
    """A residual connection with normalisation and dropout.

    The output is ``after(x + dropout(block(before(x))))``.
    """

    def __init__(
        self, config: TransformerConfig, *, first: bool = False, dense: bool = False
    ) -> None:
        super().__init__()
        before = config.norm == "pre" or (config.norm == "article" and first)
        self.before = build_layer_norm(config) if before else nn.Identity()
        self.after = nn.Identity() if config.norm == "pre" else build_layer_norm(config)
        whole_batch = dense and config.dense_dropout_masks == "batch"
        self.drop = Dropout(
            config.dropout, variational=config.variational_dropout, whole_batch=whole_batch
        )

    def forward(self, x: Tensor, block: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the output for input ``x``."""
        return self.add(x, block(self.before(x)))

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the normalised sum of ``x`` and a block's output ``y``, after dropout of ``y``."""
        return self.after(x + self.drop(y))


class _FeedForward(nn.Module):
    """Two dense layers, the same at every position (section 3.3)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.inner = Dense(config.width, config.feed_forward_width)
        self.outer = Dense(config.feed_forward_width, config.width)
        leaky = partial(F.leaky_relu, negative_slope=config.negative_slope)
        activations: Mapping[str, Callable[[Tensor], Tensor]]
        activations = {"relu": F.relu, "gelu": F.gelu, "leaky_relu": leaky}
        self.activate = activations[config.activation]
        self.activate_output = config.activate_output
        whole_batch = config.dense_dropout_masks == "batch"
        self.drop = Dropout(
            config.dropout, variational=config.variational_dropout, whole_batch=whole_batch
        )

    def forward(self, x: Float[Tensor, "R T D"]) -> Float[Tensor, "R T D"]:
        """Return the features of every position, computed independently."""
        x = self.outer(self.drop(self.activate(self.inner(x))))
        return self.activate(x) if self.activate_output else x


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward block."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = build_attention(config)
        self.feed_forward = _FeedForward(config)
        self.attend = _Sublayer(config, first=True)
        self.transform = _Sublayer(config, dense=True)

    def forward(self, x: Tensor, blocked: Tensor, rotation: Rotation | None) -> Tensor:
        """Return (B, S, D) for ``x`` of the same shape; ``blocked`` is (B, 1, 1, S)."""
        y = self.attend.before(x)
        key_value = self.attention.project(y, rotation)
        x = self.attend.add(x, self.attention(y, key_value, blocked, rotation=rotation))
        return self.transform(x, self.feed_forward)

    def extend(
        self,
        x: Float[Tensor, "R T D"],
        past: KeyValue,
        blocked: Bool[Tensor, "1 1 T P"] | None,
        rotation: Rotation | None,
    ) -> tuple[Float[Tensor, "R T D"], KeyValue]:
        """Read tokens after ``past``; return features, and P keys and values, past included."""
        y = self.attend.before(x)
        pairs = zip(past, self.attention.project(y, rotation), strict=True)
        keys, values = (torch.cat(pair, dim=2) for pair in pairs)
        y = self.attention(y, (keys, values), blocked, rotation=rotation)
        x = self.attend.add(x, y)
        return self.transform(x, self.feed_forward), (keys, values)


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the source, then a feed-forward block."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = build_attention(config)
        self.cross_attention = build_attention(config)
        self.feed_forward = _FeedForward(config)
        self.attend_self = _Sublayer(config, first=True)
        self.attend_source = _Sublayer(config)
        self.transform = _Sublayer(config, dense=True)

    def forward(
        self, x: Tensor, source: KeyValue, blocked: Tensor, rotation: Rotation | None
    ) -> tuple[Tensor, KeyValue]:
        """Read the whole target, (B, T, D); return features, and its keys and values."""
        x, key_value = self.attend_to_target(x, rotation)
        y = self.cross_attention(self.attend_source.before(x), source, blocked)
        return self.transform(self.attend_source.add(x, y), self.feed_forward), key_value

    def attend_to_target(self, x: Tensor, rotation: Rotation | None) -> tuple[Tensor, KeyValue]:
        """Return self-attention over the target, and its keys and values."""
        y = self.attend_self.before(x)
        key_value = self.self_attention.project(y, rotation)
        y = self.self_attention(y, key_value, causal=True, rotation=rotation)
        return self.attend_self.add(x, y), key_value

    def step(
        self,
        x: Float[Tensor, "B M D"],
        source: KeyValue,
        source_mask: Tensor,
        past: Cache,
        end: int,
        mask: Float[Tensor, "B 1 M end+M"] | None,
        rotation: Rotation | None,
    ) -> tuple[Float[Tensor, "B M D"], Cache]:
        """Read tokens after the first ``end`` positions of ``past``; return features and cache."""
        y = self.attend_self.before(x)
        query, (keys, values) = self.self_attention.project_queries_keys_values(y, rotation)
        cache = past.extended(end, keys, values)
        present = cache.first(end + keys.size(2))
        x = self.attend_self.add(x, self.self_attention.attend_projected(query, present, mask))
        query = self.cross_attention.project_queries(self.attend_source.before(x))
        y = self.cross_attention.attend_projected(query, source, source_mask)
        return self.transform(self.attend_source.add(x, y), self.feed_forward), cache


class Transformer(Seq2Seq[TransformerMemory, TransformerState]):
    """The Transformer of "Attention is all you need".

    Raises:
        ValueError: if ``tie`` does not allow vocabularies of different sizes or pretrained vectors.
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
        self.source_start = config.source_start
        self.rotary_width = config.rotary_width
        source = build_word_embedding(config, source_size, pretrained, "source")
        self.source_embedding = Embedding(config, source, scale=scale)
        target = build_word_embedding(config, target_size, pretrained, "target")
        self.target_embedding = Embedding(config, target, scale=scale)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.decoder = cast("Sequence[DecoderLayer]", layers)
        self.encoder_norm = build_layer_norm(config) if config.norm == "pre" else nn.Identity()
        self.decoder_norm = build_layer_norm(config) if config.norm == "pre" else nn.Identity()
        self.output = OutputLayer(config, target_size)
        drop = config.dropout if config.embedding_dropout is None else config.embedding_dropout
        self.drop = Dropout(drop, variational=config.variational_dropout)
        for module in [*self.encoder.modules(), *layers.modules(), self.output]:
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        tie(config, source, target, self.output)

    @override
    def encode(
        self, source: Int[Tensor, "B S"], source_padding: Bool[Tensor, "B S"]
    ) -> TransformerMemory:
        source, source_padding = self.prepend_source_start(source, source_padding)
        blocked = source_padding[:, None, None]
        x = self.drop(self.source_embedding(source))
        rotation = compute_rotation(x, self.rotary_width)
        for layer in self.encoder:
            x = layer(x, blocked, rotation)
        memory = self.encoder_norm(x)
        layers = tuple(layer.cross_attention.project(memory) for layer in self.decoder)
        mask = torch.zeros(blocked.shape, dtype=x.dtype, device=x.device)
        return TransformerMemory(layers, blocked, mask.masked_fill_(blocked, -torch.inf))

    @override
    def start(self, memory: TransformerMemory, beam_size: int = 1) -> TransformerState:
        empty = tuple(Cache(keys[:, :, :0], values[:, :, :0], 0) for keys, values in memory.layers)
        return TransformerState(empty, None, end=0, position=0)

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], memory: TransformerMemory, state: TransformerState
    ) -> tuple[Float[Tensor, "R T D"], TransformerState]:
        x = self.drop(self.target_embedding(tokens, state.position))
        length = tokens.size(1)
        whole = state.position == 0 and len(tokens) == len(memory.blocked) and length > 1
        x, after = self._read_whole(x, memory) if whole else self._read_next(x, memory, state)
        return self.decoder_norm(x), replace(after, position=state.position + length)

    def _read_whole(
        self, x: Float[Tensor, "B T D"], memory: TransformerMemory
    ) -> tuple[Tensor, TransformerState]:
        """Read whole targets, one hypothesis per sentence."""
        caches = []
        rotation = compute_rotation(x, self.rotary_width)
        for layer, source in zip(self.decoder, memory.layers, strict=True):
            x, (keys, values) = layer(x, source, memory.blocked, rotation)
            caches.append(Cache(keys, values, x.size(1)))
        return x, TransformerState(tuple(caches), None, x.size(1), 0)

    def _read_next(
        self, x: Float[Tensor, "R T D"], memory: TransformerMemory, state: TransformerState
    ) -> tuple[Tensor, TransformerState]:
        """Read the next tokens, with all hypotheses of a sentence in one row."""
        rows, length, width = x.shape
        sentences = memory.blocked.size(0)
        together = x.view(sentences, -1, length, width).transpose(1, 2)  # (B, T, K, D)
        hypotheses = together.size(2)
        mask = build_ancestor_mask(state, x, hypotheses)
        rotation = compute_rotation(x, self.rotary_width, state.position, hypotheses)
        x = together.reshape(sentences, -1, width)
        caches: list[Cache] = []
        for layer, source, cache in zip(self.decoder, memory.layers, state.layers, strict=True):
            x, after = layer.step(x, source, memory.mask, cache, state.end, mask, rotation)
            caches.append(after)
        if mask is not None:
            mask = mask[:, :, -hypotheses:]  # the last position's
        x = x.view(together.shape).transpose(1, 2).reshape(rows, length, width)
        return x, TransformerState(tuple(caches), mask, state.end + length * hypotheses, position=0)

    @override
    def attention(
        self, tokens: Int[Tensor, "B T"], memory: TransformerMemory
    ) -> Float[Tensor, "B T S"]:
        """Return the attention of the penultimate decoder layer, which aligns best."""
        x = self.drop(self.target_embedding(tokens))
        rotation = compute_rotation(x, self.rotary_width)
        for layer, source in zip(self.decoder, memory.layers, strict=True):
            if layer is self.alignment_layer:
                break
            x, _ = layer(x, source, memory.blocked, rotation)
        x, _ = layer.attend_to_target(x, rotation)
        queries = layer.attend_source.before(x)
        weights = layer.cross_attention.weights(queries, source, memory.blocked)
        return self.drop_source_start(weights)

    @property
    def alignment_layer(self) -> DecoderLayer:
        """The decoder layer whose attention is returned."""
        return self.decoder[max(0, len(self.decoder) - 2)]


def build_attention(config: TransformerConfig) -> MultiHeadAttention:
    """Return an attention block with these settings."""
    return MultiHeadAttention(
        config.width,
        config.heads,
        config.features_per_head,
        bias=config.projection_bias,
        output_bias=config.attention_output_bias,
        drop=config.attention_dropout,
    )


def build_layer_norm(config: TransformerConfig) -> nn.LayerNorm:
    """Return a layer normalisation over features, with or without a trained scale."""
    norm = nn.LayerNorm(config.width)
    norm.weight.requires_grad_(config.norm_scale)
    return norm


def build_ancestor_mask(
    state: TransformerState, x: Float[Tensor, "R T D"], hypotheses: int
) -> Float[Tensor, "B 1 M end+M"] | None:
    """Return the mask of the next positions: 0 at their ancestors and themselves, -inf elsewhere.

    The M = T * K positions of a sentence are in the order of writing. Returns None if nothing is
    masked.
    """
    rows, length, _ = x.shape
    if hypotheses == length == 1 and state.mask is None:
        return None
    sentences = rows // hypotheses
    before = x.new_zeros(sentences, 1, hypotheses, state.end) if state.mask is None else state.mask
    position = torch.arange(length * hypotheses, device=x.device)
    back = position[:, None] - position
    own = (back >= 0) & (back % hypotheses == 0)
    new = torch.zeros(own.shape, dtype=x.dtype, device=x.device).masked_fill_(~own, -torch.inf)
    return torch.cat([before.repeat(1, 1, length, 1), new.expand(sentences, 1, -1, -1)], dim=3)

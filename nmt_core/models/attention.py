"""Multi-head dot-product attention (Vaswani et al. 2017, sections 3.2.1 and 3.2.2).

Dimension letters as in ``seq2seq.py``, plus Q for queries and M for the queries of all K hypotheses
of a sentence, which share its keys without copies.
"""

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.models.layers import CachedValue, Dense, Product, build_product, dropout, is_search
from nmt_core.models.seq2seq import Memory, State
from nmt_core.models.settings import ROTARY_BASE

Rotation = tuple[Tensor, Tensor]
"""Rotary positions: cosine and sine, (T, d / 2) each, of the angle of every pair of features.

The product of a rotated query and key depends only on their distance (Su et al. 2021, RoFormer).
"""


def compute_rotation(
    x: Float[Tensor, "R T D"], head_width: int | None, first: int = 0, hypotheses: int = 1
) -> Rotation | None:
    """Return the rotation of positions ``first`` and following; None without a head width.

    The hypotheses of a position follow one another.
    """
    if head_width is None:
        return None
    pairs = torch.arange(head_width // 2, device=x.device)
    positions = torch.arange(first, first + x.size(1), device=x.device)
    positions = positions[:, None].expand(-1, hypotheses).flatten()
    angle = positions[:, None] * torch.exp(pairs * (-2 * math.log(ROTARY_BASE) / head_width))
    return angle.cos(), angle.sin()


KeyValue = tuple[Tensor, Tensor]  # keys and values, each (B, H, S, d)


def masked_softmax(
    scores: Float[Tensor, "*N Q S"], blocked: Bool[Tensor, "*M S"] | None
) -> Float[Tensor, "*N Q S"]:
    """Return the softmax over the positions that are not blocked.

    Blocked positions get the weight 0. A row with only blocked positions is all zeros, and neither
    its output nor its gradient is NaN.
    """
    if blocked is None:
        return scores.softmax(dim=-1)
    floor = torch.finfo(scores.dtype).min
    return scores.masked_fill(blocked, floor).softmax(dim=-1).masked_fill(blocked, 0.0)


def rotate(x: Float[Tensor, "B H T d"], rotation: Rotation | None) -> Float[Tensor, "B H T d"]:
    """Return ``x`` with features ``i`` and ``d / 2 + i`` of every position rotated."""
    if rotation is None:
        return x
    cosine, sine = (part.to(x.dtype) for part in rotation)
    left, right = x.chunk(2, dim=-1)
    return torch.cat([left * cosine - right * sine, right * cosine + left * sine], dim=-1)


def make_causal_mask(length: int, device: torch.device) -> Bool[Tensor, "1 1 T T"] | None:
    """Return a mask that blocks all later positions; None for a single position."""
    if length == 1:
        return None
    block = torch.ones(length, length, dtype=torch.bool, device=device)
    return block.triu(diagonal=1)[None, None]


def is_fused(query: Tensor) -> bool:
    """Return whether to use the fused kernel, which is up to six times slower on a CPU."""
    return query.is_cuda


class MultiHeadAttention(nn.Module):
    """Multi-head attention.

    Keys and values are projected by a separate method, so that a decoder projects the source once
    and attends to it at every step. ``H * d`` can differ from D. ``drop`` is the dropout
    probability of an attention weight.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        head_width: int,
        *,
        bias: bool,
        output_bias: bool = True,
        drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.heads, self.head_width = heads, head_width
        self.drop = drop
        self.query = Dense(width, heads * head_width, bias=bias)
        self.key = Dense(width, heads * head_width, bias=bias)
        self.value = Dense(width, heads * head_width, bias=bias)
        self.output = Dense(heads * head_width, width, bias=output_bias)
        self._stacked = CachedValue(stack)

    def attend(
        self,
        query: Float[Tensor, "B H Q d"],
        key_value: KeyValue,
        blocked: Bool[Tensor, "#B #H #Q S"] | None,
    ) -> tuple[Float[Tensor, "B H Q d"], Float[Tensor, "B H Q S"]]:
        """Return one weighted sum of values per query, and the weights, without fused kernels."""
        keys, values = key_value
        scores = (query * self.head_width**-0.5) @ keys.transpose(-1, -2)
        weights = masked_softmax(scores, blocked)
        return dropout(weights, self.drop, training=self.training) @ values, weights

    def project(self, memory: Float[Tensor, "B S D"], rotation: Rotation | None = None) -> KeyValue:
        """Return the keys and values of every position in ``memory``, (B, H, S, d) each."""
        return rotate(self._split(self.key(memory)), rotation), self._split(self.value(memory))

    def project_queries_keys_values(
        self, x: Float[Tensor, "B M D"], rotation: Rotation | None = None
    ) -> tuple[Tensor, KeyValue]:
        """Return queries, and keys with values, of the same positions, (B, H, M, d) each."""
        layers = (self.query, self.key, self.value)
        if not is_search(self):
            return rotate(self._split(self.query(x)), rotation), self.project(x, rotation)
        weights = [layer.weight for layer in layers]
        if self.query.bias is not None:
            weights += [layer.bias for layer in layers]
        product, bias = self._stacked.get(*weights)
        all_heads = product(x, bias).unflatten(-1, (3 * self.heads, -1))
        query, keys, values = all_heads.transpose(1, 2).chunk(3, dim=1)
        return rotate(query, rotation), (rotate(keys, rotation), values)

    def project_queries(self, x: Float[Tensor, "B M D"]) -> Float[Tensor, "B H M d"]:
        """Return the queries of every position, without rotation."""
        return self._split(self.query(x))

    def attend_projected(
        self,
        query: Float[Tensor, "B H M d"],
        key_value: KeyValue,
        mask: Float[Tensor, "#B 1 #M S"] | None,
    ) -> Float[Tensor, "B M D"]:
        """Return one weighted sum of values per projected query.

        A search uses the fused kernel: for few queries, it is as fast as separate operations.
        Training uses separate operations, for dropout and gradients. The mask is -inf at blocked
        keys and 0 elsewhere.
        """
        if is_search(self):
            mask = None if mask is None else mask.to(query.dtype)
            context = F.scaled_dot_product_attention(query, *key_value, mask)
        else:
            context, _ = self.attend(query, key_value, None if mask is None else mask < 0)
        return self.output(context.transpose(1, 2).flatten(2))

    def forward(
        self,
        queries: Float[Tensor, "B Q D"],
        key_value: KeyValue,
        blocked: Bool[Tensor, "#B #H #Q S"] | None = None,
        *,
        causal: bool = False,
        rotation: Rotation | None = None,
    ) -> Float[Tensor, "B Q D"]:
        """Return one weighted sum of values per query.

        ``causal`` blocks all later positions and replaces ``blocked``. A query that is blocked from
        every key gets the bias of the output layer, or zeros without a bias.
        """
        query = rotate(self._split(self.query(queries)), rotation)
        if is_fused(query):
            context = F.scaled_dot_product_attention(
                query,
                *key_value,
                attn_mask=None if blocked is None else ~blocked,
                dropout_p=self.drop if self.training else 0.0,
                is_causal=causal,
            )
        else:
            if causal:
                blocked = make_causal_mask(query.size(2), query.device)
            context, _ = self.attend(query, key_value, blocked)
        return self.output(context.transpose(1, 2).flatten(2))

    def weights(
        self,
        queries: Float[Tensor, "B Q D"],
        key_value: KeyValue,
        blocked: Bool[Tensor, "#B #H #Q S"] | None = None,
    ) -> Float[Tensor, "B Q S"]:
        """Return the attention weights, averaged over the heads."""
        _, weights = self.attend(self._split(self.query(queries)), key_value, blocked)
        return weights.mean(dim=1)

    def _split(self, x: Tensor) -> Tensor:
        """Reshape (B, L, H * d) to (B, H, L, d)."""
        return x.view(x.size(0), x.size(1), self.heads, self.head_width).transpose(1, 2)


def stack(*tensors: Tensor) -> tuple[Product, Tensor | None]:
    """Return the product by three stacked weights, and their stacked biases if there are any."""
    biases = tensors[3:]
    return build_product(torch.cat(tensors[:3])), torch.cat(biases) if biases else None


MIN_CAPACITY = 16
"""Minimum number of positions that a cache allocates."""


@dataclass(frozen=True)
class TransformerMemory(Memory):
    """The encoded source, projected for every decoder layer."""

    layers: tuple[KeyValue, ...]  # per decoder layer, keys and values, (B, H, S, d) each
    blocked: Tensor  # (B, 1, 1, S), True at padding
    mask: Tensor  # (B, 1, 1, S), -inf at padding and 0 elsewhere


@dataclass
class Cache:
    """Keys and values of previous tokens, with free capacity for later tokens.

    A state reads only up to its own end. So the first extension writes in place, and a second
    extension from the same end copies.
    """

    keys: Tensor  # (B, H, capacity, d)
    values: Tensor  # (B, H, capacity, d)
    written: int  # number of positions in use

    def extended(self, end: int, keys: Tensor, values: Tensor) -> "Cache":
        """Return a cache with keys and values, (B, H, n, d) each, written at ``end``."""
        if torch.is_grad_enabled():  # autograd forbids writing in place
            before, after = self.first(end), (keys, values)
            longer = [torch.cat(both, dim=2) for both in zip(before, after, strict=True)]
            return Cache(longer[0], longer[1], end + keys.size(2))
        new_end = end + keys.size(2)
        cache = self
        if self.written != end or new_end > self.keys.size(2):
            shape = (*keys.shape[:2], max(2 * new_end, MIN_CAPACITY), keys.size(3))
            cache = Cache(keys.new_empty(shape), keys.new_empty(shape), end)
            cache.keys[:, :, :end] = self.keys[:, :, :end]
            cache.values[:, :, :end] = self.values[:, :, :end]
        cache.keys[:, :, end:new_end] = keys
        cache.values[:, :, end:new_end] = values
        cache.written = new_end
        return cache

    def first(self, end: int) -> KeyValue:
        """Return the keys and values before ``end``, (B, H, end, d) each."""
        if end == self.keys.size(2):
            return self.keys, self.values
        return self.keys[:, :, :end], self.values[:, :, :end]

    def select(self, sentences: Int[Tensor, " N"]) -> "Cache":
        """Return the cache of some sentences."""
        return Cache(
            self.keys.index_select(0, sentences),
            self.values.index_select(0, sentences),
            self.written,
        )


@dataclass(frozen=True)
class TransformerState(State):
    """Keys and values of the previous target tokens.

    All hypotheses of a sentence write to one cache and never move entries. A mask marks the
    ancestors of each live hypothesis, so reordering hypotheses only changes the mask.
    """

    layers: tuple[Cache, ...]  # per decoder layer
    mask: Tensor | None  # (B, 1, K, end), 0 at ancestors and -inf elsewhere; None if K is 1
    end: int  # number of cache positions in use, of all hypotheses together
    position: int  # number of target tokens of each hypothesis

    @override
    def reorder(self, parents: Int[Tensor, "B M"]) -> "TransformerState":
        if self.mask is None:
            if parents.size(1) == 1:
                return self
            open_mask = self.layers[0].keys.new_zeros(len(parents), 1, 1, self.end)
            return replace(self, mask=open_mask.expand(-1, -1, parents.size(1), -1))
        places = parents[:, None, :, None].expand(-1, -1, -1, self.end)
        return replace(self, mask=self.mask.gather(2, places))

    @override
    def select_sentences(self, sentences: Int[Tensor, " N"], hypotheses: int) -> "TransformerState":
        return replace(
            self,
            layers=tuple(cache.select(sentences) for cache in self.layers),
            mask=None if self.mask is None else self.mask.index_select(0, sentences),
        )

    @override
    def select(self, rows: Int[Tensor, " N"]) -> "TransformerState":
        """Return the state of some rows; every sentence must have one hypothesis."""
        assert self.mask is None or self.mask.size(2) == 1
        return self.select_sentences(rows, 1)

"""Multi-head dot-product attention (Vaswani et al. 2017, sections 3.2.1 and 3.2.2).

Dimension letters as in ``seq2seq.py``, and Q queries; M queries of all K hypotheses of a sentence,
which share its keys, uncopied.
"""

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.models.layers import Dense, Derived, Product, build_product, dropout, is_search
from nmt_core.models.seq2seq import Memory, State
from nmt_core.models.settings import ROTARY_BASE

Rotation = tuple[Tensor, Tensor]
"""Rotary positions: cosine and sine, (T, d / 2) each, of the angle of every pair of features.

The product of rotated queries and keys depends on how far apart they are, and not on where they are
(Su et al. 2021, RoFormer).
"""


def compute_rotation(
    x: Float[Tensor, "R T D"], head_width: int | None, first: int = 0, hypotheses: int = 1
) -> Rotation | None:
    """Return the rotation of what is read next (section 3.2.2); None without a head width.

    It begins at position ``first``; the hypotheses of a position are one behind the other.
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

    Blocked positions weigh exactly 0, the maximum is taken over the open ones alone, and a row
    without an open position is all zeros; no NaN arises forwards or backwards.
    """
    if blocked is None:
        return scores.softmax(dim=-1)
    floor = torch.finfo(scores.dtype).min
    return scores.masked_fill(blocked, floor).softmax(dim=-1).masked_fill(blocked, 0.0)


def rotate(x: Float[Tensor, "B H T d"], rotation: Rotation | None) -> Float[Tensor, "B H T d"]:
    """Rotate features ``i`` and ``d / 2 + i`` of every position, if there is a rotation."""
    if rotation is None:
        return x
    cosine, sine = (part.to(x.dtype) for part in rotation)
    left, right = x.chunk(2, dim=-1)
    return torch.cat([left * cosine - right * sine, right * cosine + left * sine], dim=-1)


def make_causal_mask(length: int, device: torch.device) -> Bool[Tensor, "1 1 T T"] | None:
    """Block every position from those after it."""
    if length == 1:
        return None
    block = torch.ones(length, length, dtype=torch.bool, device=device)
    return block.triu(diagonal=1)[None, None]


def is_fused(query: Tensor) -> bool:
    """Tell whether to use the fused kernel; on processors it takes up to six times as long."""
    return query.is_cuda


class MultiHeadAttention(nn.Module):
    """Attend from queries to keys with several heads at once.

    Keys and values are projected by their own method, so that a decoder projects the source once
    and looks at it at every step. ``H * d`` need not equal D. ``drop`` is the probability that an
    attention weight is dropped.
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
        self._stacked = Derived(stack)

    def attend(
        self,
        query: Float[Tensor, "B H Q d"],
        key_value: KeyValue,
        blocked: Bool[Tensor, "#B #H #Q S"] | None,
    ) -> tuple[Float[Tensor, "B H Q d"], Float[Tensor, "B H Q S"]]:
        """Return one weighted sum of values per query, and the weights, by plain products."""
        keys, values = key_value
        scores = (query * self.head_width**-0.5) @ keys.transpose(-1, -2)
        weights = masked_softmax(scores, blocked)
        return dropout(weights, self.drop, training=self.training) @ values, weights

    def project(self, memory: Float[Tensor, "B S D"], rotation: Rotation | None = None) -> KeyValue:
        """Return the keys and values of every position in ``memory``."""
        return rotate(self._split(self.key(memory)), rotation), self._split(self.value(memory))

    def project_all(
        self, x: Float[Tensor, "B M D"], rotation: Rotation | None = None
    ) -> tuple[Tensor, KeyValue]:
        """Return queries, and keys and values, of the same positions; (B, H, M, d) each."""
        layers = (self.query, self.key, self.value)
        if not is_search(self):
            return rotate(self._split(self.query(x)), rotation), self.project(x, rotation)
        weights = [layer.weight for layer in layers]
        if self.query.bias is not None:
            weights += [layer.bias for layer in layers]
        product, bias = self._stacked.of(*weights)
        all_heads = product(x, bias).unflatten(-1, (3 * self.heads, -1))
        query, keys, values = all_heads.transpose(1, 2).chunk(3, dim=1)
        return rotate(query, rotation), (rotate(keys, rotation), values)

    def project_queries(self, x: Float[Tensor, "B M D"]) -> Float[Tensor, "B H M d"]:
        """Return the queries of every position, not rotated."""
        return self._split(self.query(x))

    def look_from(
        self,
        query: Float[Tensor, "B H M d"],
        key_value: KeyValue,
        mask: Float[Tensor, "#B 1 #M S"] | None,
    ) -> Float[Tensor, "B M D"]:
        """Return one weighted sum of values per projected query.

        For few queries the fused kernel is as fast as plain products, in one call instead of many.
        Outside of a search, plain products drop weights and follow gradients. The mask is -inf
        where a query may not look, else 0.
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

        A query that may look nowhere, ``blocked`` from all keys, gets the output's bias, or zeros
        without one. ``causal`` blocks, instead, every position from those after it.
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
        """Return how much every query looks at every key, averaged over the heads."""
        _, weights = self.attend(self._split(self.query(queries)), key_value, blocked)
        return weights.mean(dim=1)

    def _split(self, x: Tensor) -> Tensor:
        """(B, L, H * d) to (B, H, L, d)."""
        return x.view(x.size(0), x.size(1), self.heads, self.head_width).transpose(1, 2)


def stack(*tensors: Tensor) -> tuple[Product, Tensor | None]:
    """Return three dense layers as one, of their weights, and of their biases if they have any."""
    biases = tensors[3:]
    return build_product(torch.cat(tensors[:3])), torch.cat(biases) if biases else None


LEAST_ROOM = 16
"""Positions that a cache has room for at least."""


@dataclass(frozen=True)
class TransformerMemory(Memory):
    """The encoded source as every decoder layer sees it."""

    layers: tuple[KeyValue, ...]  # per decoder layer, keys and values, (B, H, S, d) each
    blocked: Tensor  # (B, 1, 1, S), True at padding
    mask: Tensor  # the same in numbers, -inf at padding and else 0


@dataclass
class Cache:
    """Keys and values of written tokens, with room behind them for later ones.

    A state ignores all that is behind its end. So the first write past the end is in place, and
    later writers copy.
    """

    keys: Tensor  # (B, H, room, d)
    values: Tensor  # (B, H, room, d)
    written: int  # positions of the room that hold something

    def extended(self, end: int, keys: Tensor, values: Tensor) -> "Cache":
        """Append keys and values, (B, H, n, d) each, at ``end``."""
        if torch.is_grad_enabled():  # gradients need what was there
            before, after = self.first(end), (keys, values)
            longer = [torch.cat(both, dim=2) for both in zip(before, after, strict=True)]
            return Cache(longer[0], longer[1], end + keys.size(2))
        grown = end + keys.size(2)
        cache = self
        if self.written != end or grown > self.keys.size(2):
            room = (*keys.shape[:2], max(2 * grown, LEAST_ROOM), keys.size(3))
            cache = Cache(keys.new_empty(room), keys.new_empty(room), end)
            cache.keys[:, :, :end] = self.keys[:, :, :end]
            cache.values[:, :, :end] = self.values[:, :, :end]
        cache.keys[:, :, end:grown] = keys
        cache.values[:, :, end:grown] = values
        cache.written = grown
        return cache

    def first(self, end: int) -> KeyValue:
        """Return keys and values before ``end``."""
        if end == self.keys.size(2):
            return self.keys, self.values
        return self.keys[:, :, :end], self.values[:, :, :end]

    def select(self, sentences: Int[Tensor, " N"]) -> "Cache":
        """Return the given sentences."""
        return Cache(
            self.keys.index_select(0, sentences),
            self.values.index_select(0, sentences),
            self.written,
        )


@dataclass(frozen=True)
class TransformerState(State):
    """Keys and values of the target so far.

    They stay where any hypothesis of a sentence has written them, and a mask marks the ancestors of
    each live hypothesis. So reordering hypotheses costs next to nothing.
    """

    layers: tuple[Cache, ...]  # per decoder layer
    mask: Tensor | None  # (B, 1, K, end), -inf at what is of others and else 0; None if K is 1
    end: int  # of what was written by all hypotheses together
    position: int

    @override
    def follow(self, parents: Int[Tensor, "B M"]) -> "TransformerState":
        if self.mask is None:
            if parents.size(1) == 1:
                return self
            nothing = self.layers[0].keys.new_zeros(len(parents), 1, 1, self.end)
            return replace(self, mask=nothing.expand(-1, -1, parents.size(1), -1))
        places = parents[:, None, :, None].expand(-1, -1, -1, self.end)
        return replace(self, mask=self.mask.gather(2, places))

    @override
    def keep(self, sentences: Int[Tensor, " N"], hypotheses: int) -> "TransformerState":
        return replace(
            self,
            layers=tuple(cache.select(sentences) for cache in self.layers),
            mask=None if self.mask is None else self.mask.index_select(0, sentences),
        )

    @override
    def select(self, rows: Int[Tensor, " N"]) -> "TransformerState":
        """See the contract; of sentences with one hypothesis each."""
        assert self.mask is None or self.mask.size(2) == 1
        return self.keep(rows, 1)

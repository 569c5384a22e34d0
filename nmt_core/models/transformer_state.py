"""The state of a Transformer's decoder: keys and values, and the mask of hypotheses."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor
from typing_extensions import override

from nmt_core.models.attention import KeyValue
from nmt_core.models.seq2seq import Memory, State

LEAST_ROOM = 16
"""Positions that a cache has room for at least."""


@dataclass(frozen=True)
class TransformerMemory(Memory):
    """The encoded source as every decoder layer sees it."""

    layers: tuple[KeyValue, ...]  # per decoder layer, keys and values, (B, H, S, d) each
    blocked: Tensor  # (B, 1, 1, S), True at padding
    mask: Tensor  # the same in numbers, -inf at padding and else 0


class Cache:
    """Keys and values of written tokens, with room behind them for later ones.

    A state ignores all that is behind its end. So the first write past the end is in place, and
    later writers copy.

    Args:
        keys: (B, H, room, d).
        values: (B, H, room, d).
        written: positions of the room that hold something.
    """

    def __init__(self, keys: Tensor, values: Tensor, written: int) -> None:
        self.keys, self.values, self.written = keys, values, written

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

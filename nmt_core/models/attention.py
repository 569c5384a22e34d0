"""Multi-head dot-product attention (Vaswani et al. 2017, sections 3.2.1 and 3.2.2).

Dimension letters as in ``seq2seq.py``, and Q queries. The rows of the queries may be a whole
multiple K of the rows of the keys: K hypotheses then share the keys of their sentence, uncopied.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nmt_core.models.dropout import dropout

KeyValue = tuple[Tensor, Tensor]
"""Keys and values, each (B, H, S, d)."""


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


class MultiHeadAttention(nn.Module):
    """Attend from queries to keys with several heads at once.

    Keys and values are projected by their own method, so that a decoder projects the source once
    and looks at it at every step.

    Args:
        width: features of queries and of what is attended to, D.
        heads: H.
        head_width: features per head, d; ``H * d`` need not equal D.
        bias: whether the projections of queries, keys and values have a bias.
        drop: probability that an attention weight is dropped.
    """

    def __init__(
        self, width: int, heads: int, head_width: int, *, bias: bool, drop: float = 0.0
    ) -> None:
        super().__init__()
        self.heads = heads
        self.drop = drop
        self.query = nn.Linear(width, heads * head_width, bias=bias)
        self.key = nn.Linear(width, heads * head_width, bias=bias)
        self.value = nn.Linear(width, heads * head_width, bias=bias)
        self.output = nn.Linear(heads * head_width, width)

    def project(self, memory: Float[Tensor, "B S D"]) -> KeyValue:
        """Return the keys and values of every position in ``memory``."""
        return self._split(self.key(memory)), self._split(self.value(memory))

    def forward(
        self,
        queries: Float[Tensor, "R Q D"],
        key_value: KeyValue,
        blocked: Bool[Tensor, "#B #H #Q S"] | None = None,
    ) -> Float[Tensor, "R Q D"]:
        """Return one weighted sum of values per query; ``blocked`` is True where it may not look.

        A query that may look nowhere gets the output's bias.
        """
        keys, values = key_value
        query = self._fold(self._split(self.query(queries)), len(keys))
        if query.is_cuda:
            context = F.scaled_dot_product_attention(
                query,
                keys,
                values,
                attn_mask=None if blocked is None else ~blocked,
                dropout_p=self.drop if self.training else 0.0,
            )
        else:  # at sentence lengths, plain products are faster on a CPU than the fused kernel
            weights = masked_softmax(self._scores(query, keys), blocked)
            context = dropout(weights, self.drop, training=self.training) @ values
        return self.output(self._unfold(context, len(queries)).transpose(1, 2).flatten(2))

    def weights(
        self,
        queries: Float[Tensor, "R Q D"],
        key_value: KeyValue,
        blocked: Bool[Tensor, "#B #H #Q S"] | None = None,
    ) -> Float[Tensor, "R Q S"]:
        """Return how much every query looks at every key, averaged over the heads."""
        keys, _ = key_value
        query = self._fold(self._split(self.query(queries)), len(keys))
        weights = masked_softmax(self._scores(query, keys), blocked)
        return self._unfold(weights, len(queries)).mean(dim=1)

    def _scores(self, query: Tensor, keys: Tensor) -> Tensor:
        return (query * query.size(-1) ** -0.5) @ keys.transpose(-1, -2)

    def _split(self, x: Tensor) -> Tensor:
        """(R, L, H * d) to (R, H, L, d)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _fold(self, query: Tensor, sentences: int) -> Tensor:
        """(B * K, H, Q, d) to (B, H, K * Q, d)."""
        if len(query) == sentences:
            return query
        return query.unflatten(0, (sentences, -1)).transpose(1, 2).flatten(2, 3)

    def _unfold(self, context: Tensor, rows: int) -> Tensor:
        """(B, H, K * Q, d) to (B * K, H, Q, d)."""
        if len(context) == rows:
            return context
        beam_size = rows // len(context)
        return context.unflatten(2, (beam_size, -1)).transpose(1, 2).flatten(0, 1)

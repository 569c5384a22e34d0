"""Transformer layers over one text: the encoder of Vaswani et al. 2017, pre-norm.

Read whole, every position sees all others; read on from a past, it sees those before it alone, and
the same layers are what is called a decoder without a source. Letters as in ``seq2seq.py``.
"""

from typing import cast

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.models.attention import KeyValue, make_causal_mask
from nmt_core.models.dropout import dropout
from nmt_core.models.embedding import embedding, embedding_table
from nmt_core.models.rotary import compute_next_rotation
from nmt_core.models.settings import EncoderConfig
from nmt_core.models.transformer import EncoderLayer, build_layer_norm, find_rotary_width


class TransformerEncoder(nn.Module):
    """Embeds tokens at their positions, and lets them look at each other.

    Args:
        config: the shape.
        words: vocabulary, in tokens, V.
    """

    def __init__(self, config: EncoderConfig, words: int) -> None:
        super().__init__()
        self.config = config
        shape = config.build_layer_config()
        self.rotary_width = find_rotary_width(shape)
        table = embedding_table(words, config.width)
        self.embedding = embedding(shape, table, scale=config.width**0.5)
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(config.layers))
        self.norm = build_layer_norm(shape)
        for module in self.layers.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    @override
    def forward(
        self, tokens: Int[Tensor, "B S"], padding: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S D"]:
        """Return the hidden vector of every position; padding is ignored."""
        blocked = padding[:, None, None]
        x = self._drop(self.embedding(tokens))
        rotation = compute_next_rotation(x, self.rotary_width)
        for layer in self.layers:
            x = layer(x, blocked, rotation)
        return self.norm(x)

    def start(self, rows: int) -> tuple[KeyValue, ...]:
        """Return the past of rows of which nothing was read."""
        shape = rows, self.config.heads, 0, self.config.width // self.config.heads
        nothing = self.norm.bias.new_zeros(shape)
        return ((nothing, nothing),) * self.config.layers

    def go_on(
        self, tokens: Int[Tensor, "R T"], past: tuple[KeyValue, ...]
    ) -> tuple[Float[Tensor, "R T D"], tuple[KeyValue, ...]]:
        """Read the next tokens of every row, which see those before them, and nothing after."""
        first = past[0][0].size(2)
        mask = make_causal_mask(first + tokens.size(1), tokens.device)
        blocked = None if mask is None else mask[:, :, first:]
        x = self._drop(self.embedding(tokens, first))
        rotation = compute_next_rotation(x, self.rotary_width, first)
        present = []
        for layer, before in zip(self.layers, past, strict=True):
            x, key_value = cast("EncoderLayer", layer).go_on(x, before, blocked, rotation)
            present.append(key_value)
        return self.norm(x), tuple(present)

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout, training=self.training)

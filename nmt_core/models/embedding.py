"""Embeddings of words and positions, and the output layer.

The default follows Vaswani et al. 2017, sections 3.4 and 3.5: rows drawn from N(0, 1 / D), scaled
by sqrt(D), plus sinusoids. With the smaller rows of Xavier initialisation, positions dominate words
and training starts slowly.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.models.layers import Dense
from nmt_core.models.seq2seq import Pretrained
from nmt_core.models.settings import PositionedConfig, Seq2SeqConfig
from nmt_core.text.vocabulary import PAD


def build_embedding(size: int, width: int) -> nn.Embedding:
    """Return an embedding with rows drawn from N(0, 1 / D), and a zero row for padding."""
    table = nn.Embedding(size, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    nn.init.zeros_(table.weight[PAD])
    return table


def build_pretrained_embedding(weight: Float[Tensor, "V D"], *, frozen: bool) -> nn.Embedding:
    """Return an embedding with these weights, copied; ``frozen`` weights are not trained."""
    return nn.Embedding.from_pretrained(weight.clone(), freeze=frozen)


def build_word_embedding(
    config: Seq2SeqConfig, size: int, pretrained: Pretrained | None, side: str
) -> nn.Embedding:
    """Return the word embedding of a side, pretrained if there are pretrained vectors.

    Raises:
        ValueError: if pretrained vectors have another shape, or would be tied.
    """
    if pretrained is None:
        return build_embedding(size, config.width)
    table = pretrained[side]
    if table.weight.shape != (size, config.width):
        raise ValueError(
            f"the {side} vectors are {table.num_embeddings} x {table.embedding_dim}, but the model "
            f"needs {size} x {config.width}; set width to the dimensions of the vectors"
        )
    if config.tie != "none":
        raise ValueError("pretrained vectors cannot be tied; set tie to 'none'")
    return table


class OutputLayer(Dense):
    """Compute logits from features; without bias if the weights are tied to an embedding."""

    def __init__(self, config: Seq2SeqConfig, words: int) -> None:
        super().__init__(config.width, words, bias=config.tie == "none")

    @override
    def forward(
        self, hidden: Float[Tensor, "*N D"], tokens: Int[Tensor, " M"] | None = None
    ) -> Float[Tensor, "*N V"] | Float[Tensor, "*N M"]:
        """Return the logits of all tokens, or only of ``tokens``."""
        if tokens is None:
            return super().forward(hidden)
        bias = None if self.bias is None else self.bias[tokens]
        return F.linear(hidden, self.weight[tokens], bias)


def tie(
    config: Seq2SeqConfig, source: nn.Embedding, target: nn.Embedding, output: OutputLayer
) -> None:
    """Tie the weights of the embeddings and the output layer as configured.

    Raises:
        ValueError: if ``tie="all"`` and the vocabularies differ in size.
    """
    if config.tie == "none":
        return
    output.weight = target.weight
    if config.tie == "all":
        if source.num_embeddings != target.num_embeddings:
            raise ValueError(
                f"tie 'all' requires a joint vocabulary, got {source.num_embeddings} source and "
                f"{target.num_embeddings} target tokens; use a joint vocabulary or tie 'output'"
            )
        source.weight = target.weight


def sinusoids(positions: int, width: int) -> Float[Tensor, "positions width"]:
    """Return sine on even and cosine on odd features (Vaswani et al. 2017, section 3.5)."""
    if torch.get_default_device().type == "meta":
        return torch.empty(positions, width)
    position = torch.arange(positions, dtype=torch.float64)[:, None]
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angle = position * torch.exp(even * (-math.log(10_000) / width))
    signal = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    return signal[:, :width].float()


class Positions(nn.Module):
    """Add sinusoids to words, for sentences of any length, or a trained vector per position.

    Learned positions beyond the last share its vector. Sinusoids can have a trained scale, which
    starts at 1 (gamma in van der Goten 2018).
    """

    table: Tensor | nn.Embedding

    def __init__(self, config: PositionedConfig) -> None:
        super().__init__()
        trained = config.position_scale == "trained"
        self.scale = nn.Parameter(torch.ones(())) if trained else None
        if config.positions == "learned":
            self.table = build_embedding(config.max_positions, config.width)
        else:
            self.register_buffer("table", sinusoids(256, config.width), persistent=False)

    def forward(self, words: Float[Tensor, "R T D"], first: int) -> Float[Tensor, "R T D"]:
        """Return words plus positions ``first``, ``first + 1``, and so on."""
        end = first + words.size(1)
        if isinstance(self.table, nn.Embedding):
            position = torch.arange(first, end, device=words.device)
            return words + self.table(position.clamp(max=self.table.num_embeddings - 1))
        if end > len(self.table):
            with torch.inference_mode(False):  # training reads the table, too
                self.table = sinusoids(2 * end, words.size(2)).to(self.table)
        signal = self.table[first:end]
        return words + (signal if self.scale is None else self.scale * signal)


class Embedding(nn.Module):
    """Word embeddings of one language, scaled, plus their positions."""

    def __init__(self, config: PositionedConfig, table: nn.Embedding, *, scale: float) -> None:
        super().__init__()
        self.table = table
        self.positions = None if config.positions == "rotary" else Positions(config)
        self.scale = scale

    def forward(self, tokens: Int[Tensor, "R T"], first: int = 0) -> Float[Tensor, "R T D"]:
        """Return the vectors of tokens at positions ``first``, ``first + 1``, and so on."""
        words = self.table(tokens) * self.scale
        return words if self.positions is None else self.positions(words, first)

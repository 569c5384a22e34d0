"""Neural language models: feed-forward n-grams, recurrent layers, and Transformers.

Letters: R rows, T tokens, D features, V vocabulary, N order of a model of the last N - 1 tokens.
"""

from typing import Literal, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.base.config import Config
from nmt_core.extensions.language_models.model import (
    LanguageModel,
    LanguageState,
    build_windows,
    start_window,
)
from nmt_core.models.attention import KeyValue, compute_rotation, make_causal_mask
from nmt_core.models.embedding import Embedding, build_embedding
from nmt_core.models.layers import Dropout, dropout
from nmt_core.models.recurrence import (
    FORGET,
    STATE_TENSORS,
    TORCH_LAYERS,
    CellState,
    advance,
    read_cells,
)
from nmt_core.models.settings import CellKind, TransformerConfig
from nmt_core.models.transformer import EncoderLayer, build_layer_norm
from nmt_core.text.vocabulary import BOS


class FeedForwardConfig(Config):
    """A feed-forward language model (Bengio et al. 2003)."""

    kind: Literal["feed_forward"] = "feed_forward"
    """Selects these settings."""
    order: int = Field(5, ge=2, le=1000)
    """Tokens of an n-gram, N: the context and the next token."""
    embedding_width: int = Field(128, ge=1, le=65_536)
    """Features of an embedding."""
    width: int = Field(512, ge=1, le=65_536)
    """Features of the hidden layer."""
    dropout: float = Field(0.2, ge=0, le=0.99)
    """Dropout probability before and after the hidden layer."""


class FeedForwardLanguageModel(LanguageModel):
    """A hidden layer over the concatenated embeddings of the last N - 1 tokens."""

    def __init__(self, config: FeedForwardConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = build_embedding(words, config.embedding_width)
        self.combine = nn.Linear((config.order - 1) * config.embedding_width, config.width)
        self.output = nn.Linear(config.width, words)
        self.scale = config.embedding_width**0.5
        self.drop = Dropout(config.dropout)

    @override
    def start(self, rows: int) -> LanguageState:
        return start_window(rows, self.config.order, self.device)

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], state: LanguageState
    ) -> tuple[Float[Tensor, "R T D"], LanguageState]:
        windows, state = build_windows(tokens, state)
        context = self.drop(self.embedding(windows).flatten(2) * self.scale)
        return self.drop(torch.tanh(self.combine(context))), state


class RecurrentConfig(Config):
    """A recurrent language model (Mikolov et al. 2010)."""

    kind: Literal["rnn"] = "rnn"
    """Selects these settings."""
    cell: CellKind = "lstm"
    """Kind of cell; ``tanh`` has no gates."""
    layers: int = Field(2, ge=1, le=1000)
    """Number of recurrent layers."""
    embedding_width: int = Field(64, ge=1, le=65_536)
    """Features of an embedding; a few dozen for characters, hundreds for words."""
    width: int = Field(512, ge=1, le=65_536)
    """Features of a layer's state."""
    dropout: float = Field(0.2, ge=0, le=0.99)
    """Dropout probability before, between and after layers."""
    state_dropout: float = Field(0.0, ge=0, le=0.99)
    """Dropout probability of a layer's state, with one mask per window (Gal and Ghahramani 2016).
    Values above 0 are slower, because training then reads one token at a time."""
    input: Literal["embedding", "one_hot"] = "embedding"
    """Input of the first layer: an embedding, or a one-hot vector."""
    tie: bool = False
    """Tie the embedding to the output layer; requires equal ``embedding_width`` and ``width``."""
    stateful: bool = True
    """Train on consecutive windows and keep the state between them; false trains on shuffled
    windows or lines."""

    @model_validator(mode="after")
    def _check(self) -> "RecurrentConfig":
        if self.tie and (self.input == "one_hot" or self.embedding_width != self.width):
            raise ValueError("tie requires input 'embedding' and embedding_width equal to width")
        return self


class Recurrent(LanguageModel):
    """Recurrent layers with dropout between them (Zaremba et al. 2014)."""

    def __init__(self, config: RecurrentConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.is_stateful = config.stateful
        if config.input == "embedding":
            self.embedding = build_embedding(words, config.embedding_width)
        self.words = words
        layer = TORCH_LAYERS[config.cell]
        first = config.embedding_width if config.input == "embedding" else words
        widths = [first, *[config.width] * (config.layers - 1)]
        self.layers = nn.ModuleList(layer(w, config.width, batch_first=True) for w in widths)
        self.output = nn.Linear(config.width, words)
        self.scale = config.embedding_width**0.5
        self.drop = Dropout(config.dropout)
        for name, weight in self.layers.named_parameters():
            if "bias" in name:
                nn.init.zeros_(weight)
            if "bias_ih" in name and config.cell == "lstm":  # Jozefowicz et al. 2015
                nn.init.ones_(weight.detach().chunk(4)[FORGET])
        if config.tie:
            self.output.weight = self.embedding.weight

    @override
    def start(self, rows: int) -> LanguageState:
        zeros = self.output.bias.new_zeros(rows, self.config.width)
        tensors = (zeros,) * STATE_TENSORS[self.config.cell]
        return LanguageState((tensors,) * self.config.layers)

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], state: LanguageState
    ) -> tuple[Float[Tensor, "R T D"], LanguageState]:
        x = self.drop(self._read(tokens))
        layers = []
        for layer, before in zip(self.layers, state.layers, strict=True):
            x, after = self._advance(layer, x, before)
            layers.append(after)
            x = self.drop(x)
        return x, LanguageState(tuple(layers))

    def _read(self, tokens: Int[Tensor, "R T"]) -> Float[Tensor, "R T I"]:
        if self.config.input == "embedding":
            return self.embedding(tokens) * self.scale
        return nn.functional.one_hot(tokens, self.words).to(self.output.weight.dtype)

    def _advance(
        self, layer: nn.Module, x: Float[Tensor, "R T I"], before: CellState
    ) -> tuple[Float[Tensor, "R T D"], CellState]:
        """Return the outputs of a layer for the next tokens, and its new state."""
        cells = cast("nn.RNNBase", layer)
        if not (self.training and self.config.state_dropout):
            return read_cells(cells, x, before)
        # one mask for all positions (Gal and Ghahramani 2016, section 4)
        mask = dropout(torch.ones_like(before[0]), self.config.state_dropout, training=True)
        inputs = [cells.get_parameter(f"{kind}_ih_l0") for kind in ("weight", "bias")]
        hidden = [cells.get_parameter(f"{kind}_hh_l0") for kind in ("weight", "bias")]
        outputs, state = [], before
        for prepared in F.linear(x, *inputs).unbind(dim=1):
            recurrent = F.linear(state[0] * mask, *hidden)
            state = advance(self.config.cell, prepared, recurrent, state)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1), state


class TransformerLanguageConfig(Config):
    """A Transformer language model (Radford et al. 2018)."""

    layers: int = Field(4, ge=1, le=1000)
    """Number of Transformer layers."""
    width: int = Field(128, ge=1, le=65_536)
    """Model width, D."""
    heads: int = Field(4, ge=1, le=1024)
    """Attention heads, H; must divide the width."""
    feed_forward_width: int = Field(512, ge=1, le=1_000_000)
    """Hidden features of the feed-forward block."""
    dropout: float = Field(0.1, ge=0, le=0.99)
    """Dropout probability of embeddings, of feed-forward blocks and after sub-layers."""
    attention_dropout: float = Field(0.0, ge=0, le=0.99)
    """Dropout probability of attention weights."""
    positions: Literal["sinusoidal", "rotary"] = "sinusoidal"
    """Positional encoding."""
    context: int = Field(64, ge=4, le=1_000_000)
    """Maximum context, in tokens."""
    kind: Literal["transformer"] = "transformer"
    """Selects these settings."""

    @model_validator(mode="after")
    def _check_layers(self) -> "TransformerLanguageConfig":
        self.build_layer_config()
        return self

    def build_layer_config(self) -> TransformerConfig:
        """Return the settings of a Transformer with these layers."""
        return TransformerConfig(
            width=self.width,
            heads=self.heads,
            encoder_layers=self.layers,
            feed_forward_width=self.feed_forward_width,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            positions=self.positions,
        )


class TransformerEncoder(nn.Module):
    """Embeddings with positions, and pre-norm Transformer layers (Vaswani et al. 2017)."""

    def __init__(self, config: TransformerLanguageConfig, words: int) -> None:
        super().__init__()
        self.config = config
        shape = config.build_layer_config()
        self.rotary_width = shape.rotary_width
        table = build_embedding(words, config.width)
        self.embedding = Embedding(shape, table, scale=config.width**0.5)
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(config.layers))
        self.norm = build_layer_norm(shape)
        self.drop = Dropout(config.dropout)
        for module in self.layers.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def start(self, rows: int) -> tuple[KeyValue, ...]:
        """Return the empty past of some rows, for ``forward``."""
        shape = rows, self.config.heads, 0, self.config.width // self.config.heads
        empty = self.norm.bias.new_zeros(shape)
        return ((empty, empty),) * self.config.layers

    @override
    def forward(
        self, tokens: Int[Tensor, "R T"], past: tuple[tuple[Tensor, ...], ...]
    ) -> tuple[Float[Tensor, "R T D"], tuple[tuple[Tensor, ...], ...]]:
        """Read the next tokens of every row with a causal mask; return features and the new past.

        ``past`` has keys and values of each layer.
        """
        first = past[0][0].size(2)
        mask = make_causal_mask(first + tokens.size(1), tokens.device)
        blocked = None if mask is None else mask[:, :, first:]
        x = self.drop(self.embedding(tokens, first))
        rotation = compute_rotation(x, self.rotary_width, first)
        present = []
        for layer, (keys, values) in zip(self.layers, past, strict=True):
            x, key_value = cast("EncoderLayer", layer).extend(x, (keys, values), blocked, rotation)
            present.append(key_value)
        return self.norm(x), tuple(present)


class TransformerLanguageModel(LanguageModel):
    """A causal Transformer; the output layer is tied to the embedding (Press and Wolf 2017).

    When a context is full, its second half starts the next context, after BOS, like a window in
    training. So each prediction attends to at least half a context, and does not depend on how the
    text is divided into calls.
    """

    def __init__(self, config: TransformerLanguageConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.encoder = TransformerEncoder(config, words)
        self.output = nn.Linear(config.width, words)
        nn.init.zeros_(self.output.bias)
        self.output.weight = self.encoder.embedding.table.weight

    @override
    def start(self, rows: int) -> LanguageState:
        no_tokens = torch.zeros(rows, 0, dtype=torch.long, device=self.device)
        return LanguageState(self.encoder.start(rows), no_tokens)

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], state: LanguageState
    ) -> tuple[Float[Tensor, "R T D"], LanguageState]:
        assert state.tokens is not None
        context, layers, hidden = state.tokens, state.layers, []
        while tokens.size(1):
            if context.size(1) == self.config.context:
                second_half = context[:, -(self.config.context // 2) :]
                context = torch.cat([torch.full_like(context[:, :1], BOS), second_half], dim=1)
                _, layers = self.encoder(context, self.encoder.start(len(context)))
            free = self.config.context - context.size(1)
            vectors, layers = self.encoder(tokens[:, :free], layers)
            hidden.append(vectors)
            context, tokens = torch.cat([context, tokens[:, :free]], dim=1), tokens[:, free:]
        return torch.cat(hidden, dim=1), LanguageState(layers, context)

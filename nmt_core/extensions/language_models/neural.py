"""Neural language models: feed-forward n-grams, and LSTM, GRU or plain recurrent layers."""

from dataclasses import dataclass
from typing import Literal, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.base.config import Config
from nmt_core.extensions.language_models.model import NeuralLanguageModel, Window, slide
from nmt_core.models.embedding import embedding_table
from nmt_core.models.layers import Dropout, dropout
from nmt_core.models.recurrence import (
    FORGET,
    STATE_PARTS,
    TORCH_LAYERS,
    CellState,
    advance,
    read_cells,
)
from nmt_core.models.seq2seq import State
from nmt_core.models.settings import CellKind


class FeedForwardConfig(Config):
    """A feed-forward language model (Bengio et al. 2003)."""

    kind: Literal["feed_forward"] = "feed_forward"
    """The tag of this choice."""
    order: int = Field(5, ge=2, le=1000)
    """Tokens of an n-gram, N: the context and the token after it."""
    embedding_width: int = Field(128, ge=1, le=65_536)
    """Features of a token."""
    width: int = Field(512, ge=1, le=65_536)
    """Features of the hidden layer."""
    dropout: float = Field(0.2, ge=0, le=0.99)
    """Probability of dropping a feature before and after the hidden layer."""


class FeedForwardLanguageModel(NeuralLanguageModel[Window]):
    """Combines the vectors of the last N - 1 tokens, side by side, in a hidden layer."""

    def __init__(self, config: FeedForwardConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = embedding_table(words, config.embedding_width)
        self.combine = nn.Linear((config.order - 1) * config.embedding_width, config.width)
        self.output = nn.Linear(config.width, words)
        self.scale = config.embedding_width**0.5
        self.drop = Dropout(config.dropout)

    @override
    def start(self, rows: int) -> Window:
        return Window.empty(rows, self.config.order, self.device)

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], state: Window
    ) -> tuple[Float[Tensor, "R T D"], Window]:
        windows, state = slide(tokens, state)
        context = self.drop(self.embedding(windows).flatten(2) * self.scale)
        return self.drop(torch.tanh(self.combine(context))), state


class RecurrentConfig(Config):
    """A recurrent language model (Mikolov et al. 2010)."""

    kind: Literal["rnn"] = "rnn"
    """The tag of this choice."""
    cell: CellKind = "lstm"
    """LSTM, GRU, or no gates (``tanh``)."""
    layers: int = Field(2, ge=1, le=1000)
    """Recurrent layers."""
    embedding_width: int = Field(64, ge=1, le=65_536)
    """Features of a token; a few dozen for characters, hundreds for words."""
    width: int = Field(512, ge=1, le=65_536)
    """Features that each layer remembers."""
    dropout: float = Field(0.2, ge=0, le=0.99)
    """Probability of dropping a feature before, between and after layers."""
    state_dropout: float = Field(0.0, ge=0, le=0.99)
    """Probability of dropping a feature of a layer's state, the same in all of a window (Gal and
    Ghahramani 2016); above 0, training goes token by token, which is slower."""
    input: Literal["embedding", "one_hot"] = "embedding"
    """Input of the first layer: a trained vector of ``embedding_width``, or the token as a 1 among
    zeros."""
    tie: bool = False
    """Share the embedding with the output; both widths must be the same."""
    stateful: bool = True
    """Train on consecutive windows, each from the state where the one before it ended; false trains
    on shuffled windows or lines."""

    @model_validator(mode="after")
    def _check(self) -> "RecurrentConfig":
        if self.tie and self.embedding_width != self.width:
            raise ValueError(
                f"tied weights need one width, got embedding_width {self.embedding_width} and "
                f"width {self.width}; set them alike, or tie to false"
            )
        if self.tie and self.input == "one_hot":
            raise ValueError("one_hot input has no vectors to tie; set tie to false")
        return self


@dataclass(frozen=True)
class Recollection(State):
    """The states of all layers: (h, c) of an LSTM, (h,) of others, (R, D) each."""

    layers: tuple[tuple[Tensor, ...], ...]


class Recurrent(NeuralLanguageModel[Recollection]):
    """Reads all tokens by recurrent layers, with dropout between them (Zaremba et al. 2014)."""

    def __init__(self, config: RecurrentConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.carries = config.stateful
        if config.input == "embedding":
            self.embedding = embedding_table(words, config.embedding_width)
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
    def start(self, rows: int) -> Recollection:
        memories = STATE_PARTS[self.config.cell]
        nothing = self.output.bias.new_zeros(rows, self.config.width)
        return Recollection(((nothing,) * memories,) * self.config.layers)

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], state: Recollection
    ) -> tuple[Float[Tensor, "R T D"], Recollection]:
        x = self.drop(self._read(tokens))
        layers = []
        for layer, before in zip(self.layers, state.layers, strict=True):
            x, after = self._advance(layer, x, before)
            layers.append(after)
            x = self.drop(x)
        return x, Recollection(tuple(layers))

    def _read(self, tokens: Int[Tensor, "R T"]) -> Float[Tensor, "R T I"]:
        if self.config.input == "embedding":
            return self.embedding(tokens) * self.scale
        return nn.functional.one_hot(tokens, self.words).to(self.output.weight.dtype)

    def _advance(
        self, layer: nn.Module, x: Float[Tensor, "R T I"], before: CellState
    ) -> tuple[Float[Tensor, "R T D"], CellState]:
        """Return the outputs of a layer for the next tokens, and its state after them."""
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

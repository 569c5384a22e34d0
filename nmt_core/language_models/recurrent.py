"""The recurrent language model (Mikolov et al. 2010), of LSTM or GRU layers.

Dropout falls between layers, never between moments (Zaremba et al. 2014).
"""

from dataclasses import dataclass, replace
from typing import Literal, Self

from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.config import Config
from nmt_core.language_models.model import NeuralLanguageModel, Past
from nmt_core.models.dropout import dropout
from nmt_core.models.embedding import embedding_table


class RecurrentConfig(Config):
    """A recurrent language model."""

    kind: Literal["rnn"] = "rnn"
    """Which language model this is."""
    cell: Literal["lstm", "gru"] = "lstm"
    """Long short-term memory (Hochreiter and Schmidhuber 1997), or a gated unit (Cho et al. 2014),
    which is the faster one in bfloat16."""
    layers: int = Field(2, ge=1, le=1000)
    """Recurrent layers."""
    embedding_width: int = Field(64, ge=1, le=65_536)
    """Features of a token; a few dozen for characters, hundreds for words."""
    width: int = Field(512, ge=1, le=65_536)
    """Features that each layer remembers."""
    dropout: float = Field(0.2, ge=0, le=0.99)
    """Probability of dropping a feature before, between and after layers."""
    tie: bool = False
    """Share the embedding with the output; both widths must be the same."""
    stateful: bool = True
    """Train on consecutive windows, each from the state where the one before it ended; false trains
    on shuffled windows (or lines), each from nothing, as fusion with a translator needs it."""

    @model_validator(mode="after")
    def _check(self) -> "RecurrentConfig":
        if self.tie and self.embedding_width != self.width:
            raise ValueError(
                f"tied weights need one width, got embedding_width {self.embedding_width} and "
                f"width {self.width}; set them alike, or tie to false"
            )
        return self


@dataclass(frozen=True)
class Recollection(Past):
    """What every layer remembers: (h, c) of an LSTM, (h,) of a GRU, (R, D) each."""

    layers: tuple[tuple[Tensor, ...], ...]

    @override
    def detach(self) -> Self:
        layers = tuple(tuple(memory.detach() for memory in layer) for layer in self.layers)
        return replace(self, layers=layers)


class Recurrent(NeuralLanguageModel[Recollection]):
    """Remembers all it has read, as well as it can.

    Args:
        config: the shape.
        words: vocabulary, in tokens, V.
    """

    def __init__(self, config: RecurrentConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.carries = config.stateful
        self.embedding = embedding_table(words, config.embedding_width)
        layer = nn.LSTM if config.cell == "lstm" else nn.GRU
        widths = [config.embedding_width, *[config.width] * (config.layers - 1)]
        self.layers = nn.ModuleList(layer(w, config.width, batch_first=True) for w in widths)
        self.output = nn.Linear(config.width, words)
        self.scale = config.embedding_width**0.5
        for name, weight in self.layers.named_parameters():
            if "bias" in name:
                nn.init.zeros_(weight)
            if "bias_ih" in name and config.cell == "lstm":  # do not forget (Jozefowicz 2015)
                nn.init.ones_(weight[config.width : 2 * config.width])
        if config.tie:
            self.output.weight = self.embedding.weight

    @override
    def start(self, rows: int) -> Recollection:
        memories = 2 if self.config.cell == "lstm" else 1
        nothing = self.output.bias.new_zeros(rows, self.config.width)
        return Recollection(((nothing,) * memories,) * self.config.layers)

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], state: Recollection
    ) -> tuple[Float[Tensor, "R T D"], Recollection]:
        x = self._drop(self.embedding(tokens) * self.scale)
        layers = []
        for layer, before in zip(self.layers, state.layers, strict=True):
            start = tuple(memory[None] for memory in before)
            x, after = layer(x, start if len(start) > 1 else start[0])
            layers.append(tuple(m[0] for m in (after if isinstance(after, tuple) else (after,))))
            x = self._drop(x)
        return x, Recollection(tuple(layers))

    @override
    def project(self, hidden: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        return self.output(hidden)

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout, training=self.training)

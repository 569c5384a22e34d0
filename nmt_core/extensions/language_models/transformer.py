"""Transformer language models: causal, and masked.

Letters: B or R rows, S or T tokens, D features, V vocabulary.
"""

from dataclasses import dataclass
from typing import Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.extensions.language_models.model import NeuralLanguageModel, forbid
from nmt_core.models.attention import KeyValue, compute_next_rotation, make_causal_mask
from nmt_core.models.embedding import embedding, embedding_table
from nmt_core.models.layers import Dropout
from nmt_core.models.seq2seq import State
from nmt_core.models.settings import EncoderConfig
from nmt_core.models.transformer import EncoderLayer, build_layer_norm, find_rotary_width
from nmt_core.text.vocabulary import BOS, PAD, SPECIALS


class TransformerEncoder(nn.Module):
    """Embeds tokens at their positions and reads them by pre-norm layers (Vaswani et al. 2017)."""

    def __init__(self, config: EncoderConfig, words: int) -> None:
        super().__init__()
        self.config = config
        shape = config.build_layer_config()
        self.rotary_width = find_rotary_width(shape)
        table = embedding_table(words, config.width)
        self.embedding = embedding(shape, table, scale=config.width**0.5)
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(config.layers))
        self.norm = build_layer_norm(shape)
        self.drop = Dropout(config.dropout)
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
        x = self.drop(self.embedding(tokens))
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
        x = self.drop(self.embedding(tokens, first))
        rotation = compute_next_rotation(x, self.rotary_width, first)
        present = []
        for layer, before in zip(self.layers, past, strict=True):
            x, key_value = cast("EncoderLayer", layer).go_on(x, before, blocked, rotation)
            present.append(key_value)
        return self.norm(x), tuple(present)


class TransformerLanguageConfig(EncoderConfig):
    """A Transformer language model (Radford et al. 2018)."""

    kind: Literal["transformer"] = "transformer"
    """The tag of this choice."""


@dataclass(frozen=True)
class Context(State):
    """Keys and values of the n tokens read."""

    tokens: Tensor  # (R, n)
    layers: tuple[KeyValue, ...]  # keys and values of every layer, (R, H, n, d) each


class TransformerLanguageModel(NeuralLanguageModel[Context]):
    """Attends to all tokens of a context; the output shares the embedding (Press and Wolf 2017).

    Of a longer text it sees at least the last half context. When a context is full, its newer half
    begins the next one, after BOS, as training windows begin. So a prediction depends on a token's
    place in the text, and never on the portions that the text is read in.
    """

    def __init__(self, config: TransformerLanguageConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.encoder = TransformerEncoder(config, words)
        self.output = nn.Linear(config.width, words)
        nn.init.zeros_(self.output.bias)
        self.output.weight = self.encoder.embedding.table.weight

    @override
    def start(self, rows: int) -> Context:
        nothing = torch.zeros(rows, 0, dtype=torch.long, device=self.device)
        return Context(nothing, self.encoder.start(rows))

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], state: Context
    ) -> tuple[Float[Tensor, "R T D"], Context]:
        parts = []
        while tokens.size(1):
            if state.tokens.size(1) == self.config.context:
                state = self._begin_anew(state)
            room = self.config.context - state.tokens.size(1)
            part, state = self._read(tokens[:, :room], state)
            parts.append(part)
            tokens = tokens[:, room:]
        return torch.cat(parts, dim=1), state

    def _begin_anew(self, state: Context) -> Context:
        """Return a context of BOS and the newer half of a full one."""
        begin = torch.full_like(state.tokens[:, :1], BOS)
        newer = state.tokens[:, -(self.config.context // 2) :]
        _, anew = self._read(torch.cat([begin, newer], dim=1), self.start(len(newer)))
        return anew

    def _read(self, tokens: Tensor, state: Context) -> tuple[Tensor, Context]:
        hidden, layers = self.encoder.go_on(tokens, state.layers)
        return hidden, Context(torch.cat([state.tokens, tokens], dim=1), layers)


class MaskedConfig(EncoderConfig):
    """A masked language model (Devlin et al. 2019); it scores and generates no text."""

    kind: Literal["masked"] = "masked"
    """The tag of this choice."""


class MaskedLanguageModel(nn.Module):
    """Predicts hidden tokens of a line from all others; other models start from its weights.

    The output shares the embedding; the mask is token V.
    """

    def __init__(self, config: MaskedConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.mask = words
        self.encoder = TransformerEncoder(config, words + 1)
        self.output = nn.Linear(config.width, words + 1)
        nn.init.zeros_(self.output.bias)
        self.output.weight = self.encoder.embedding.table.weight

    def read(self, tokens: Int[Tensor, "R T"]) -> Float[Tensor, "R T D"]:
        """Return the hidden vector of every token."""
        return self.encoder(tokens, tokens == PAD)

    def log_probs(self, hidden: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V+1"]:
        """Return the log-probabilities of the token that stands there; reserved ones have none."""
        return forbid(self.output(hidden), [*range(len(SPECIALS)), self.mask]).log_softmax(dim=-1)

    def log_likelihood(
        self, hidden: Float[Tensor, "*N D"], tokens: Int[Tensor, "*N"]
    ) -> Float[Tensor, "*N"]:
        """Return the log-probability of the given tokens."""
        return self.log_probs(hidden).gather(-1, tokens[..., None]).squeeze(-1)

    @override
    def forward(self, tokens: Int[Tensor, "R T"]) -> Float[Tensor, "R T V+1"]:
        """Return the log-probabilities of every token."""
        return self.log_probs(self.read(tokens))

"""The recurrent encoder-decoder, with and without attention.

Without attention, the decoder starts from the encoder's last state and sees nothing else of the
source (Sutskever et al. 2014). ``attention: additive`` attends from the state before a step, and
the context is an input of the step (Bahdanau et al. 2015). The other kinds attend from the state
after a step. The attentional vector ``tanh(W [context; state])`` is the output and, with
``input_feeding``, also an input of the next step (Luong et al. 2015).

Dimension letters as in ``seq2seq.py``, plus C for the features of a layer's state and Q for
queries.
"""

from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.models.attention import masked_softmax
from nmt_core.models.embedding import OutputLayer, build_word_embedding, tie
from nmt_core.models.layers import Dense, Dropout
from nmt_core.models.recurrence import STATE_TENSORS, CellState, RecurrentLayer, RecurrentStep
from nmt_core.models.seq2seq import Memory, Pretrained, Seq2Seq, State
from nmt_core.models.settings import AttentionKind, RnnConfig


@dataclass(frozen=True)
class RnnMemory(Memory):
    """The encoded source; without attention, only ``first`` is used."""

    first: tuple[CellState, ...]  # initial state of each decoder layer
    keys: Tensor  # (B, S, C)
    values: Tensor  # (B, S, C)
    blocked: Tensor  # (B, 1, S), True at padding


@dataclass(frozen=True)
class RnnState(State):
    """The decoder's state after the previous target tokens."""

    layers: tuple[CellState, ...]  # per decoder layer
    vector: Tensor  # (R, C), the last attentional vector; zeros at the start


Decoded = tuple[Tensor, Tensor | None, RnnState]
"""Output vectors (R, T, C), attention weights (R, T, S) or None, and the new state."""


class Encoder(nn.Module):
    """Recurrent layers over the source."""

    def __init__(self, config: RnnConfig) -> None:
        super().__init__()
        bidirectional = config.direction == "bidirectional"
        self.layers = nn.ModuleList(
            RecurrentLayer(config.cell, inputs, config.hidden_width, bidirectional=bidirectional)
            for inputs in list_input_widths(config, config.encoder_layers)
        )
        self.reversed = config.direction == "reversed"
        self.drop = Dropout(config.dropout)

    def forward(
        self, words: Float[Tensor, "B S D"], padding: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S C"], list[CellState]]:
        """Return the last layer's features at every word, and every layer's last state.

        Padding must be at the end. A sentence with only padding is read as one word.
        """
        lengths = (~padding).sum(dim=1).clamp(min=1)
        x = reverse_sequences(words, lengths) if self.reversed else words
        ends = []
        for number, layer in enumerate(cast("list[RecurrentLayer]", list(self.layers))):
            outputs, end = layer.read(self.drop(x), lengths)
            x = x + outputs if number else outputs
            ends.append(end)
        return reverse_sequences(x, lengths) if self.reversed else x, ends


def reverse_sequences(
    x: Float[Tensor, "B S D"], lengths: Int[Tensor, " B"]
) -> Float[Tensor, "B S D"]:
    """Return the sequences in reverse order, with padding still at the end."""
    position = torch.arange(x.size(1), device=x.device)
    mirrored = lengths[:, None] - 1 - position
    order = mirrored.where(mirrored >= 0, position)
    return x.gather(1, order[:, :, None].expand_as(x))


class _Bridge(nn.Module):
    """Compute the initial state of a decoder layer from the last state of an encoder layer."""

    def __init__(self, config: RnnConfig) -> None:
        super().__init__()
        self.parts = nn.ModuleList(
            nn.Sequential(build_linear(config.hidden_width, config.hidden_width), nn.Tanh())
            for _ in range(STATE_TENSORS[config.cell] if config.bridge == "projection" else 0)
        )

    def forward(self, last: CellState) -> CellState:
        """Return the initial state."""
        if not self.parts:
            return last
        return tuple(project(part) for project, part in zip(self.parts, last, strict=True))


class Attention(nn.Module):
    """Attention to the source, and the attentional vector (Luong et al. 2015, section 3.1).

    ``additive`` has the same scores as ``concat`` (Bahdanau et al. 2015, appendix A.1.2), but the
    decoder attends before its step.
    """

    def __init__(self, kind: AttentionKind, width: int, *, scaled: bool = False) -> None:
        super().__init__()
        self.multiplies = kind in ("dot", "general")
        self.scale = nn.Parameter(torch.ones(())) if scaled else None
        self.key = nn.Identity() if kind == "dot" else build_linear(width, width, bias=False)
        self.query = nn.Identity() if self.multiplies else build_linear(width, width)
        self.score = nn.Identity() if self.multiplies else build_linear(width, 1, bias=False)
        self.combine = build_linear(2 * width, width)

    def forward(
        self, queries: Float[Tensor, "R Q C"], memory: RnnMemory
    ) -> tuple[Float[Tensor, "R Q C"], Float[Tensor, "R Q S"]]:
        """Return the context and weights of every query; zeros if a source is only padding."""
        keys, values = memory.keys, memory.values
        rows, positions, _ = queries.shape
        # rows of one sentence share its keys: (B * K, Q, C) to (B, K * Q, C)
        query = self.query(queries).reshape(keys.size(0), -1, keys.size(2))
        weights = masked_softmax(self._scores(query, keys), memory.blocked)
        return (weights @ values).view(rows, positions, -1), weights.view(rows, positions, -1)

    def vector(
        self, context: Float[Tensor, "*N C"], features: Float[Tensor, "*N C"]
    ) -> Float[Tensor, "*N C"]:
        """Return the attentional vector of the context and the decoder's output."""
        return self.combine(torch.cat([context, features], dim=-1)).tanh()

    def _scores(self, query: Tensor, keys: Tensor) -> Float[Tensor, "B Q S"]:
        if self.multiplies:
            scores = query @ keys.transpose(1, 2)
            return scores if self.scale is None else scores * self.scale
        return self.score((query[:, :, None] + keys[:, None]).tanh()).squeeze(3)


class _ParallelDecoder(nn.Module):
    """Decode all positions at once, layer by layer, then attend from all of them."""

    def __init__(self, config: RnnConfig, attention: Attention | None) -> None:
        super().__init__()
        self.attention = attention
        self.layers = nn.ModuleList(
            RecurrentLayer(config.cell, inputs, config.hidden_width)
            for inputs in list_input_widths(config, config.decoder_layers)
        )
        self.drop = Dropout(config.dropout)

    def forward(self, words: Float[Tensor, "R T D"], memory: RnnMemory, state: RnnState) -> Decoded:
        """Read the next words of every row."""
        x, layers = words, []
        for number, (layer, before) in enumerate(zip(self.layers, state.layers, strict=True)):
            outputs, after = layer(self.drop(x), before)
            x = x + outputs if number else outputs
            layers.append(after)
        if self.attention is None:
            return x, None, RnnState(tuple(layers), state.vector)
        context, weights = self.attention(x, memory)
        vectors = self.attention.vector(context, x)
        return vectors, weights, RnnState(tuple(layers), vectors[:, -1])


class _StepwiseDecoder(nn.Module):
    """Decode position by position, because each position needs the previous attention."""

    def __init__(self, config: RnnConfig, attention: Attention) -> None:
        super().__init__()
        self.attention = attention
        self.attends_first = config.attention == "additive"
        self.input_feeding = config.input_feeding
        width = config.hidden_width
        fed = width * (self.attends_first + self.input_feeding)
        self.layers = nn.ModuleList(
            RecurrentStep(config.cell, inputs, 0 if number else fed, width)
            for number, inputs in enumerate(list_input_widths(config, config.decoder_layers))
        )
        self.drop = Dropout(config.dropout)

    def forward(self, words: Float[Tensor, "R T D"], memory: RnnMemory, state: RnnState) -> Decoded:
        """Read the next words of every row."""
        words = self.drop(words)
        vectors, weights = [], []
        for prepared in self._layers()[0].prepare(words).unbind(dim=1):
            weight, state = self._step(prepared, memory, state)
            weights.append(weight)
            vectors.append(state.vector)
        return torch.stack(vectors, dim=1), torch.cat(weights, dim=1), state

    def _step(
        self, prepared: Float[Tensor, "R gates"], memory: RnnMemory, state: RnnState
    ) -> tuple[Float[Tensor, "R 1 S"], RnnState]:
        """Read one position; return its attention weights and the state after it."""
        fed = [state.vector] if self.input_feeding else []
        if self.attends_first:
            context, weights = self.attention(state.layers[-1][0][:, None], memory)
            fed.append(context[:, 0])
        x, layers = self._advance(prepared, torch.cat(fed, dim=1), state.layers)
        if not self.attends_first:
            context, weights = self.attention(x[:, None], memory)
        return weights, RnnState(layers, self.attention.vector(context[:, 0], x))

    def _advance(
        self, prepared: Tensor, fed: Tensor, before: tuple[CellState, ...]
    ) -> tuple[Float[Tensor, "R C"], tuple[CellState, ...]]:
        """Return the last layer's features, and the state of every layer."""
        first, *upper_layers = self._layers()
        after = [first(prepared, fed, before[0])]
        x = after[0][0]
        for layer, state in zip(upper_layers, before[1:], strict=True):
            after.append(layer(layer.prepare(self.drop(x)), None, state))
            x = x + after[-1][0]
        return x, tuple(after)

    def _layers(self) -> list[RecurrentStep]:
        return cast("list[RecurrentStep]", list(self.layers))


class Rnn(Seq2Seq[RnnMemory, RnnState]):
    """Sequence to sequence with recurrent layers.

    Raises:
        ValueError: if ``tie`` does not allow vocabularies of different sizes or pretrained vectors.
    """

    def __init__(
        self,
        config: RnnConfig,
        *,
        source_size: int,
        target_size: int,
        pretrained: Pretrained | None = None,
    ) -> None:
        super().__init__()
        self.source_embedding = build_word_embedding(config, source_size, pretrained, "source")
        self.target_embedding = build_word_embedding(config, target_size, pretrained, "target")
        self.scale = config.width**0.5 if config.scale_embeddings else 1.0
        self.source_start = config.source_start
        self.encoder = Encoder(config)
        self.bridges = nn.ModuleList(_Bridge(config) for _ in range(config.decoder_layers))
        self.decoder = build_decoder(config)
        self.readout = build_linear(config.hidden_width, config.width)
        self.output = OutputLayer(config, target_size)
        self.drop = Dropout(config.dropout)
        tie(config, self.source_embedding, self.target_embedding, self.output)

    @override
    def encode(self, source: Int[Tensor, "B S"], source_padding: Bool[Tensor, "B S"]) -> RnnMemory:
        source, source_padding = self.prepend_source_start(source, source_padding)
        words = self.source_embedding(source) * self.scale
        values, ends = self.encoder(words, source_padding)
        ends += ends[-1:] * (len(self.bridges) - len(ends))
        # in bfloat16, small updates of a state would be lost
        first = tuple(
            tuple(part.to(words.dtype) for part in bridge(end))
            for bridge, end in zip(self.bridges, ends, strict=False)
        )
        attention = self.decoder.attention
        keys = values if attention is None else attention.key(values)
        return RnnMemory(first, keys, values.to(keys.dtype), source_padding[:, None])

    @override
    def start(self, memory: RnnMemory, beam_size: int = 1) -> RnnState:
        layers = tuple(
            tuple(part.repeat_interleave(beam_size, dim=0) for part in layer)
            for layer in memory.first
        )
        return RnnState(layers, torch.zeros_like(layers[-1][0]))

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], memory: RnnMemory, state: RnnState
    ) -> tuple[Float[Tensor, "R T D"], RnnState]:
        vectors, _, after = self._read(tokens, memory, state)
        vectors = self.drop(vectors)
        return self.readout(vectors), after

    @override
    def attention(
        self, tokens: Int[Tensor, "B T"], memory: RnnMemory
    ) -> Float[Tensor, "B T S"] | None:
        _, weights, _ = self._read(tokens, memory, self.start(memory))
        return None if weights is None else self.drop_source_start(weights)

    def _read(self, tokens: Tensor, memory: RnnMemory, state: RnnState) -> Decoded:
        return self.decoder(self.target_embedding(tokens) * self.scale, memory, state)


def build_decoder(config: RnnConfig) -> _ParallelDecoder | _StepwiseDecoder:
    """Return the parallel decoder if the settings allow it, otherwise the stepwise decoder."""
    if config.attention == "none":
        return _ParallelDecoder(config, None)
    attention = Attention(
        config.attention, config.hidden_width, scaled=config.trained_attention_scale
    )
    if config.attention == "additive" or config.input_feeding:
        return _StepwiseDecoder(config, attention)
    return _ParallelDecoder(config, attention)


def list_input_widths(config: RnnConfig, layers: int) -> list[int]:
    """Return the number of input features of each layer."""
    return [config.width, *[config.hidden_width] * (layers - 1)]


def build_linear(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """Return a dense layer, initialised by Glorot's rule, with zero bias."""
    layer = Dense(inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer

"""Recurrent layers: over all positions at once, or step by step with something fed in.

Training with dropout between steps computes step by step what torch's layer computes, for that has
no place for a mask on the recurrent state.

Dimension letters as in ``seq2seq.py``, and C features of a layer's state.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt_core.models.dense import Dense
from nmt_core.models.dropout import dropout
from nmt_core.models.settings import CellKind

CellState = tuple[Tensor, ...]
"""State of a layer, (R, C) each: its hidden features, and the cell of an LSTM."""


def draw_state_mask(hidden: Float[Tensor, "R C"], probability: float) -> Float[Tensor, "R C"]:
    """Return a factor for each feature of a state, for all steps of its sequence.

    It is 0 with the given probability, and elsewhere makes up for that (Gal and Ghahramani 2016,
    section 4; ``recurrent_dropout`` in Keras).
    """
    return dropout(torch.ones_like(hidden), probability, training=True)


def lstm(gates: Float[Tensor, "R 4C"], cell: Float[Tensor, "R C"]) -> CellState:
    """Return hidden features and cell, from the sums that go into the gates."""
    write, keep, value, show = gates.chunk(4, dim=1)
    cell = keep.sigmoid() * cell + write.sigmoid() * value.tanh()
    return show.sigmoid() * cell.tanh(), cell


def gru(
    inputs: Float[Tensor, "R 3C"], recurrent: Float[Tensor, "R 3C"], hidden: Float[Tensor, "R C"]
) -> CellState:
    """Return hidden features, with the reset gate after the recurrent product, as in cuDNN."""
    reset_in, keep_in, value_in = inputs.chunk(3, dim=1)
    reset_back, keep_back, value_back = recurrent.chunk(3, dim=1)
    reset, keep = (reset_in + reset_back).sigmoid(), (keep_in + keep_back).sigmoid()
    value = (value_in + reset * value_back).tanh()
    return (torch.lerp(value, hidden, keep),)


def choose(is_token: Bool[Tensor, "R 1"], after: CellState, before: CellState) -> CellState:
    """Return the state after a position where there is one, and before it where not."""
    return tuple(new.where(is_token, old) for new, old in zip(after, before, strict=True))


def step_lstm(
    prepared: Float[Tensor, "R 4C"], recurrent: Float[Tensor, "R 4C"], state: CellState
) -> CellState:
    """Return hidden features and cell after one position, from the sums of its gates."""
    return lstm((prepared + recurrent).to(state[0].dtype), state[1])


def step_gru(
    prepared: Float[Tensor, "R 3C"], recurrent: Float[Tensor, "R 3C"], state: CellState
) -> CellState:
    """Return hidden features after one position."""
    precise = state[0].dtype
    return gru(prepared.to(precise), recurrent.to(precise), state[0])


def step_tanh(
    prepared: Float[Tensor, "R C"], recurrent: Float[Tensor, "R C"], state: CellState
) -> CellState:
    """Return hidden features after one position."""
    return ((prepared + recurrent).to(state[0].dtype).tanh(),)


STEPS: dict[type[nn.Module], Callable[[Tensor, Tensor, CellState], CellState]] = {
    nn.LSTM: step_lstm,
    nn.GRU: step_gru,
    nn.RNN: step_tanh,
}
"""One position of torch's layers."""


def unroll(
    layer: nn.RNNBase,
    x: Float[Tensor, "R T I"],
    state: CellState,
    mask: Float[Tensor, "R C"],
    *,
    lengths: Int[Tensor, " R"] | None = None,
    backwards: bool = False,
) -> tuple[Float[Tensor, "R T C"], CellState]:
    """Return the outputs of one direction of torch's layer, and its last state.

    Args:
        layer: of one layer's weights.
        x: what it reads.
        state: what it begins from.
        mask: factor of the hidden features wherever they go into gates.
        lengths: positions of every row; those behind it give zeros and change no state.
        backwards: read from the last position to the first, with the weights for that.
    """
    end = "_l0_reverse" if backwards else "_l0"
    inputs = (getattr(layer, f"{name}{end}") for name in ("weight_ih", "bias_ih"))
    recurrent = [getattr(layer, f"{name}{end}") for name in ("weight_hh", "bias_hh")]
    prepared = F.linear(x, *inputs)
    advance = STEPS[type(layer)]
    outputs = []
    order = range(x.size(1))
    for position in reversed(order) if backwards else order:
        after = advance(prepared[:, position], F.linear(state[0] * mask, *recurrent), state)
        shown = after[0]
        if lengths is not None:
            is_token = (position < lengths)[:, None]
            state = choose(is_token, after, state)
            shown = shown * is_token
        else:
            state = after
        outputs.append(shown)
    return torch.stack(outputs[::-1] if backwards else outputs, dim=1), state


TORCH_LAYERS: dict[CellKind, type[nn.LSTM | nn.GRU | nn.RNN]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "lstm_1997": nn.LSTM,
    "tanh": nn.RNN,
}
"""Torch's layers over all positions."""
STATE_PARTS: dict[CellKind, int] = {"lstm": 2, "gru": 1, "lstm_1997": 2, "tanh": 1}
GATES: dict[CellKind, int] = {"lstm": 4, "gru": 3, "lstm_1997": 4, "tanh": 1}
FORGET = 1
"""The forget gate's place among those of an LSTM: input, forget, cell, output."""

OPEN = 100.0
"""The bias of a gate that never closes: its sigmoid is 1 in any precision, its gradient 0."""


class RecurrentLayer(nn.Module):
    """A layer of LSTM (Hochreiter and Schmidhuber 1997; Gers et al. 2000) or other cells.

    They are GRU (Cho et al. 2014), and ``tanh`` (Elman 1990), in which h = tanh(W x + U h + b).

    Args:
        cell: which of them.
        inputs: features that come in.
        width: features that go out, C; two directions share them evenly.
        bidirectional: read from both ends.
        state_dropout: probability of dropping a feature of the state on its way to the next step.
    """

    def __init__(
        self,
        cell: CellKind,
        inputs: int,
        width: int,
        *,
        bidirectional: bool = False,
        state_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.state_dropout = state_dropout
        half = width // 2 if bidirectional else width
        self.cells = TORCH_LAYERS[cell](inputs, half, batch_first=True, bidirectional=bidirectional)
        for name, weight in self.cells.named_parameters():
            first = name.startswith(("weight_ih", "bias_ih"))
            initialize(weight, cell, recurrent=not first)

    def forward(
        self, x: Float[Tensor, "R T I"], state: CellState
    ) -> tuple[Float[Tensor, "R T C"], CellState]:
        """Read the next positions of every row, in one direction."""
        if self.training and self.state_dropout:
            outputs, after = unroll(self.cells, x, state, self._mask(state[0]))
            return outputs.to(x.dtype), after
        outputs, last = self.cells(x, _packed([part[None] for part in state]))
        return outputs.to(x.dtype), tuple(part[0] for part in _parts(last))

    def read(
        self, x: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S C"], CellState]:
        """Read whole sequences of these lengths, from each direction that there is.

        Return zeros at padding, and the state at the end of every sequence.
        """
        if self.training and self.state_dropout:
            return self._read_dropping(x, lengths)
        sequences = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.cells(sequences)
        padded, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.size(1))
        ends = tuple(part.transpose(0, 1).flatten(1) for part in _parts(last))
        return padded.to(x.dtype), ends

    def _read_dropping(
        self, x: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S C"], CellState]:
        precise = torch.promote_types(x.dtype, torch.float32)
        nothing = x.new_zeros(x.size(0), self.cells.hidden_size, dtype=precise)
        start = (nothing,) * (2 if isinstance(self.cells, nn.LSTM) else 1)
        directions = [
            unroll(self.cells, x, start, self._mask(nothing), lengths=lengths, backwards=backwards)
            for backwards in ((False, True) if self.cells.bidirectional else (False,))
        ]
        ends = zip(*(end for _, end in directions), strict=True)
        outputs = torch.cat([outputs for outputs, _ in directions], dim=2)
        return outputs.to(x.dtype), tuple(torch.cat(parts, dim=1) for parts in ends)

    def _mask(self, hidden: Float[Tensor, "R C"]) -> Float[Tensor, "R C"]:
        return draw_state_mask(hidden, self.state_dropout)


def _parts(last: Tensor | CellState) -> CellState:
    """Return torch's state as a tuple, which it is for an LSTM alone."""
    return last if isinstance(last, tuple) else (last,)


def _packed(parts: list[Tensor]) -> Tensor | CellState:
    """Return the state that torch wants."""
    return tuple(parts) if len(parts) > 1 else parts[0]


class RecurrentStep(nn.Module):
    """One position of a layer like :class:`RecurrentLayer`, with input feeding.

    What does not wait for the step before is computed for all positions at once, by
    :meth:`prepare`.

    Args:
        cell: which equations.
        inputs: features that come in.
        fed: features that are only known when the step is made; 0 for none.
        width: features that go out, C.
    """

    def __init__(self, cell: CellKind, inputs: int, fed: int, width: int) -> None:
        super().__init__()
        self.cell = cell
        gates = GATES[cell] * width
        self.input = Dense(inputs, gates)
        self.feed = Dense(fed, gates, bias=False) if fed else None
        self.recurrent = Dense(width, gates, bias=cell == "gru")
        for layer, recurrent in ((self.input, False), (self.feed, False), (self.recurrent, True)):
            for weight in layer.parameters() if layer else ():
                initialize(weight, cell, recurrent=recurrent)

    def prepare(self, x: Float[Tensor, "R T I"]) -> Float[Tensor, "R T gates"]:
        """Return the input's part of every position's gates."""
        return self.input(x)

    def forward(
        self,
        prepared: Float[Tensor, "R gates"],
        fed: Float[Tensor, "R F"] | None,
        state: CellState,
        mask: Float[Tensor, "R C"] | None = None,
    ) -> CellState:
        """Return the state after one position; its first part goes out.

        ``mask`` is a factor of the hidden features where they go into gates.
        """
        if self.feed is not None:
            prepared = prepared + self.feed(fed)
        recurrent = self.recurrent(state[0] if mask is None else state[0] * mask)
        precise = state[0].dtype
        if self.cell == "gru":
            return gru(prepared.to(precise), recurrent.to(precise), state[0])
        sums = (prepared + recurrent).to(precise)
        return (sums.tanh(),) if self.cell == "tanh" else lstm(sums, state[1])


def has_forget_gate(cell: CellKind) -> bool:
    """Tell whether a cell's weights have a part for a forget gate; that of 1997 stays open."""
    return cell in {"lstm", "lstm_1997"}


def open_forget_gate(bias: Tensor, cell: CellKind) -> None:
    """Set the input's bias of an LSTM's forget gate: open at first, or for ever."""
    nn.init.constant_(bias.detach().chunk(GATES[cell])[FORGET], 1.0 if cell == "lstm" else OPEN)


def initialize(weight: Tensor, cell: CellKind, *, recurrent: bool) -> None:
    """Draw recurrent matrices orthogonal and others by Glorot's rule, gate by gate; zero biases.

    The forget gate begins open (Jozefowicz et al. 2015): of its biases, the input's is 1. That of
    1997 stays open, since nothing goes into it but a bias whose gradient is 0.
    """
    gates = weight.detach().chunk(GATES[cell])
    for gate in gates:
        if weight.dim() == 1:
            nn.init.zeros_(gate)
        elif recurrent:
            nn.init.orthogonal_(gate)
        else:
            nn.init.xavier_uniform_(gate)
    if weight.dim() == 1 and has_forget_gate(cell) and not recurrent:
        open_forget_gate(weight, cell)
    if weight.dim() > 1 and cell == "lstm_1997":
        nn.init.zeros_(gates[FORGET])

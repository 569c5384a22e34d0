"""Recurrent layers: over all positions at once, or step by step with something fed in.

Dimension letters as in ``seq2seq.py``, and C features of a layer's state.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt_core.models.dense import Dense
from nmt_core.models.settings import CellKind

CellState = tuple[Tensor, ...]
"""What a layer remembers, (R, C) each: its hidden features, and the cell of an LSTM."""

STATE_PARTS: dict[CellKind, int] = {"lstm": 2, "gru": 1}
GATES: dict[CellKind, int] = {"lstm": 4, "gru": 3}
FORGET = 1
"""The forget gate's place among those of an LSTM: input, forget, cell, output."""


class RecurrentLayer(nn.Module):
    """An LSTM (Hochreiter and Schmidhuber 1997; Gers et al. 2000) or GRU (Cho et al. 2014) layer.

    Args:
        cell: which of them.
        inputs: features that come in.
        width: features that go out, C; two directions share them evenly.
        bidirectional: read from both ends.
    """

    def __init__(
        self, cell: CellKind, inputs: int, width: int, *, bidirectional: bool = False
    ) -> None:
        super().__init__()
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        half = width // 2 if bidirectional else width
        self.cells = kind(inputs, half, batch_first=True, bidirectional=bidirectional)
        for name, weight in self.cells.named_parameters():
            first = name.startswith(("weight_ih", "bias_ih"))
            initialize(weight, cell, recurrent=not first)

    def forward(
        self, x: Float[Tensor, "R T I"], state: CellState
    ) -> tuple[Float[Tensor, "R T C"], CellState]:
        """Read the next positions of every row, in one direction."""
        outputs, last = self.cells(x, _packed([part[None] for part in state]))
        return outputs.to(x.dtype), tuple(part[0] for part in _parts(last))

    def read(
        self, x: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S C"], CellState]:
        """Read whole sequences of these lengths, from each direction that there is.

        Return zeros at padding, and the state at the end of every sequence.
        """
        sequences = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.cells(sequences)
        padded, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.size(1))
        ends = tuple(part.transpose(0, 1).flatten(1) for part in _parts(last))
        return padded.to(x.dtype), ends


def _parts(last: Tensor | CellState) -> CellState:
    """Return what torch calls a state as a tuple, which it is of an LSTM alone."""
    return last if isinstance(last, tuple) else (last,)


def _packed(parts: list[Tensor]) -> Tensor | CellState:
    """Return the state that torch wants."""
    return tuple(parts) if len(parts) > 1 else parts[0]


class RecurrentStep(nn.Module):
    """One position of a layer like :class:`RecurrentLayer`, beside whose input something is fed.

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
        self, prepared: Float[Tensor, "R gates"], fed: Float[Tensor, "R F"] | None, state: CellState
    ) -> CellState:
        """Return the state after one position; its first part goes out."""
        if self.feed is not None:
            prepared = prepared + self.feed(fed)
        recurrent = self.recurrent(state[0])
        precise = state[0].dtype
        if self.cell == "lstm":
            gates = (prepared + recurrent).to(precise)
            return lstm(gates, state[1])
        return gru(prepared.to(precise), recurrent.to(precise), state[0])


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


def initialize(weight: Tensor, cell: CellKind, *, recurrent: bool) -> None:
    """Draw recurrent matrices orthogonal and others by Glorot's rule, gate by gate; zero biases.

    The forget gate begins open (Jozefowicz et al. 2015): of its biases, the input's is 1.
    """
    gates = weight.detach().chunk(GATES[cell])
    for gate in gates:
        if weight.dim() == 1:
            nn.init.zeros_(gate)
        elif recurrent:
            nn.init.orthogonal_(gate)
        else:
            nn.init.xavier_uniform_(gate)
    if weight.dim() == 1 and cell == "lstm" and not recurrent:
        nn.init.ones_(gates[FORGET])

"""Recurrent layers: over all positions at once, or step by step with input feeding.

Dimension letters as in ``seq2seq.py``, plus C for the features of a layer's state.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt_core.models.layers import Dense
from nmt_core.models.settings import CellKind

CellState = tuple[Tensor, ...]
"""State of a layer, (R, C) each: its hidden features, then the cell state of an LSTM."""

TORCH_LAYERS: dict[CellKind, type[nn.LSTM | nn.GRU | nn.RNN]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "tanh": nn.RNN,
}
"""PyTorch's layers over all positions."""
STATE_TENSORS: dict[CellKind, int] = {"lstm": 2, "gru": 1, "tanh": 1}
GATES: dict[CellKind, int] = {"lstm": 4, "gru": 3, "tanh": 1}
FORGET = 1
"""Index of the forget gate in an LSTM's gates: input, forget, cell, output."""


def advance(
    cell: CellKind,
    prepared: Float[Tensor, "R gates"],
    recurrent: Float[Tensor, "R gates"],
    state: CellState,
) -> CellState:
    """Return the state after one position, from the gate inputs of ``x`` and of the last state.

    A GRU applies the reset gate after the recurrent product, as in cuDNN.
    """
    precise = state[0].dtype
    if cell == "gru":
        reset_in, keep_in, value_in = prepared.to(precise).chunk(3, dim=1)
        reset_back, keep_back, value_back = recurrent.to(precise).chunk(3, dim=1)
        reset, keep = (reset_in + reset_back).sigmoid(), (keep_in + keep_back).sigmoid()
        return (torch.lerp((value_in + reset * value_back).tanh(), state[0], keep),)
    sums = (prepared + recurrent).to(precise)
    if cell == "tanh":
        return (sums.tanh(),)
    write, keep, value, show = sums.chunk(4, dim=1)
    memory = keep.sigmoid() * state[1] + write.sigmoid() * value.tanh()
    return show.sigmoid() * memory.tanh(), memory


def read_cells(
    cells: nn.RNNBase, x: Float[Tensor, "R T I"], state: CellState
) -> tuple[Float[Tensor, "R T C"], CellState]:
    """Return the outputs of a unidirectional torch layer, and its state after the last position."""
    start = [part[None] for part in state]
    outputs, last = cells(x, tuple(start) if len(start) > 1 else start[0])
    return outputs.to(x.dtype), tuple(part[0] for part in _parts(last))


class RecurrentLayer(nn.Module):
    """A recurrent layer with LSTM, GRU or plain tanh cells.

    LSTM: Hochreiter and Schmidhuber 1997, Gers et al. 2000; GRU: Cho et al. 2014; ``tanh``: Elman
    1990, h = tanh(W x + U h + b). In a bidirectional layer, each direction has width / 2 features.
    """

    def __init__(
        self, cell: CellKind, inputs: int, width: int, *, bidirectional: bool = False
    ) -> None:
        super().__init__()
        half = width // 2 if bidirectional else width
        self.cells = TORCH_LAYERS[cell](inputs, half, batch_first=True, bidirectional=bidirectional)
        for name, weight in self.cells.named_parameters():
            first = name.startswith(("weight_ih", "bias_ih"))
            initialize(weight, cell, recurrent=not first)

    def forward(
        self, x: Float[Tensor, "R T I"], state: CellState
    ) -> tuple[Float[Tensor, "R T C"], CellState]:
        """Return the outputs at the next positions, and the new state; unidirectional only."""
        return read_cells(self.cells, x, state)

    def read(
        self, x: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S C"], CellState]:
        """Return the outputs of whole sequences, zeros at padding, and their last states."""
        sequences = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.cells(sequences)
        padded, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.size(1))
        ends = tuple(part.transpose(0, 1).flatten(1) for part in _parts(last))
        return padded.to(x.dtype), ends


def _parts(last: Tensor | CellState) -> CellState:
    """Return torch's state as a tuple; only an LSTM's state already is a tuple."""
    return last if isinstance(last, tuple) else (last,)


class RecurrentStep(nn.Module):
    """One step of a layer like ``RecurrentLayer``, with input feeding.

    ``prepare`` computes the part that does not depend on the previous step, for all positions at
    once. The ``fed`` features are available only at the step.
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
        """Return the part of the gate inputs that depends on ``x``, at every position."""
        return self.input(x)

    def forward(
        self, prepared: Float[Tensor, "R gates"], fed: Float[Tensor, "R F"] | None, state: CellState
    ) -> CellState:
        """Return the state after one position; its first tensor is the output."""
        if self.feed is not None:
            prepared = prepared + self.feed(fed)
        return advance(self.cell, prepared, self.recurrent(state[0]), state)


def initialize(weight: Tensor, cell: CellKind, *, recurrent: bool) -> None:
    """Initialise each gate: recurrent weights orthogonal, others by Glorot's rule, biases 0.

    The forget gate's input bias is 1, so that the gate starts open (Jozefowicz et al. 2015).
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

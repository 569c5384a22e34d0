"""A recurrent layer step by step, with dropout between steps.

It computes with the weights of torch's layer what that computes, and beside that keeps a mask on
the recurrent state, which torch's has no place for. Only training takes it.

Dimension letters as in ``seq2seq.py``, and C features of a layer's state.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt_core.models.dropout import dropout

CellState = tuple[Tensor, ...]
"""What a layer remembers, (R, C) each: its hidden features, and the cell of an LSTM."""


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

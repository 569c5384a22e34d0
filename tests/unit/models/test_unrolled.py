"""The LSTM of 1997 by the equations of Vahid 2017, and dropout on what recurs by a plain loop."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from nmt_core.data.batch import collate
from nmt_core.models import recurrence, rnn
from nmt_core.models.architectures import build_model
from nmt_core.models.recurrence import (
    FORGET,
    RecurrentLayer,
    RecurrentStep,
    draw_state_mask,
    unroll,
)
from nmt_core.models.settings import RnnConfig
from nmt_core.training.loss import batch_loss

ROWS, STEPS, INPUTS, WIDTH = 3, 5, 4, 6
LENGTHS = torch.tensor([5, 2, 3])


def built(cell, **more):
    """A layer with weights that no rule made alike, but for those of a gate that stays open."""
    torch.manual_seed(0)
    layer = RecurrentLayer(cell, INPUTS, WIDTH, **more)
    with torch.no_grad():
        for weight in layer.parameters():
            noise = 0.3 * torch.randn_like(weight)
            if cell == "lstm_1997":
                noise.chunk(4)[FORGET].zero_()
            weight.add_(noise)
    return layer


def begin(layer):
    parts = 2 if isinstance(layer.cells, nn.LSTM) else 1
    return tuple(torch.randn(ROWS, WIDTH) for _ in range(parts))


def test_the_lstm_of_1997_adds_to_its_memory_and_forgets_nothing():
    """c_t = i_t * u_t + c_{t-1} (Vahid 2017, "LSTM; the math")."""
    layer = built("lstm_1997")
    x, (h, c) = torch.randn(ROWS, STEPS, INPUTS), begin(layer)
    found, last = layer(x, (h, c))
    cells = layer.cells
    for step in range(STEPS):
        sums = x[:, step] @ cells.weight_ih_l0.T + cells.bias_ih_l0
        sums = sums + h @ cells.weight_hh_l0.T + cells.bias_hh_l0
        i, _, u, o = sums.chunk(4, dim=1)
        c = i.sigmoid() * u.tanh() + c
        h = o.sigmoid() * c.tanh()
        assert_close(found[:, step], h)

    assert_close(last, (h, c))


def test_a_step_of_1997_is_the_layers():
    step = RecurrentStep("lstm_1997", INPUTS, 0, WIDTH)
    layer = built("lstm_1997")
    with torch.no_grad():
        step.input.weight.copy_(layer.cells.weight_ih_l0)
        step.input.bias.copy_(layer.cells.bias_ih_l0 + layer.cells.bias_hh_l0)
        step.recurrent.weight.copy_(layer.cells.weight_hh_l0)
    x, state = torch.randn(ROWS, STEPS, INPUTS), begin(layer)
    found, last = layer(x, state)
    for number, prepared in enumerate(step.prepare(x).unbind(dim=1)):
        state = step(prepared, None, state)
        assert_close(state[0], found[:, number])

    assert_close(state, last)


@pytest.mark.parametrize("dropping", [False, True])
def test_a_layer_without_gates_is_that_of_the_slides(dropping):
    """h_t = tanh(W x_t + U h_{t-1} + b) (Vahid 2017; Elman 1990), at once and step by step."""
    layer = built("tanh", state_dropout=0.5 if dropping else 0.0).train()
    x, start = torch.randn(ROWS, STEPS, INPUTS), begin(layer)
    torch.manual_seed(1)
    found, [last] = layer(x, start)
    torch.manual_seed(1)
    mask = draw_state_mask(start[0], 0.5).numpy() if dropping else 1.0
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    w, u, b, c = (getattr(layer.cells, name).detach().numpy() for name in names)
    for row in range(ROWS):
        h = start[0][row].numpy()
        factor = mask[row] if dropping else mask
        for step in range(STEPS):
            h = np.tanh(w @ x[row, step].numpy() + b + u @ (h * factor) + c)
            assert_close(found[row, step].detach().numpy(), h)
        assert_close(last[row].detach().numpy(), h)


# --- dropout on what recurs


@pytest.mark.parametrize("cell", ["lstm", "gru", "lstm_1997"])
@pytest.mark.parametrize("backwards", [False, True])
def test_with_nothing_dropped_it_is_torchs_layer(cell, backwards):
    layer = built(cell, bidirectional=True) if backwards else built(cell)
    width = layer.cells.hidden_size
    x, nothing = torch.randn(ROWS, STEPS, INPUTS), torch.zeros(ROWS, width)
    expected, ends = layer.read(x, LENGTHS)
    start = (nothing,) * len(ends)
    found, last = unroll(
        layer.cells, x, start, torch.ones(ROWS, width), lengths=LENGTHS, backwards=backwards
    )
    half = slice(width, None) if backwards else slice(width)

    assert_close(found, expected[:, :, half])
    assert_close(last, tuple(end[:, half] for end in ends))


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_what_is_dropped_goes_into_no_gate(cell):
    """With all of it dropped, every step sees its own input, and an LSTM its memory."""
    layer = built(cell)
    x, state = torch.randn(ROWS, STEPS, INPUTS), begin(layer)
    found, _ = unroll(layer.cells, x, state, torch.zeros(ROWS, WIDTH))
    for step in range(STEPS):
        blind = (torch.zeros(ROWS, WIDTH), *state[1:])
        expected, after = layer(x[:, step : step + 1], blind)
        if cell == "gru":  # the old features are kept by the gate, whatever goes into it
            keep = x[:, step] @ layer.cells.weight_ih_l0.T + layer.cells.bias_ih_l0
            keep = (keep + layer.cells.bias_hh_l0).chunk(3, dim=1)[1].sigmoid()
            after = (after[0] + keep * state[0],)
            expected = after[0][:, None]
        assert_close(found[:, step], expected[:, 0])
        state = after


def test_masks_drop_as_often_as_asked_and_keep_the_mean():
    torch.manual_seed(0)
    mask = draw_state_mask(torch.zeros(200, 500), 0.25)

    assert sorted(mask.unique().tolist()) == pytest.approx([0.0, 4 / 3])
    assert mask.mean().item() == pytest.approx(1.0, abs=0.01)
    assert (mask == 0).double().mean(dim=0).std() < 0.05
    assert len({tuple(row) for row in (mask == 0).tolist()}) == 200


SHAPES = {
    "fed": {"attention": "general", "input_feeding": True},
    "before": {"attention": "additive", "input_feeding": False},
    "whole": {"attention": "dot", "input_feeding": False},
}


def shaped(name, **more):
    torch.manual_seed(0)
    shape = {"width": 8, "hidden_width": 8, "encoder_layers": 2, "decoder_layers": 2}
    config = RnnConfig(**shape, **SHAPES[name], dropout=0.0, **more)
    return build_model(config, source_size=9, target_size=9)


@pytest.mark.parametrize("name", SHAPES)
def test_masks_matter_in_training_and_nowhere_else(name):
    batch = collate([([4, 5, 6], [6, 5, 4, 4]), ([4], [5])])

    def loss(model):
        torch.manual_seed(1)
        return batch_loss(model, batch, label_smoothing=0.0, per="token")[0].item()

    model, plain = shaped(name, state_dropout=0.5), shaped(name)
    assert all(
        torch.equal(a, b) for a, b in zip(model.parameters(), plain.parameters(), strict=True)
    )
    assert loss(model.train()) != loss(plain.train())
    assert loss(model.eval()) == loss(plain.eval())


@pytest.mark.parametrize("name", SHAPES)
def test_every_position_has_the_same_mask(name, monkeypatch):
    """Features that are dropped never matter: their columns of the recurrent weights do nothing."""
    mask = torch.tensor([0.0, 2.0] * 4)
    for module in (recurrence, rnn):
        monkeypatch.setattr(module, "draw_state_mask", lambda h, _: mask[: h.size(1)].expand_as(h))
    batch = collate([([4, 5, 6], [6, 5, 4, 4]), ([4], [5])])
    model = shaped(name, state_dropout=0.5).train()
    loss, _ = batch_loss(model, batch, label_smoothing=0.0, per="token")
    loss.backward()
    recurrent = [
        weight.grad
        for key, weight in model.named_parameters()
        if "weight_hh" in key or key.endswith("recurrent.weight")
    ]

    assert len(recurrent) == 4 + 2
    assert all((grad[:, 0::2] == 0).all() and (grad[:, 1::2] != 0).any() for grad in recurrent)

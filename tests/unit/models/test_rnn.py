"""Recurrent layers, attention and decoders are compared with torch's cells and plain loops."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import nn
from torch.testing import assert_close

from nmt_core.base.compute import cpu_has_bfloat16
from nmt_core.base.errors import ConfigError
from nmt_core.models.recurrence import RecurrentLayer, RecurrentStep
from nmt_core.models.rnn import Attention, Encoder, RnnMemory
from nmt_core.models.settings import RnnConfig, build_model, read_model_config
from nmt_core.text.vocabulary import BOS

WIDTH = 6
LENGTHS = (5, 2, 3)


def config(**changes):
    return RnnConfig(**{"width": 4, "hidden_width": WIDTH, "dropout": 0.0, **changes})


TORCHS = {"lstm": nn.LSTM, "gru": nn.GRU, "tanh": nn.RNN}
CELLS = {"lstm": nn.LSTMCell, "gru": nn.GRUCell, "tanh": nn.RNNCell}
"""Return torch's layers and their single steps."""


def padded(features, rows=LENGTHS):
    x = torch.randn(len(rows), max(rows), features)
    return x, torch.arange(max(rows)) >= torch.tensor(rows)[:, None]


def torchs(layer, cell):
    """Return what torch computes with a layer's weights for one sentence without padding."""
    twin = TORCHS[cell](
        layer.cells.input_size,
        layer.cells.hidden_size,
        batch_first=True,
        bidirectional=layer.cells.bidirectional,
    )
    twin.load_state_dict(layer.cells.state_dict())
    return twin


@pytest.mark.parametrize("cell", TORCHS)
@pytest.mark.parametrize("direction", ["bidirectional", "forward", "reversed"])
def test_the_encoder_equals_torchs_layers(cell, direction):
    """In a batch with longer sentences, with a residual in the second layer, from either end."""
    encoder = Encoder(config(cell=cell, direction=direction, encoder_layers=2))
    words, padding = padded(4)
    found, ends = encoder(words, padding)
    first, second = (torchs(layer, cell) for layer in encoder.layers)

    for row, length in enumerate(LENGTHS):
        x = words[row : row + 1, :length]
        below, first_end = first(x.flip(1) if direction == "reversed" else x)
        above, second_end = second(below)
        expected = below + above
        assert_close(
            found[row, :length], (expected.flip(1) if direction == "reversed" else expected)[0]
        )
        for end, layer_end in zip(ends, (first_end, second_end), strict=True):
            parts = layer_end if cell == "lstm" else (layer_end,)
            for part, expected_part in zip(end, parts, strict=True):
                assert_close(part[row], expected_part.flatten())


@pytest.mark.parametrize("cell", TORCHS)
def test_a_step_equals_torchs_cell_on_both_inputs(cell):
    step = RecurrentStep(cell, 4, 3, WIDTH)
    twin = CELLS[cell](4 + 3, WIDTH)
    nn.init.zeros_(twin.bias_hh)
    for layer in (step.input, step.recurrent):
        if layer.bias is not None:
            nn.init.normal_(layer.bias)
    with torch.no_grad():
        twin.weight_ih.copy_(torch.cat([step.input.weight, step.feed.weight], dim=1))
        twin.weight_hh.copy_(step.recurrent.weight)
        twin.bias_ih.copy_(step.input.bias)
        if cell == "gru":
            twin.bias_hh.copy_(step.recurrent.bias)
    x, fed, *state = torch.randn(2, 4), torch.randn(2, 3), *torch.randn(2, 2, WIDTH)
    state = tuple(state) if cell == "lstm" else (state[0],)

    found = step(step.prepare(x[:, None])[:, 0], fed, state)
    expected = twin(torch.cat([x, fed], dim=1), state if cell == "lstm" else state[0])
    assert_close(found, expected if cell == "lstm" else (expected,))


@pytest.mark.parametrize("cell", TORCHS)
def test_steps_without_feed_equal_whole_layers(cell):
    """The decoder with steps and the decoder without steps agree if both apply."""
    shape = config(cell=cell, decoder_layers=2, input_feeding=False, attention="general")
    whole = build_model(shape, source_size=9, target_size=9)
    stepped = build_model(
        shape.model_copy(update={"input_feeding": True}), source_size=9, target_size=9
    )
    stepped.load_state_dict(whole.state_dict(), strict=False)
    for step, layer in zip(stepped.decoder.layers, whole.decoder.layers, strict=True):
        cells = layer.cells
        step.input.load_state_dict({"weight": cells.weight_ih_l0, "bias": cells.bias_ih_l0})
        recurrent = {"weight": cells.weight_hh_l0} | (
            {"bias": cells.bias_hh_l0} if cell == "gru" else {}
        )
        step.recurrent.load_state_dict(recurrent)
    nn.init.zeros_(stepped.decoder.layers[0].feed.weight)
    source, target = torch.randint(4, 9, (3, 5)), torch.randint(4, 9, (3, 4))

    assert_close(stepped(source, source == 0, target), whole(source, source == 0, target))


def scores(kind, attention, query, values):
    """Return the score of each position, by the papers' formulas, one number at a time."""
    weight = {name: value.detach().numpy() for name, value in attention.named_parameters()}
    scale = weight.get("scale", 1.0)
    for value in values:
        if kind == "dot":
            yield scale * (query @ value)
        elif kind == "general":
            yield scale * (query @ (weight["key.weight"] @ value))
        else:
            mixed = weight["query.weight"] @ query + weight["query.bias"]
            yield (weight["score.weight"] @ np.tanh(mixed + weight["key.weight"] @ value)).item()


@pytest.mark.parametrize(
    ("kind", "scale"),
    [(kind, None) for kind in ("dot", "general", "concat", "additive")]
    + [("dot", 1.7), ("general", 0.3)],
)
def test_attention_equals_the_papers(kind, scale):
    """For two hypotheses of each sentence, with three queries."""
    attention = Attention(kind, WIDTH, scaled=scale is not None).double()
    if scale is not None:
        assert attention.scale == 1
        attention.scale.data.fill_(scale)
    values, padding = padded(WIDTH)
    values = values.double()
    memory = RnnMemory((), attention.key(values), values, padding[:, None])
    queries = torch.randn(2 * len(LENGTHS), 3, WIDTH, dtype=torch.float64)
    context, weights = attention(queries, memory)
    vectors = attention.vector(context, queries).detach().numpy()

    combine, bias = (weight.detach().numpy() for weight in attention.combine.parameters())
    for row in range(len(queries)):
        seen = values[row // 2, : LENGTHS[row // 2]].numpy()
        for place, query in enumerate(queries[row].numpy()):
            exponentials = np.exp(list(scores(kind, attention, query, seen)))
            expected = exponentials / exponentials.sum()
            mean = sum(weight * value for weight, value in zip(expected, seen, strict=True))
            vector = np.tanh(combine @ np.concatenate([mean, query]) + bias)

            assert expected == pytest.approx(weights[row, place, : len(seen)].detach().numpy())
            assert not weights[row, place, len(seen) :].any()
            assert vector == pytest.approx(vectors[row, place])


@pytest.mark.parametrize("kind", ["general", "additive"])
def test_an_attentional_vector_feeds_the_next_step(kind):
    """The decoder equals the papers' loop: it reads the word and the last attentional vector."""
    model = build_model(config(attention=kind, cell="gru"), source_size=9, target_size=9).eval()
    source, target = torch.tensor([[4, 5, 6]]), torch.tensor([[BOS, 7, 8, 4]])
    memory = model.encode(source, source == 0)
    found, _ = model.decode(target, memory, model.start(memory))

    attention, [step] = model.decoder.attention, model.decoder.layers
    state, vector = memory.first[0], torch.zeros(1, WIDTH)
    for place, token in enumerate(target[0]):
        fed = [vector]
        if kind == "additive":
            seen, _ = attention(state[0][:, None], memory)
            fed.append(seen[:, 0])
        word = model.target_embedding(token[None]) * model.scale
        state = step(step.prepare(word), torch.cat(fed, dim=1), state)
        if kind == "general":
            seen, _ = attention(state[0][:, None], memory)
        vector = attention.vector(seen[:, 0], state[0])
        assert_close(found[:, place], model.readout(vector))


@pytest.mark.parametrize("cell", TORCHS)
@pytest.mark.parametrize(("encoder_layers", "expected"), [(1, (0, 0, 0)), (3, (0, 1, 2))])
def test_the_decoder_starts_from_the_encoders_states(cell, encoder_layers, expected):
    """Layer by layer; layers that the encoder lacks start from its last."""
    shape = config(cell=cell, encoder_layers=encoder_layers, decoder_layers=3)
    model = build_model(shape, source_size=9, target_size=9)
    source = torch.tensor([[4, 5, 6]])
    _, ends = model.encoder(model.source_embedding(source) * model.scale, source == 0)
    state = model.start(model.encode(source, source == 0))

    for layer, number in zip(state.layers, expected, strict=True):
        assert_close(layer, ends[number])


def test_forget_gates_start_open():
    for module in (RecurrentLayer("lstm", 4, WIDTH), RecurrentStep("lstm", 4, 3, WIDTH)):
        biases = [weight for weight in module.parameters() if weight.dim() == 1]
        total = sum(biases).view(4, WIDTH)

        assert torch.equal(total, torch.tensor([0.0, 1.0, 0.0, 0.0])[:, None].expand(4, WIDTH))


needs_bfloat16 = pytest.mark.skipif(
    not cpu_has_bfloat16(), reason="this CPU may not run LSTM layers in bfloat16"
)


@needs_bfloat16
def test_states_stay_precise_in_bfloat16():
    """Products alone are rounded; states carried over a sentence are not."""
    model = build_model(config(), source_size=9, target_size=9)
    source = torch.tensor([[4, 5, 6]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        memory = model.encode(source, source == 0)
        _, state = model.decode(torch.tensor([[BOS, 4]]), memory, model.start(memory))

    assert {torch.float32} == {part.dtype for layer in state.layers for part in layer}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_width": 5}, "even hidden_width, got 5"),
        ({"attention": "none"}, "input_feeding requires attention"),
        ({"attention": "concat", "trained_attention_scale": True}, "attention 'concat' has no"),
    ],
)
def test_invalid_shapes_are_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        config(**changes)


@pytest.mark.parametrize(("dropped", "problem"), [(0.0, None), (0.2, "state_dropout")])
def test_settings_of_earlier_versions_get_defaults(dropped, problem):
    saved = config().model_dump(mode="json") | {"state_dropout": dropped}
    if problem:
        with pytest.raises(ConfigError, match=problem):
            read_model_config(saved)
    else:
        assert read_model_config(saved) == config()

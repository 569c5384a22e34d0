"""Test recurrent language models: their input, state and gates."""

import pytest
import torch

from nmt_core.extensions.language_models.kinds import build_language_model
from nmt_core.extensions.language_models.neural import RecurrentConfig
from nmt_core.text.vocabulary import BOS, PAD, UNK


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ({"width": 8, "embedding_width": 4}, "tied weights need one width"),
        ({"width": 8, "embedding_width": 8, "input": "one_hot"}, "no vectors to tie"),
    ],
)
def test_tied_weights_need_vectors_of_one_width(shape, told):
    with pytest.raises(ValueError, match=told):
        RecurrentConfig(tie=True, **shape)


def test_one_hot_input_is_an_embedding_that_is_the_input_weights():
    """Vectors that are the rows of the identity, so the first layer's weights are the vectors."""
    words = 9
    torch.manual_seed(0)
    shape = {"width": 12, "embedding_width": words, "layers": 2}
    plain = build_language_model(RecurrentConfig(input="one_hot", **shape), words).eval()
    vectors = build_language_model(RecurrentConfig(**shape), words).eval()
    with torch.no_grad():
        for name, weight in plain.named_parameters():
            vectors.get_parameter(name).copy_(weight)
        vectors.embedding.weight.copy_(torch.eye(words) / words**0.5)
    tokens = torch.tensor([[BOS, 4, 5, 8], [BOS, PAD, UNK, 6]])

    torch.testing.assert_close(plain(tokens), vectors(tokens))
    assert "embedding.weight" not in plain.state_dict()


def test_a_state_is_dropped_by_one_mask_a_window_and_layer(monkeypatch):
    """In training alone."""
    drawn = []

    def draw(hidden, probability):
        drawn.append((tuple(hidden.shape), probability))
        return torch.zeros_like(hidden)

    monkeypatch.setattr("nmt_core.extensions.language_models.neural.draw_state_mask", draw)
    torch.manual_seed(0)
    config = RecurrentConfig(width=6, embedding_width=4, dropout=0.0, state_dropout=0.4)
    model = build_language_model(config, 9)
    tokens = torch.tensor([[BOS, 4, 5, 8, 4], [BOS, 5, 5, 6, 7]])
    whole = model.eval()(tokens)
    assert drawn == []
    blind = model.train()(tokens)

    assert drawn == [((2, 6), 0.4)] * 2
    torch.testing.assert_close(blind[:, :1], whole[:, :1])
    assert not torch.allclose(blind[:, 1:], whole[:, 1:])


@pytest.mark.parametrize("cell", ["lstm", "lstm_1997"])
def test_the_forget_gate_begins_open_or_stays_so(cell):
    model = build_language_model(RecurrentConfig(cell=cell, width=4, embedding_width=4), 9)
    gates = {name: w.detach().chunk(4)[1] for name, w in model.layers.named_parameters()}
    bias = 1.0 if cell == "lstm" else 100.0

    for name, gate in gates.items():
        if "bias_ih" in name:
            assert (gate == bias).all()
        elif "weight" in name:
            assert (gate == 0).all() == (cell == "lstm_1997")

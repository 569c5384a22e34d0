"""Test recurrent language models: their input, state and gates."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from nmt_core.extensions.language_models.neural import RecurrentConfig
from nmt_core.extensions.language_models.training import build_language_model
from nmt_core.models.layers import dropout
from nmt_core.text.vocabulary import BOS, PAD, UNK

TOKENS = torch.tensor([[BOS, 4, 5, 8, 4], [BOS, PAD, UNK, 6, 7]])
WORDS = 9


def built(**shape):
    torch.manual_seed(0)
    return build_language_model(RecurrentConfig(dropout=0.0, **shape), WORDS)


@pytest.mark.parametrize("shape", [{"embedding_width": 4}, {"input": "one_hot"}])
def test_tied_weights_need_vectors_of_one_width(shape):
    with pytest.raises(ValueError, match="tie requires"):
        RecurrentConfig(tie=True, **{"width": 8, "embedding_width": 8, **shape})


def test_one_hot_input_is_an_embedding_that_is_the_input_weights():
    """Vectors that are the rows of the identity, so the first layer's weights are the vectors."""
    shape = {"width": 12, "embedding_width": WORDS, "layers": 2}
    plain, vectors = built(input="one_hot", **shape).eval(), built(**shape).eval()
    with torch.no_grad():
        for name, weight in plain.named_parameters():
            vectors.get_parameter(name).copy_(weight)
        vectors.embedding.weight.copy_(torch.eye(WORDS) / WORDS**0.5)

    assert_close(plain(TOKENS), vectors(TOKENS))
    assert "embedding.weight" not in plain.state_dict()


@pytest.mark.parametrize(("cell", "torchs"), [("lstm", nn.LSTMCell), ("tanh", nn.RNNCell)])
def test_a_state_is_dropped_by_one_mask_a_layer(cell, torchs):
    """On its way into the gates of every position, in training alone."""
    model = built(cell=cell, width=6, embedding_width=4, state_dropout=0.4)
    torch.manual_seed(1)
    found, _ = model.train().decode(TOKENS, model.start(2))
    torch.manual_seed(1)
    masks = [dropout(torch.ones(2, 6), 0.4, training=True) for _ in model.layers]
    x = model.embedding(TOKENS) * model.scale
    for layer, start, mask in zip(model.layers, model.start(2).layers, masks, strict=True):
        step = torchs(x.size(2), 6)
        step.load_state_dict({n.removesuffix("_l0"): w for n, w in layer.state_dict().items()})
        outputs, state = [], start
        for row in x.unbind(dim=1):
            dropped = (state[0] * mask, *state[1:])
            state = step(row, dropped) if cell == "lstm" else (step(row, dropped[0]),)
            outputs.append(state[0])
        x = torch.stack(outputs, dim=1)

    assert_close(found, x)
    plain = built(cell=cell, width=6, embedding_width=4)
    assert_close(model.eval()(TOKENS), plain.eval()(TOKENS))


def test_the_forget_gate_begins_open():
    for name, weight in built(width=4, embedding_width=4).layers.named_parameters():
        if "bias" in name:
            assert (weight.chunk(4)[1] == ("ih" in name)).all()

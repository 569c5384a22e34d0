"""Recurrent language models and Transformers: their input, state, gates and context."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.extensions.language_models.neural import RecurrentConfig, TransformerLanguageConfig
from nmt_core.extensions.language_models.training import LearningConfig, build_language_model
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


def test_one_hot_input_equals_an_identity_embedding():
    """The vectors are rows of the identity, so the first layer's weights are the vectors."""
    shape = {"width": 12, "embedding_width": WORDS, "layers": 2}
    plain, vectors = built(input="one_hot", **shape).eval(), built(**shape).eval()
    with torch.no_grad():
        for name, weight in plain.named_parameters():
            vectors.get_parameter(name).copy_(weight)
        vectors.embedding.weight.copy_(torch.eye(WORDS) / WORDS**0.5)

    assert_close(plain(TOKENS), vectors(TOKENS))
    assert "embedding.weight" not in plain.state_dict()


@pytest.mark.parametrize(("cell", "torchs"), [("lstm", nn.LSTMCell), ("tanh", nn.RNNCell)])
def test_a_layers_state_uses_one_dropout_mask(cell, torchs):
    """The mask applies to the input of the gates at every position, in training alone."""
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


def test_the_forget_gate_starts_open():
    for name, weight in built(width=4, embedding_width=4).layers.named_parameters():
        if "bias" in name:
            assert (weight.chunk(4)[1] == ("ih" in name)).all()


SHAPE = {"layers": 2, "width": 8, "heads": 2, "feed_forward_width": 16, "dropout": 0.0}
TEXT = torch.tensor([[BOS, 4, 5, 6, 7, 8, 9, 10, 11, 4, 6, 8, 10]])


def tiny(context):
    torch.manual_seed(0)
    model = build_language_model(TransformerLanguageConfig(**SHAPE, context=context), 12)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model.double().eval()


def test_a_full_context_restarts_with_its_newer_half():
    """It starts with BOS, like a training window; the expected contexts have a length of six."""
    model = tiny(context=6)
    predicted = model(TEXT)[0]
    seen = {
        5: [BOS, 4, 5, 6, 7, 8],
        6: [BOS, 6, 7, 8, 9],
        7: [BOS, 6, 7, 8, 9, 10],
        8: [BOS, 8, 9, 10, 11],
        12: [BOS, 4, 6, 8, 10],
    }

    for place, tokens in seen.items():
        assert_close(predicted[place], model(torch.tensor([tokens]))[0, -1])


def test_tokens_before_the_context_are_forgotten():
    model, changed = tiny(context=4), TEXT.clone()
    changed[0, 3] = 11
    differs = (model(TEXT)[0].exp() - model(changed)[0].exp()).abs().amax(dim=-1) > 1e-9

    assert differs.tolist() == [False] * 3 + [True] * 3 + [False] * 7


def test_a_context_longer_than_in_training_is_refused():
    values = {"model": {"kind": "transformer", "context": 65}}

    with pytest.raises(ConfigError, match=r"context 65 exceeds .* training.window to 65"):
        build(LearningConfig, values, at="learn")

"""The attention of heads equals that of the blocks: their outputs and their mean show it."""

import pytest
import torch

from nmt_core.evaluation.attention_heads import trace_heads
from nmt_core.text.vocabulary import BOS, EOS
from tests.support.presets import tiny_model

SOURCE, TARGET = [5, 6, 7, EOS], [4, 5]


@pytest.mark.parametrize("name", ["transformer", "transformer_article", "transformer_base"])
def test_mean_of_heads_equals_the_aligning_layers_attention(name):
    model = tiny_model(name).eval()
    _, decoder = trace_heads(model, SOURCE, TARGET)
    memory = model.encode(torch.tensor([SOURCE]), torch.zeros(1, 4, dtype=torch.bool))
    mean = model.attention(torch.tensor([[BOS, *TARGET]]), memory)[0]

    heads = decoder[list(model.decoder).index(model.alignment_layer)]
    assert heads.shape[1] == 3
    found = model.leave_source_start(torch.from_numpy(heads.mean(axis=0)))
    torch.testing.assert_close(found, mean.detach())


def test_head_weights_reproduce_the_blocks_output():
    model, outputs = tiny_model("transformer").eval(), []
    for layer in model.encoder:
        layer.attention.register_forward_hook(lambda *call: outputs.append(call))
    encoder, _ = trace_heads(model, SOURCE, TARGET)

    assert len(encoder) == len(model.encoder) > 0
    for weights, (block, (_, (_, values), _), output) in zip(encoder, outputs, strict=True):
        context = torch.from_numpy(weights) @ values[0]
        torch.testing.assert_close(block.output(context.transpose(0, 1).flatten(1)), output[0])


def test_other_models_have_no_heads():
    assert trace_heads(tiny_model("rnn_attention"), SOURCE, TARGET) is None

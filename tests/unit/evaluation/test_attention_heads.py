"""The attention of heads equals that of the blocks: their outputs and their mean show it."""

import pytest
import torch

from nmt_core.evaluation.attention_heads import trace_heads
from nmt_core.text.vocabulary import BOS, EOS
from tests.support.presets import tiny_model

SOURCE, TARGET = [5, 6, 7, EOS], [4, 5]


@pytest.mark.parametrize("name", ["transformer", "transformer_article"])
def test_heads_average_to_attention_and_reproduce_the_output(name):
    model, outputs = tiny_model(name).eval(), []
    for layer in model.encoder:
        layer.attention.register_forward_hook(lambda *call: outputs.append(call))
    encoder, decoder = trace_heads(model, SOURCE, TARGET)

    for weights, (block, (_, (_, values), _), output) in zip(encoder, outputs, strict=True):
        context = torch.from_numpy(weights) @ values[0]
        torch.testing.assert_close(block.output(context.transpose(0, 1).flatten(1)), output[0])
    memory = model.encode(torch.tensor([SOURCE]), torch.zeros(1, 4, dtype=torch.bool))
    mean = model.attention(torch.tensor([[BOS, *TARGET]]), memory)[0]
    heads = torch.from_numpy(decoder[[*model.decoder].index(model.alignment_layer)])
    torch.testing.assert_close(model.drop_source_start(heads.mean(dim=0)), mean.detach())

"""The Transformer is compared with torch's; test_articles.py tests that of the article."""

import pytest
import torch
from torch.testing import assert_close

from nmt_core.models.settings import build_model
from nmt_core.text.vocabulary import BOS, PAD
from tests.support.presets import SOURCE_SIZE, TARGET_SIZE, tiny_config
from tests.support.tensors import copy_attention

SUBLAYERS = {
    "encoder": [("attend", "attention", "self_attn")],
    "decoder": [
        ("attend_self", "self_attention", "self_attn"),
        ("attend_source", "cross_attention", "multihead_attn"),
    ],
}
"""Names in a layer, ours and torch's: additions and norms, and attention."""


def stack_of_torch(name, config, stack, norm):
    """Return torch's encoder or decoder, and give its random weights to ours, too."""
    pre = config.norm == "pre"
    layer = getattr(torch.nn, f"Transformer{name.title()}Layer")(
        config.width,
        config.heads,
        config.feed_forward_width,
        dropout=0.0,
        batch_first=True,
        norm_first=pre,
    )
    last = torch.nn.LayerNorm(config.width) if pre else None
    theirs = getattr(torch.nn, f"Transformer{name.title()}")(layer, len(stack), last).double()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    twins = [(norm, theirs.norm)] if pre else []
    for ours, their in zip(stack, theirs.layers, strict=True):
        for _, attention, other in SUBLAYERS[name]:
            copy_attention(getattr(their, other), getattr(ours, attention))
        for number, part in enumerate([*(part for part, *_ in SUBLAYERS[name]), "transform"], 1):
            place = getattr(ours, part).before if pre else getattr(ours, part).after
            twins.append((place, getattr(their, f"norm{number}")))
        twins += [
            (ours.feed_forward.inner, their.linear1),
            (ours.feed_forward.outer, their.linear2),
        ]
    for ours, their in twins:
        ours.load_state_dict(their.state_dict())
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_transformer_equals_torchs(norm):
    """As published, without a norm at the end of a stack; with a norm there for pre-norm layers."""
    config = tiny_config("transformer").model_copy(
        update={"norm": norm, "dropout": 0.0, "projection_bias": True, "positions": "sinusoidal"}
    )
    model = build_model(config, source_size=SOURCE_SIZE, target_size=TARGET_SIZE).double()
    encoder = stack_of_torch("encoder", config, model.encoder, model.encoder_norm)
    decoder = stack_of_torch("decoder", config, model.decoder, model.decoder_norm)
    source = torch.tensor([[4, 5, 6, 7, 2], [8, 5, 2, PAD, PAD]])
    target = torch.tensor([[BOS, 4, 5, 6], [BOS, 6, 4, 3]])
    expected = decoder(
        model.target_embedding(target),
        encoder(model.source_embedding(source), src_key_padding_mask=source == PAD),
        tgt_mask=torch.ones(4, 4, dtype=torch.bool).triu(1),
        memory_key_padding_mask=source == PAD,
    )
    memory = model.encode(source, source == PAD)

    assert_close(model.decode(target, memory, model.start(memory))[0], expected)

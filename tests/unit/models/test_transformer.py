"""The Transformer against torch's own and against plain words."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from nmt_core.models.architectures import build_model
from nmt_core.models.embedding import sinusoids
from nmt_core.text.vocabulary import BOS, PAD
from tests.support.presets import SOURCE_SIZE, TARGET_SIZE, tiny_config
from tests.support.torchs import copy_attention

SUBLAYERS = {
    "encoder": [("attend", "attention", "self_attn")],
    "decoder": [
        ("attend_self", "self_attention", "self_attn"),
        ("attend_source", "cross_attention", "multihead_attn"),
    ],
}
"""Of a layer: what adds up and normalises, and its attention, by our name and by torch's."""


def stack_of_torch(name, config, stack, norm):
    """Return torch's encoder or decoder, with weights of its own, which ours gets, too."""
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
def test_the_transformer_is_torchs(norm):
    """As published, without a norm at the end of a stack; with one where layers begin by one."""
    config = tiny_config("transformer").model_copy(
        update={"norm": norm, "dropout": 0.0, "projection_bias": True}
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


class Article:
    """The article's Transformer in plain words, over the weights of ours."""

    def __init__(self, model, heads):
        self.weights = dict(model.state_dict())
        self.heads = heads

    def __call__(self, source, target):
        memory = self.encode(source)
        x = self.embed("target_embedding", target)
        future = torch.ones(target.size(1), target.size(1), dtype=torch.bool).triu(1)
        for number in range(2):
            layer = f"decoder.{number}"
            y = self.norm(f"{layer}.attend_self.before", x)
            y = self.attend(f"{layer}.self_attention", y, y, future[None])
            x = self.norm(f"{layer}.attend_self.after", x + y)
            y = self.attend(f"{layer}.cross_attention", x, memory, (source == PAD)[:, None])
            x = self.norm(f"{layer}.attend_source.after", x + y)
            x = self.norm(f"{layer}.transform.after", x + self.dense(layer, x))
        return self.linear("output", x)

    def encode(self, source):
        x = self.embed("source_embedding", source)
        for number in range(2):
            layer = f"encoder.{number}"
            y = self.norm(f"{layer}.attend.before", x)
            y = self.attend(f"{layer}.attention", y, y, (source == PAD)[:, None])
            x = self.norm(f"{layer}.attend.after", x + y)
            x = self.norm(f"{layer}.transform.after", x + self.dense(layer, x))
        return x

    def embed(self, name, tokens):
        words = F.embedding(tokens, self.weights[f"{name}.table.weight"])
        gamma = self.weights[f"{name}.positions.scale"]
        return words + gamma * sinusoids(tokens.size(1), words.size(2))

    def norm(self, name, x):
        """Over features, with a shift and no scale."""
        return F.layer_norm(x, x.shape[-1:]) + self.weights[f"{name}.bias"]

    def linear(self, name, x):
        return F.linear(x, self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias"))

    def dense(self, layer, x):
        x = F.leaky_relu(self.linear(f"{layer}.feed_forward.inner", x))
        return F.leaky_relu(self.linear(f"{layer}.feed_forward.outer", x))

    def attend(self, name, queries, memory, blocked):
        """Head by head; no position is fully blocked here."""
        query, key, value = (
            F.linear(x, self.weights[f"{name}.{part}.weight"]).chunk(self.heads, dim=-1)
            for part, x in (("query", queries), ("key", memory), ("value", memory))
        )
        heads = []
        for q, k, v in zip(query, key, value, strict=True):
            scores = torch.einsum("bqd,bsd->bqs", q, k) / math.sqrt(q.size(-1))
            heads.append(scores.masked_fill(blocked, -math.inf).softmax(dim=-1) @ v)
        return self.linear(f"{name}.output", torch.cat(heads, dim=-1))


@pytest.mark.parametrize("name", ["transformer_article", "transformer_article_lite"])
def test_the_articles_layers_are_in_the_articles_order(name):
    config = tiny_config(name).model_copy(update={"dropout": 0.0})
    model = build_model(config, source_size=SOURCE_SIZE, target_size=TARGET_SIZE).double()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight.add_(0.3 * torch.randn_like(weight))
    source = torch.tensor([[4, 5, 6, 7, 2], [8, 5, 2, PAD, PAD]])
    target = torch.tensor([[BOS, 4, 5, 6], [BOS, 6, 4, 3]])

    assert_close(model(source, source == PAD, target), Article(model, config.heads)(source, target))


@pytest.mark.parametrize("name", ["transformer_article", "transformer_article_lite"])
def test_the_article_learns_no_scale_and_no_projection_bias(name):
    model = build_model(tiny_config(name), source_size=SOURCE_SIZE, target_size=TARGET_SIZE)
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}

    assert not [name for name in learning if "attend" in name and name.endswith("weight")]
    assert not [name for name in learning if ".query.bias" in name or ".key.bias" in name]
    assert {"output.bias", "source_embedding.positions.scale"} <= learning


@pytest.mark.parametrize("norm", ["pre", "post", "article"])
def test_dropout_changes_training_and_nothing_else(norm):
    config = tiny_config("transformer").model_copy(update={"norm": norm, "dropout": 0.5})
    model = build_model(config, source_size=SOURCE_SIZE, target_size=TARGET_SIZE)
    source, target = torch.tensor([[4, 5, 2]]), torch.tensor([[BOS, 4]])

    def logits():
        return model(source, source == PAD, target).tolist()

    model.train()
    assert logits() != logits()
    model.eval()
    assert logits() == logits()

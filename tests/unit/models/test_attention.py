"""Attention, positions, dropout and layers of van der Goten 2018, against plain rewritings."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from nmt_core.models.architectures import build_model
from nmt_core.models.attention import MultiHeadAttention, masked_softmax
from nmt_core.models.dropout import dropout
from nmt_core.models.embedding import (
    LearnedPositions,
    SinusoidalPositions,
    embedding_table,
    pretrained_table,
    sinusoids,
)
from nmt_core.text.vocabulary import BOS, PAD
from tests.support.presets import SOURCE_SIZE, TARGET_SIZE, tiny_config

rows = st.lists(
    st.tuples(st.floats(-50, 50, width=32), st.booleans()), min_size=1, max_size=7
)  # a score, and whether its position is blocked


@given(rows)
def test_masked_softmax_is_the_softmax_of_what_is_open(row):
    """Blocked positions weigh exactly 0, also where their scores are the largest."""
    scores = torch.tensor([[score for score, _ in row]], dtype=torch.float64)
    blocked = torch.tensor([[block for _, block in row]])
    [found] = masked_softmax(scores, blocked).tolist()

    exponentials = [0.0 if block else math.exp(score) for score, block in row]
    total = sum(exponentials) or 1.0
    assert found == pytest.approx([value / total for value in exponentials], rel=1e-9)
    assert all(weight == 0 for weight, (_, block) in zip(found, row, strict=True) if block)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("large", [0.0, 1e4, -1e4])
def test_a_row_without_an_open_position_is_zeros(dtype, large):
    """No NaN arises, neither forwards nor backwards, whatever the scores."""
    scores = torch.full((2, 4), large, dtype=dtype, requires_grad=True)
    blocked = torch.tensor([[True] * 4, [True, False, True, False]])
    weights = masked_softmax(scores, blocked)
    (weights * torch.arange(4)).sum().backward()

    assert weights.tolist() == [[0] * 4, [0, 0.5, 0, 0.5]]
    assert scores.grad.isfinite().all()
    assert scores.grad[blocked].tolist() == [0] * 6


def test_no_mask_blocks_nothing():
    scores = torch.randn(3, 4)

    assert_close(masked_softmax(scores, None), masked_softmax(scores, torch.zeros(3, 4).bool()))


def seeded(shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def twins():
    """Our attention and torch's, with the same weights."""
    theirs = torch.nn.MultiheadAttention(12, 3, bias=True, batch_first=True).double()
    ours = MultiHeadAttention(12, 3, 4, bias=True).double()
    with torch.no_grad():
        theirs.in_proj_bias.normal_()
        theirs.out_proj.bias.normal_()
    copy_attention(theirs, ours)
    return ours, theirs


@torch.no_grad()
def copy_attention(theirs, ours):
    """Give our attention the weights of torch's."""
    weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
    for name, weight, bias in zip(("query", "key", "value"), weights, biases, strict=True):
        getattr(ours, name).weight.copy_(weight)
        getattr(ours, name).bias.copy_(bias)
    ours.output.load_state_dict(theirs.out_proj.state_dict())


def test_attention_is_torchs(twins):
    ours, theirs = twins
    queries, memory = seeded((2, 5, 12)), seeded((2, 6, 12), 1)
    padding = torch.tensor([[False] * 6, [False, False, False, True, True, True]])
    expected, weights = theirs(queries, memory, memory, key_padding_mask=padding)
    blocked = padding[:, None, None]
    key_value = ours.project(memory)

    assert_close(ours(queries, key_value, blocked), expected)
    assert_close(ours.weights(queries, key_value, blocked), weights)


def test_causal_attention_is_torchs(twins):
    ours, theirs = twins
    x = seeded((2, 5, 12))
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected, _ = theirs(x, x, x, attn_mask=future)

    assert_close(ours(x, ours.project(x), future[None, None]), expected)


def test_hypotheses_share_keys_as_if_copied(twins):
    """Six rows of queries on two sentences: row r looks at sentence r // 3."""
    ours, _ = twins
    queries, memory = seeded((6, 4, 12)), seeded((2, 5, 12), 1)
    copied = ours.project(memory.repeat_interleave(3, dim=0))

    assert_close(ours(queries, ours.project(memory)), ours(queries, copied))


def test_a_query_that_may_look_nowhere_gets_the_outputs_bias(twins):
    ours, _ = twins
    queries, memory = seeded((1, 2, 12)), seeded((1, 3, 12), 1)
    found = ours(queries, ours.project(memory), torch.ones(1, 1, 1, 3, dtype=torch.bool))

    assert_close(found, ours.output.bias.expand(1, 2, 12))


@pytest.mark.parametrize("width", [8, 7, 1])
def test_sinusoids_are_the_papers(width):
    """Sine on even and cosine on odd features, wavelengths from 2 pi to 20000 pi."""
    expected = [
        [
            (math.sin if feature % 2 == 0 else math.cos)(
                position / 10_000 ** ((feature - feature % 2) / width)
            )
            for feature in range(width)
        ]
        for position in range(50)
    ]

    assert_close(sinusoids(50, width), torch.tensor(expected))


def test_positions_may_begin_anywhere():
    """Also beyond what was ever asked for."""
    words = torch.zeros(1, 3, 8)

    for first in (0, 5, 254, 1000):
        found = SinusoidalPositions(8, trained_scale=False)(words, first)
        assert_close(found[0], sinusoids(first + 3, 8)[first:])


def test_the_articles_scale_is_one_at_first_and_learns():
    positions = SinusoidalPositions(8, trained_scale=True)
    words = torch.ones(2, 3, 8)
    assert_close(positions(words, 0), SinusoidalPositions(8, trained_scale=False)(words, 0))

    positions(words, 0).sum().backward()

    assert positions.scale.grad == pytest.approx(2 * sinusoids(3, 8).sum().item(), rel=1e-5)


def test_learned_positions_past_the_last_share_its_vector():
    positions = LearnedPositions(4, 3)
    found = positions(torch.zeros(1, 5, 4), 0)[0]

    assert_close(found[:3], positions.table.weight)
    assert_close(found[3:], positions.table.weight[2].expand(2, 4))


def test_the_row_of_padding_begins_at_zero():
    table = embedding_table(1000, 64)

    assert table.weight[PAD].tolist() == [0] * 64
    assert table.weight[PAD + 1 :].std().item() == pytest.approx(1 / 8, rel=0.02)


@pytest.mark.parametrize("frozen", [True, False])
def test_given_vectors_are_copied(frozen):
    given_rows = torch.ones(5, 3)
    table = pretrained_table(given_rows, frozen=frozen)
    given_rows.zero_()

    assert table.weight.requires_grad != frozen
    assert table.weight.tolist() == [[1.0] * 3] * 5


@pytest.mark.parametrize("probability", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_dropout_drops_the_right_share_and_keeps_the_mean(probability):
    count = 200_000
    x = dropout(torch.ones(count), probability, training=True)
    kept = 1 - min(max(round(probability * 256), 1), 255) / 256
    deviation = math.sqrt(kept * (1 - kept) / count)

    assert (x == 0).float().mean().item() == pytest.approx(1 - kept, abs=5 * deviation)
    assert x.mean().item() == pytest.approx(1, abs=5 * deviation / kept)
    assert x[x != 0].unique().tolist() == pytest.approx([1 / kept])


@pytest.mark.parametrize(("probability", "training"), [(0.5, False), (0.0, True)])
def test_nothing_is_dropped_in_evaluation_or_at_rate_zero(probability, training):
    x = torch.randn(3, 4, 5)

    assert dropout(x, probability, training=training) is x


def test_one_mask_per_sentence_is_constant_over_time():
    x = dropout(torch.ones(20, 7, 30), 0.5, training=True, variational=True)

    assert (x == x[:, :1]).all()
    assert (x[0] != x[1]).any()
    assert (x[0, 0] != x[0, 0, 0]).any()


def test_a_mask_per_position_varies_over_time():
    x = dropout(torch.ones(20, 7, 30), 0.5, training=True)

    assert (x[:, 0] != x[:, 1]).any()


@pytest.mark.parametrize("variational", [True, False])
def test_the_gradient_passes_where_the_value_did(variational):
    x = torch.ones(4, 3, 5, requires_grad=True)
    y = dropout(x, 0.5, training=True, variational=variational)
    y.sum().backward()

    assert_close(x.grad, y.detach())


def test_dropout_is_a_function_of_the_seed():
    def drawn(seed):
        torch.manual_seed(seed)
        return dropout(torch.ones(100), 0.5, training=True).tolist()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 17])
def test_any_number_of_elements_is_dropped_alike(size):
    """Draws are eight bytes wide; sizes need not be."""
    x = torch.stack([dropout(torch.ones(size), 0.5, training=True) for _ in range(2000)])

    assert (x == 0).float().mean(dim=0).tolist() == pytest.approx([0.5] * size, abs=0.06)


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

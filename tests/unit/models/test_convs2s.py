"""The convolutional model is compared with plain loops, torch's convolution and closed forms."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from nmt_core.models.convs2s import (
    ConvolutionDecoderLayer,
    ConvolutionEncoderLayer,
    ConvS2SMemory,
    NormalizedSum,
    WeightNormLinear,
    add_residual,
)
from nmt_core.models.settings import ConvS2SConfig, build_model
from nmt_core.text.vocabulary import BOS, PAD
from tests.support.presets import SOURCE_SIZE, TARGET_SIZE, tiny_config, tiny_model

BLOCKS = ["published", "article"]


def config(block="published", **others):
    chosen = {"width": 3, "dropout": 0.0, "block": block, "tie": "none", **others}
    return ConvS2SConfig(**chosen)


def lively(module):
    """Return the model in float64 and evaluation mode, with weights that all differ."""
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn_like(weight))
    return module.double().eval()


def filters(convolution):
    """Return the weights of a convolution in the layout of torch's Conv1d."""
    taps = convolution.taps
    weight = taps.weight
    if isinstance(taps, WeightNormLinear):
        weight = taps.length[:, None] * weight / weight.norm(dim=1, keepdim=True)
    return weight.unflatten(1, (convolution.kernel, -1)).transpose(1, 2)


def gated_by_hand(x, weight, bias, *, before):
    """Compute every position of every sentence, one number at a time."""
    rows, length, _ = x.shape
    outputs, _, kernel = weight.shape
    out = np.zeros((rows, length, outputs // 2))
    for row in range(rows):
        for place in range(length):
            total = bias.copy()
            for tap in range(kernel):
                seen = place + tap - before
                if 0 <= seen < length:
                    total += weight[:, :, tap] @ x[row, seen]
            value, gate = total[: outputs // 2], total[outputs // 2 :]
            out[row, place] = value / (1 + np.exp(-gate))
    return out


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(
    ("padding", "kernel", "before"),
    [("symmetric", 1, 0), ("symmetric", 3, 1), ("symmetric", 5, 2), ("left", 2, 1), ("left", 3, 2)],
)
def test_an_encoder_layer_equals_the_loop(block, padding, kernel, before):
    """Words around a position, or before it alone; padding counts as zeros although it is not."""
    layer = lively(ConvolutionEncoderLayer(config(block, kernel=kernel, encoder_padding=padding)))
    x = torch.randn(2, 6, 3).double()
    blocked = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
    clean = x.masked_fill(blocked[:, :, None], 0)
    y = gated_by_hand(
        clean.numpy(),
        filters(layer.convolution).detach().numpy(),
        layer.convolution.taps.bias.detach().numpy(),
        before=before,
    )
    expected = add_residual(layer.sum, x, torch.from_numpy(y), blocked)

    assert_close(layer(x, blocked)[~blocked], expected[~blocked])


@pytest.mark.parametrize("block", BLOCKS)
@settings(max_examples=25)
@given(cuts=st.lists(st.integers(1, 4), min_size=1, max_size=5), kernel=st.integers(1, 4))
def test_a_decoder_layer_sees_earlier_positions_alone(block, cuts, kernel):
    """However the target is split, each piece sees the last positions of all pieces before it."""
    layer = lively(ConvolutionDecoderLayer(config(block, kernel=kernel, encoder_padding="left")))
    silent = torch.zeros(2, 4, 3).double()
    memory = ConvS2SMemory(silent, silent, torch.zeros(2, 1, 4).bool())
    x = torch.randn(2, sum(cuts), 3).double()
    padding = torch.zeros(2, sum(cuts)).bool()
    (whole, _), _ = layer(x, x, padding, memory, torch.zeros(2, *layer.past))
    y = gated_by_hand(
        x.numpy(),
        filters(layer.convolution).detach().numpy(),
        layer.convolution.taps.bias.detach().numpy(),
        before=kernel - 1,
    )
    past, pieces = torch.zeros(2, *layer.past), []
    for piece, blank in zip(x.split(cuts, 1), padding.split(cuts, 1), strict=True):
        (out, _), past = layer(piece, piece, blank, memory, past)
        pieces.append(out)
    y = torch.from_numpy(y)
    looked, _ = layer.attend(y, x, memory)

    assert_close(torch.cat(pieces, dim=1), whole)
    assert_close(add_residual(layer.sum, x, looked, padding), whole)
    assert past.shape == (2, kernel - 1, 3)


def test_weight_normalisation_equals_torchs():
    """It starts as a plain layer, and has the gradients of torch's parametrization."""
    ours = WeightNormLinear(4, 3, deviation=0.5).double()
    with torch.no_grad():
        ours.length.copy_(ours.weight.norm(dim=1))  # as exact as torch's, which starts in float64
    plain = torch.nn.Linear(4, 3).double()
    plain.load_state_dict({"weight": ours.weight, "bias": ours.bias})
    x = torch.randn(5, 4).double()

    assert_close(ours(x), plain(x))

    theirs = torch.nn.utils.parametrizations.weight_norm(plain)
    ours(x).square().sum().backward()
    theirs(x).square().sum().backward()
    length, direction = theirs.parametrizations.weight.parameters()
    assert_close(ours.length.grad, length.grad.squeeze(1))
    assert_close(ours.weight.grad, direction.grad)
    assert_close(ours.bias.grad, theirs.bias.grad)


def test_published_attention_equals_the_papers():
    """Sections 3.3 and 3.4, sentence by sentence, position by position."""
    shape = config(hidden_width=5)
    layer = lively(ConvolutionDecoderLayer(shape))
    query, output = layer.attention["query"], layer.attention["output"]
    model = build_model(shape, source_size=SOURCE_SIZE, target_size=TARGET_SIZE).double().eval()
    source = torch.tensor([[4, 5, 6, 2], [7, 2, PAD, PAD]])
    memory = model.encode(source, source == PAD)
    y, words = torch.randn(2, 3, 5).double(), torch.randn(2, 3, 3).double()
    found, weights = layer.attend(y, words, memory)

    half = math.sqrt(0.5)
    for row, length in enumerate((4, 2)):
        z = memory.keys[row, :length]
        e = model.source_embedding(source[row, :length][None])[0]
        for place in range(3):
            d = (query(y[row, place]) + words[row, place]) * half
            a = (z @ d).softmax(dim=0)
            c = length * math.sqrt(1 / length) * (a @ ((z + e) * half))
            assert_close(weights[row, place, :length], a)
            assert_close(found[row, place], (output(c) + y[row, place]) * half)


def test_gradients_into_the_published_encoder_are_scaled():
    """Keys get 1 / (2 L) of them for L decoder layers; source words get all directly (3.4)."""
    model = tiny_model("convs2s").double().eval()
    source = torch.tensor([[4, 5, 2]])
    memory = model.encode(source, source == PAD)
    bias = model.encoder_output.bias
    values = torch.autograd.grad(memory.values.sum(), bias, retain_graph=True)[0]
    keys = torch.autograd.grad(memory.keys.sum(), bias)[0]

    assert_close(keys, torch.full_like(keys, 3 / (2 * len(model.decoder))))
    assert_close(values, keys * math.sqrt(3 / 2))


@pytest.mark.parametrize("hidden", [None, 96])
def test_published_layers_keep_the_variance(hidden):
    """Section 3.5: outputs of an initialised encoder have about the variance of the words."""
    shape = ConvS2SConfig(width=128, hidden_width=hidden, encoder_layers=6, dropout=0.0)
    model = build_model(shape, source_size=500, target_size=500).eval()
    source = torch.randint(4, 500, (20, 25))
    words = model.source_embedding(source)
    keys = model.encode(source, source == PAD).keys

    assert 0.5 < (keys.std() / words.std()).item() < 2


def padded(batch, columns):
    """Return the same batch with more padding on both sides."""
    return [F.pad(tokens, (0, columns), value=PAD) for tokens in batch]


def test_padding_changes_no_statistics():
    """In training, more padding changes no output, no gradient and no running statistic."""
    shape = tiny_config("convs2s_article").model_copy(update={"dropout": 0.0})
    source = torch.tensor([[4, 5, 6, 7, 2], [8, 5, 2, PAD, PAD]])
    target = torch.tensor([[BOS, 4, 5], [BOS, 6, PAD]])
    found = []
    for wider in (0, 4):
        torch.manual_seed(0)
        model = build_model(shape, source_size=SOURCE_SIZE, target_size=TARGET_SIZE).double()
        one, other = padded((source, target), wider)
        logits = model.train()(one, one == PAD, other)[:, :3][target != PAD]
        logits.square().sum().backward()
        gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
        found.append((logits, gradients, dict(model.named_buffers())))

    assert_close(found[0], found[1])
    assert not torch.equal(found[0][2]["encoder.0.sum.mean"], torch.zeros(16).double())


def test_batches_are_normalised_like_torchs():
    """Without padding it equals torch's, except for the running variance's denominator."""
    ours = NormalizedSum(config("article", width=4)).double()
    theirs = torch.nn.BatchNorm1d(4, eps=1e-3).double()
    x, y = torch.randn(3, 5, 4).double(), torch.randn(3, 5, 4).double()
    real = torch.zeros(3, 5).bool()
    flat = (x + y).flatten(0, 1)

    assert_close(ours(x, y, real).flatten(0, 1), theirs(flat))
    assert_close(ours.mean, theirs.running_mean)
    assert_close(ours.variance - 0.9, (theirs.running_var - 0.9) * 14 / 15)
    theirs.load_state_dict({"running_var": ours.variance}, strict=False)
    assert_close(ours.eval()(x, y, real).flatten(0, 1), theirs.eval()(flat))


def test_a_single_position_is_normalised():
    """A batch of one empty sentence has no variance; its features are the shift, not NaN."""
    layer = NormalizedSum(config("article")).double()
    found = layer(
        torch.randn(1, 1, 3).double(), torch.zeros(1, 1, 3).double(), torch.zeros(1, 1).bool()
    )

    assert_close(found, torch.zeros(1, 1, 3).double())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kernel": 4}, "requires an odd kernel, got 4"),
        ({"block": "article", "hidden_width": 5}, "hidden_width 5 requires block 'published'"),
        ({"position_scale": "trained"}, "requires sinusoidal positions"),
    ],
)
def test_invalid_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        config(**wrong)

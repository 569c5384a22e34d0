"""Dense layers multiply like torch's, also after updates; dropout drops the right elements."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from nmt_core.models.layers import MIN_PACKED_WEIGHTS, PACKED_ROWS, Dense, dropout


@pytest.fixture(params=["large", "small"])
def layer(request):
    return Dense(512, MIN_PACKED_WEIGHTS // 512 if request.param == "large" else 8).eval()


def product(layer, x):
    return nn.functional.linear(x, layer.weight, layer.bias)


@pytest.mark.parametrize("rows", [1, 2, PACKED_ROWS[0], 5, PACKED_ROWS[-1], 40])
@pytest.mark.parametrize("shape", [(-1, 512), (1, -1, 512), (-1, 1, 512)])
@torch.inference_mode()
def test_few_rows_are_multiplied_like_many(layer, rows, shape):
    x = torch.randn(rows, 512).view(shape)

    assert_close(layer(x), product(layer, x))


def scale(layer):
    with torch.no_grad():
        layer.weight.mul_(2)
        layer.bias.add_(1)


def update(layer):
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1)
    layer(torch.randn(5, 512)).sum().backward()
    optimizer.step()


def load(layer):
    layer.load_state_dict({name: torch.randn_like(w) for name, w in layer.state_dict().items()})


def replace(layer):
    layer.weight = nn.Parameter(torch.randn_like(layer.weight))


def widen(layer):
    layer.double()


@pytest.mark.parametrize("change", [scale, update, load, replace, widen])
def test_changed_weights_are_used(layer, change):
    """They change between two searches, in any way."""
    x = torch.randn(5, 512)
    with torch.inference_mode():
        layer(x)
    change(layer)
    with torch.inference_mode():
        x = x.to(layer.weight.dtype)

        assert_close(layer(x), product(layer, x), rtol=1e-4, atol=1e-3)


def test_a_layer_that_has_searched_still_learns(layer):
    """Gradients are computed in evaluation mode, too, if requested."""
    x = torch.randn(5, 512)
    with torch.inference_mode():
        layer(x)
    layer(x).sum().backward()

    assert_close(layer.weight.grad, x.sum(dim=0).expand_as(layer.weight))


@pytest.mark.parametrize("fused", [False, True])
def test_a_search_uses_the_optimizers_last_weights(fused):
    """Fused optimizers write to weights without autograd's version counter."""
    layer = Dense(4, 3)
    x = torch.randn(2, 4)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0, fused=fused)
    for _ in range(2):
        layer.eval()
        with torch.inference_mode():
            found = layer(x)
            expected = product(layer, x)
        layer.train()
        layer(x).sum().backward()
        optimizer.step()

        assert torch.allclose(found, expected)


@pytest.mark.parametrize("probability", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_dropout_drops_its_share_and_keeps_the_mean(probability):
    count = 200_000
    x = dropout(torch.ones(count), probability, training=True)
    kept = 1 - min(max(round(probability * 256), 1), 255) / 256
    deviation = math.sqrt(kept * (1 - kept) / count)

    assert (x == 0).float().mean().item() == pytest.approx(1 - kept, abs=5 * deviation)
    assert x.mean().item() == pytest.approx(1, abs=5 * deviation / kept)
    assert x[x != 0].unique().tolist() == pytest.approx([1 / kept])


@pytest.mark.parametrize(("probability", "training"), [(0.5, False), (0.0, True)])
def test_nothing_is_dropped_in_evaluation_or_at_zero(probability, training):
    x = torch.randn(3, 4, 5)

    assert dropout(x, probability, training=training) is x


@pytest.mark.parametrize(
    ("settings", "over_time", "over_sentences"),
    [
        ({}, False, False),
        ({"variational": True}, True, False),
        ({"variational": True, "whole_batch": True}, True, True),
    ],
)
def test_masks_are_shared_as_requested(settings, over_time, over_sentences):
    x = dropout(torch.ones(20, 7, 30), 0.5, training=True, **settings)

    assert (x == x[:, :1]).all() == over_time
    assert (x == x[:1]).all() == over_sentences
    assert (x[0, 0] != x[0, 0, 0]).any()


@pytest.mark.parametrize("variational", [True, False])
def test_gradients_are_dropped_where_values_were(variational):
    x = torch.ones(4, 3, 5, requires_grad=True)
    y = dropout(x, 0.5, training=True, variational=variational)
    y.sum().backward()

    assert_close(x.grad, y.detach())


@pytest.mark.parametrize("size", [1, 7, 8, 9, 17])
def test_any_number_of_elements_is_dropped_alike(size):
    """Random numbers are eight bytes wide; sizes can be any number."""
    x = torch.stack([dropout(torch.ones(size), 0.5, training=True) for _ in range(2000)])

    assert (x == 0).float().mean(dim=0).tolist() == pytest.approx([0.5] * size, abs=0.06)

"""Dense layers multiply as torch's do, however few the rows and however new the weights."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from nmt_core.models.layers import FEW_ROWS, LARGE, Dense


@pytest.fixture(params=["large", "small"])
def layer(request):
    return Dense(512, LARGE // 512 if request.param == "large" else 8).eval()


def product(layer, x):
    return nn.functional.linear(x, layer.weight, layer.bias)


@pytest.mark.parametrize("rows", [1, 2, FEW_ROWS[0], 5, FEW_ROWS[-1], 40])
@pytest.mark.parametrize("shape", [(-1, 512), (1, -1, 512), (-1, 1, 512)])
@torch.inference_mode()
def test_few_rows_are_multiplied_as_many(layer, rows, shape):
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
def test_changed_weights_are_multiplied_by(layer, change):
    """Between two searches, whichever way they change."""
    x = torch.randn(5, 512)
    with torch.inference_mode():
        layer(x)
    change(layer)
    with torch.inference_mode():
        x = x.to(layer.weight.dtype)

        assert_close(layer(x), product(layer, x), rtol=1e-4, atol=1e-3)


def test_a_layer_that_has_searched_still_learns(layer):
    """In evaluation mode, too, where gradients are asked for."""
    x = torch.randn(5, 512)
    with torch.inference_mode():
        layer(x)
    layer(x).sum().backward()

    assert_close(layer.weight.grad, x.sum(dim=0).expand_as(layer.weight))


@pytest.mark.parametrize("fused", [False, True])
def test_what_an_optimizer_has_written_is_searched_with(fused):
    """Fused optimizers write to weights without being counted by autograd."""
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

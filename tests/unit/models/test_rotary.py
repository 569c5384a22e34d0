"""Rotary positions are compared with complex numbers, and have their useful properties."""

import pytest
import torch
from torch.testing import assert_close

from nmt_core.models.attention import compute_rotation, rotate
from nmt_core.models.settings import TransformerConfig
from tests.support.presets import tiny_model
from tests.support.tensors import seeded

WIDTH = 8
FAR = torch.tensor([0, 1, 2, 7, 500])


def rotation_at(positions):
    """Return the rotation of some positions of a long sentence."""
    cosine, sine = compute_rotation(torch.zeros(1, 501, 1), WIDTH)
    return cosine[positions], sine[positions]


def test_features_rotate_like_complex_numbers():
    """Su et al. 2021, section 3.2.2, with the frequencies of equation 15."""
    x = seeded((2, 3, len(FAR), WIDTH))
    frequencies = 10_000.0 ** (-2 * torch.arange(WIDTH // 2, dtype=torch.float64) / WIDTH)
    angles = FAR[:, None] * frequencies
    pairs = torch.complex(x[..., : WIDTH // 2], x[..., WIDTH // 2 :])
    turned = pairs * torch.polar(torch.ones_like(angles), angles)

    expected = torch.cat([turned.real, turned.imag], dim=-1)
    assert_close(rotate(x, rotation_at(FAR)), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("shift", [1, 30])
def test_a_product_depends_on_distance_alone(shift):
    query, key = seeded((1, 1, 5, WIDTH)), seeded((1, 1, 5, WIDTH), 1)
    places = torch.arange(5)

    def multiply(positions):
        rotation = rotation_at(positions)
        return rotate(query, rotation) @ rotate(key, rotation).transpose(-1, -2)

    assert_close(multiply(places), multiply(places + shift), atol=1e-4, rtol=1e-4)
    assert not torch.allclose(multiply(places), multiply(2 * places))


def test_rotation_keeps_lengths_and_the_first_position():
    x = seeded((1, 2, 4, WIDTH))
    turned = rotate(x, rotation_at(torch.arange(4)))

    assert_close(turned[:, :, 0], x[:, :, 0])
    assert_close(turned.norm(dim=-1), x.norm(dim=-1))


def test_half_precision_stays_half():
    x = seeded((1, 1, 3, WIDTH)).bfloat16()

    assert rotate(x, rotation_at(torch.arange(3))).dtype == torch.bfloat16


def test_words_are_embedded_without_positions():
    embedding = tiny_model("transformer").source_embedding
    tokens = torch.tensor([[4, 4, 5]])

    assert_close(embedding(tokens)[0, 0], embedding(tokens)[0, 1])
    assert_close(embedding(tokens, 9), embedding(tokens))


@torch.no_grad()
def test_order_changes_the_encoders_output():
    """Without positions, an encoder gives each word the same vector in any order."""
    model = tiny_model("transformer").eval()
    source = torch.tensor([[4, 5, 6]])
    padding = torch.zeros_like(source, dtype=torch.bool)
    (keys, _), *_ = model.encode(source, padding).layers
    (reversed_keys, _), *_ = model.encode(source.flip(1), padding).layers

    assert not torch.allclose(keys, reversed_keys.flip(2), atol=1e-3)


def test_heads_of_an_odd_width_are_refused():
    with pytest.raises(ValueError, match="require an even head_width, got 5"):
        TransformerConfig(positions="rotary", head_width=5)

    assert TransformerConfig(positions="rotary", width=24, heads=4).features_per_head == 6

"""Words and positions are compared with the papers' formulas."""

import math

import pytest
import torch
from torch.testing import assert_close

from nmt_core.models.embedding import (
    Positions,
    build_embedding,
    build_pretrained_embedding,
    sinusoids,
)
from nmt_core.models.settings import TransformerConfig
from nmt_core.text.vocabulary import PAD


@pytest.mark.parametrize("width", [8, 7, 1])
def test_sinusoids_equal_the_papers(width):
    """Sine on even and cosine on odd features, with wavelengths from 2 pi to 20000 pi."""
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


def positions(width, **settings):
    return Positions(TransformerConfig(width=width, heads=1, **settings))


@pytest.mark.parametrize("first", [0, 5, 254, 1000])
def test_sinusoids_start_at_any_position(first):
    found = positions(8)(torch.zeros(1, 3, 8), first)

    assert_close(found[0], sinusoids(first + 3, 8)[first:])


def test_trained_scale_is_one_at_first_and_learns():
    scaled, words = positions(8, position_scale="trained"), torch.ones(2, 3, 8)
    assert_close(scaled(words, 0), positions(8)(words, 0))

    scaled(words, 0).sum().backward()

    assert scaled.scale.grad == pytest.approx(2 * sinusoids(3, 8).sum().item(), rel=1e-5)


def test_learned_positions_past_the_last_share_its_vector():
    learned = positions(4, positions="learned", max_positions=3)
    found = learned(torch.zeros(1, 5, 4), 0)[0]

    assert_close(found[:3], learned.table.weight)
    assert_close(found[3:], learned.table.weight[2].expand(2, 4))


def test_the_row_of_padding_starts_at_zero():
    table = build_embedding(1000, 64)

    assert table.weight[PAD].tolist() == [0] * 64
    assert table.weight[PAD + 1 :].std().item() == pytest.approx(1 / 8, rel=0.02)


@pytest.mark.parametrize("frozen", [True, False])
def test_given_vectors_are_copied(frozen):
    given_rows = torch.ones(5, 3)
    table = build_pretrained_embedding(given_rows, frozen=frozen)
    given_rows.zero_()

    assert table.weight.requires_grad != frozen
    assert table.weight.tolist() == [[1.0] * 3] * 5

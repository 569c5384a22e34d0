"""Attention is compared with a plain implementation and with torch's own."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from nmt_core.models import attention
from nmt_core.models.attention import MultiHeadAttention, masked_softmax
from tests.support.tensors import copy_attention, seeded

rows = st.lists(
    st.tuples(st.floats(-50, 50, width=32), st.booleans()), min_size=1, max_size=7
)  # a score, and whether its position is blocked


@given(rows)
def test_masked_softmax_covers_open_positions_only(row):
    """Blocked positions have weight exactly 0, even if their scores are the largest."""
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
    """No NaN occurs, neither forwards nor backwards, for any scores."""
    scores = torch.full((2, 4), large, dtype=dtype, requires_grad=True)
    blocked = torch.tensor([[True] * 4, [True, False, True, False]])
    weights = masked_softmax(scores, blocked)
    (weights * torch.arange(4)).sum().backward()

    assert weights.tolist() == [[0] * 4, [0, 0.5, 0, 0.5]]
    assert scores.grad.isfinite().all()
    assert scores.grad[blocked].tolist() == [0] * 6


@pytest.fixture
def twins():
    """Return our attention and torch's, with the same weights."""
    theirs = torch.nn.MultiheadAttention(12, 3, bias=True, batch_first=True).double()
    ours = MultiHeadAttention(12, 3, 4, bias=True).double()
    with torch.no_grad():
        theirs.in_proj_bias.normal_()
        theirs.out_proj.bias.normal_()
    copy_attention(theirs, ours)
    return ours, theirs


def test_attention_is_torchs(twins):
    ours, theirs = twins
    queries, memory = seeded((2, 5, 12)), seeded((2, 6, 12), 1)
    padding = torch.tensor([[False] * 6, [False, False, False, True, True, True]])
    expected, weights = theirs(queries, memory, memory, key_padding_mask=padding)
    blocked = padding[:, None, None]
    key_value = ours.project(memory)

    assert_close(ours(queries, key_value, blocked), expected)
    assert_close(ours.weights(queries, key_value, blocked), weights)


@pytest.mark.parametrize("where", ["everywhere", "before padding", "back"])
def test_the_fused_kernel_gives_the_same_result(twins, monkeypatch, where):
    """GPUs use it: forwards and backwards, with a mask and with its own causal flag."""
    ours, _ = twins
    padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
    how = {"back": {"causal": True}, "before padding": {"blocked": padding[:, None, None]}}
    found = []
    for fused in (False, True):
        monkeypatch.setattr(attention, "is_fused", lambda _, fused=fused: fused)
        x = seeded((2, 5, 12)).requires_grad_()
        y = ours(x, ours.project(x), **how.get(where, {}))
        y.square().sum().backward()
        found.append((y.detach(), x.grad))

    assert_close(found[0], found[1])


def test_causal_attention_is_torchs(twins):
    ours, theirs = twins
    x = seeded((2, 5, 12))
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected, _ = theirs(x, x, x, attn_mask=future)

    assert_close(ours(x, ours.project(x), future[None, None]), expected)
    assert_close(ours(x, ours.project(x), causal=True), expected)


@pytest.mark.parametrize("learning", [True, False])
def test_a_step_equals_attention_over_whole_sequences(twins, learning):
    """With the fused kernel, with separate and with stacked projections."""
    ours, _ = twins
    ours.eval()
    queries, memory = seeded((2, 4, 12)), seeded((2, 6, 12), 1)
    blocked = torch.tensor([[False] * 6, [False, False, False, True, True, True]])[:, None, None]
    mask = torch.zeros(blocked.shape).masked_fill(blocked, -torch.inf)
    with torch.set_grad_enabled(learning):
        found = ours.attend_projected(ours.project_queries(queries), ours.project(memory), mask)
        query, key_value = ours.project_queries_keys_values(memory)

        assert_close(found, ours(queries, ours.project(memory), blocked))
        assert_close(
            ours.attend_projected(query, key_value, mask), ours(memory, key_value, blocked)
        )

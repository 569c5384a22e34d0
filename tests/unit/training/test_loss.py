"""Our cross entropy equals torch's, forwards and backwards."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from nmt_core.data.batch import collate
from nmt_core.training.loss import batch_loss, compute_token_weights, smoothed_cross_entropy

smoothings = st.sampled_from([0.0, 0.1, 0.5])


@given(st.integers(1, 7), st.integers(2, 9), smoothings, st.integers(0, 2**32 - 1))
def test_loss_and_gradient_equal_torchs(tokens, vocabulary, smoothing, seed):
    draw = torch.Generator().manual_seed(seed)
    logits = 5 * torch.randn(tokens, vocabulary, generator=draw, dtype=torch.float64)
    target = torch.randint(vocabulary, (tokens,), generator=draw)
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()

    losses, plain = smoothed_cross_entropy(ours, target, smoothing)
    expected = F.cross_entropy(theirs, target, label_smoothing=smoothing, reduction="none")
    (losses * torch.arange(1, tokens + 1)).sum().backward()
    (expected * torch.arange(1, tokens + 1)).sum().backward()

    assert_close(losses, expected)
    assert_close(plain, F.cross_entropy(logits, target, reduction="none"))
    assert_close(ours.grad, theirs.grad)
    assert not plain.requires_grad


def test_large_logits_do_not_overflow():
    losses, _ = smoothed_cross_entropy(torch.tensor([[1e4, -1e4]]), torch.tensor([1]), 0.0)

    assert losses.item() == pytest.approx(2e4)


def test_weights_are_shares():
    """Per token, all tokens weigh the same; per sentence, all sentences do."""
    batch = collate([([4], [5, 6]), ([4], [])])

    assert [0.25] * 4 == compute_token_weights(batch, "token").tolist()
    assert [1 / 6, 1 / 6, 1 / 6, 1 / 2] == pytest.approx(
        compute_token_weights(batch, "sentence").tolist()
    )
    for per in ("token", "sentence"):
        assert compute_token_weights(batch, per, torch.float64).dtype == torch.float64


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_articles_loss_averages_means_of_sentences(model, smoothing):
    pairs = [([4, 5], [6]), ([7], [4, 5, 6])]
    batch = collate(pairs)
    logits = model(batch.source, batch.source_padding, batch.target_input)
    sentences = (logits[0, :2], batch.target_output[0, :2]), (logits[1], batch.target_output[1])
    smooth = [F.cross_entropy(*sentence, label_smoothing=smoothing) for sentence in sentences]
    first, second = (F.cross_entropy(*sentence) for sentence in sentences)

    found, total = batch_loss(model, batch, label_smoothing=smoothing, per="sentence")

    assert_close(found, sum(smooth) / 2)
    assert_close(total, 2 * first + 4 * second)

"""The sampled loss equals the full loss with all words, and is close to it with some."""

from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from torch.testing import assert_close

from nmt_core.data.batch import collate
from nmt_core.training.loss import (
    batch_loss,
    compute_inclusion,
    estimate_losses,
    sampled_cross_entropy,
)
from nmt_core.training.settings import TrainingConfig
from tests.support.presets import TARGET_SIZE, tiny_model

WORDS = 40
draw = torch.Generator().manual_seed(0)
LOGITS = 2 * torch.randn(3, WORDS, generator=draw, dtype=torch.float64)
TARGET = torch.tensor([7, 30, 7])
LOG_HALF = torch.full((WORDS,), 0.5, dtype=torch.float64).log()


def sampled(logits, drawn, log_probability):
    return sampled_cross_entropy(lambda words: logits[:, words], TARGET, drawn, log_probability)


@given(st.integers(1, 3000), st.integers(1, 3500))
def test_the_requested_number_of_words_is_drawn(words, expected):
    """On average; frequent words are more probable, and no word is impossible."""
    probabilities = compute_inclusion(words, expected)

    assert probabilities.sum() == pytest.approx(min(words, expected))
    assert probabilities.max() <= 1
    assert probabilities.min() > 0
    assert (np.diff(probabilities) <= 0).all()


def test_all_words_give_the_full_loss():
    """Forwards and backwards."""
    ours, theirs = LOGITS.clone().requires_grad_(), LOGITS.clone().requires_grad_()
    found = sampled(ours, torch.arange(WORDS), torch.zeros(WORDS))
    expected = F.cross_entropy(theirs, TARGET, reduction="none")
    found.sum().backward()
    expected.sum().backward()

    assert_close(found, expected)
    assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("row", range(3))
def test_a_right_word_counts_once_at_its_place(row):
    """Drawn or not; right words of other positions have no weight unless they are drawn."""

    def alone(*drawn):
        one = slice(row, row + 1)
        return sampled_cross_entropy(
            lambda words: LOGITS[one, words],
            TARGET[one],
            torch.tensor(drawn),
            LOG_HALF[: len(drawn)],
        )

    together = sampled(LOGITS, torch.tensor([2, 9]), LOG_HALF[:2])

    assert_close(together[row : row + 1], alone(2, 9))
    assert_close(alone(2, 9), alone(2, 9, TARGET[row].item()))


def estimates(expected, draws):
    """Return losses and gradients of many draws."""
    probabilities = compute_inclusion(WORDS, expected)
    random = np.random.default_rng(0)
    for _ in range(draws):
        [drawn] = (random.random(WORDS) < probabilities).nonzero()
        logits = LOGITS.clone().requires_grad_()
        losses = sampled(
            logits, torch.from_numpy(drawn), torch.from_numpy(np.log(probabilities[drawn]))
        )
        losses.sum().backward()
        yield losses.detach(), logits.grad


def test_the_softmax_sum_is_estimated_without_bias():
    right = LOGITS.gather(1, TARGET[:, None]).squeeze(1)
    totals = torch.stack([(losses + right).exp() for losses, _ in estimates(10, 1500)])
    error = totals.std(dim=0) / len(totals) ** 0.5

    assert ((totals.mean(dim=0) - LOGITS.exp().sum(dim=1)).abs() < 4 * error).all()


def test_drawing_all_words_gives_the_models_full_loss(model):
    batch = collate([([4, 5, 6], [7, 4]), ([8], [6, 5, 5])])
    estimate = partial(estimate_losses, words=TARGET_SIZE, seed=1, step=2)
    found = batch_loss(model, batch, label_smoothing=0.0, per="sentence", estimate=estimate)
    expected = batch_loss(model, batch, label_smoothing=0.0, per="sentence")

    assert_close(found, expected)


def test_draws_are_a_function_of_seed_and_step():
    model = tiny_model("transformer").eval()
    batch = collate([([4, 5, 6], [7, 4, 8, 5])])

    def loss(seed, step):
        estimate = partial(estimate_losses, words=4, seed=seed, step=step)
        return batch_loss(model, batch, label_smoothing=0.0, per="token", estimate=estimate)[
            0
        ].item()

    assert loss(1, 2) == loss(1, 2)
    assert len({loss(1, step) for step in range(9)}) > 1
    assert len({loss(seed, 1) for seed in range(9)}) > 1


def test_smoothing_needs_all_words():
    with pytest.raises(ValidationError, match=r"cannot be combined with label_smoothing 0\.1"):
        TrainingConfig(sampled_softmax=100)

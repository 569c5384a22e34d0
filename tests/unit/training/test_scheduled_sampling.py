"""How often the decoder reads its own words, and that the words are its own."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from nmt_core.data.batch import collate
from nmt_core.text.vocabulary import BOS, EOS, PAD
from nmt_core.training.loss import replace_with_predictions
from nmt_core.training.settings import ScheduledSampling
from tests.support.presets import tiny_model
from tests.support.toy_model import Toy

PAIRS = [([4, 5, 6, 7], [4, 5]), ([8], [6, 4, 5, 5]), ([4, 4, 5], [7])]
finals = st.floats(0, 0.99)
shares = st.floats(0, 1)


def own_places(batch, probability, seed):
    """Return where own words are inserted, as drawn first."""
    torch.manual_seed(seed)
    places = torch.rand(batch.target_input.shape) < probability
    return places & (batch.target_input != PAD) & (batch.target_input != BOS)


@given(finals, shares)
def test_probabilities_equal_the_papers(final, done):
    """A line; a decay of the reference by a constant factor; and a logistic function."""

    def probability(shape):
        return ScheduledSampling(shape=shape, final=final).probability(done)

    def logistic(x):
        return 1 / (1 + math.exp(-10 * (x - 0.5)))

    rise = (logistic(done) - logistic(0)) / (logistic(1) - logistic(0))
    assert probability("none") == 0
    assert probability("linear") == pytest.approx(final * done)
    assert probability("exponential") == pytest.approx(
        1 - math.exp(done * math.log1p(-final)), abs=1e-12
    )
    assert probability("inverse_sigmoid") == pytest.approx(final * rise, abs=1e-12)


def test_at_first_nothing_changes():
    batch = collate(PAIRS)

    assert batch is replace_with_predictions(Toy(), batch, ScheduledSampling(shape="linear"), 0.0)
    assert batch is replace_with_predictions(Toy(), batch, ScheduledSampling(), 1.0)


def test_own_words_are_the_models_predictions(model):
    """The model predicts them after all words before, own words included; no other changes."""
    batch = collate(PAIRS)
    sampling = ScheduledSampling(shape="linear", final=0.6, choose="best")
    own = own_places(batch, 0.6, seed=4)
    torch.manual_seed(4)
    mixed = replace_with_predictions(model, batch, sampling, 1.0)
    logits = model(batch.source, batch.source_padding, mixed.target_input)
    logits[..., [PAD, BOS, EOS]] = -torch.inf
    best = logits.argmax(dim=-1)

    assert own.any()
    assert torch.equal(mixed.target_input[:, 1:][own[:, 1:]], best[:, :-1][own[:, 1:]])
    assert torch.equal(mixed.target_input[~own], batch.target_input[~own])
    assert torch.equal(mixed.target_output, batch.target_output)


def test_words_are_drawn_with_their_probability():
    model = Toy(3)
    batch = collate([([4, 5], [4])] * 4000)
    torch.manual_seed(0)
    mixed = replace_with_predictions(
        model, batch, ScheduledSampling(shape="linear", final=0.99), 1.0
    )
    logits = model(batch.source[:1], batch.source_padding[:1], batch.target_input[:1, :1])[0, 0]
    logits[[PAD, BOS, EOS]] = -torch.inf
    drawn = mixed.target_input[own_places(batch, 0.99, seed=0)]

    assert_close(
        drawn.bincount(minlength=len(logits)) / len(drawn),
        logits.softmax(dim=0).float(),
        atol=0.03,
        rtol=0,
    )


def test_nothing_is_dropped_while_words_are_drawn():
    """Dropout continues afterwards."""
    model = tiny_model("transformer").train()
    batch = collate(PAIRS)
    sampling = ScheduledSampling(shape="linear", final=0.9, choose="best")
    found = []
    for training in (True, False):
        model.train(training)
        torch.manual_seed(1)
        found.append(replace_with_predictions(model, batch, sampling, 1.0).target_input.tolist())
        assert model.training == training

    assert found[0] == found[1]

"""The masked language model: what is hidden, what is learnt from it, what it is asked."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from nmt_core.base.compute import prepare_compute
from nmt_core.base.random import make_generator
from nmt_core.data.batch import Position
from nmt_core.extensions.language_models import training as module
from nmt_core.extensions.language_models.neural import (
    TransformerLanguageConfig,
    TransformerLanguageModel,
)
from nmt_core.extensions.language_models.reading import TextBatch, Windows, mask_tokens
from nmt_core.extensions.language_models.training import mean_loss
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK

WORDS = 50
numbers = st.lists(st.integers(UNK, WORDS - 1), min_size=1, max_size=60)


def tiny(words=WORDS):
    torch.manual_seed(0)
    shape = {"layers": 1, "width": 8, "heads": 2, "feed_forward_width": 16, "dropout": 0.0}
    model = TransformerLanguageModel(TransformerLanguageConfig(kind="masked", **shape), words)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model.double().eval()


# --- what is hidden


def test_fifteen_in_a_hundred_are_chosen_and_most_of_them_hidden():
    """Of 60,000 tokens; the bounds are five standard deviations of a fair draw."""
    line, counts = np.arange(4, WORDS).repeat(5)[:200], np.zeros(4)
    for number in range(300):
        read, wanted = mask_tokens(line, WORDS, make_generator(1, "test", number))
        chosen = wanted != PAD
        assert np.array_equal(wanted[chosen], line[chosen])
        assert np.array_equal(read[~chosen], line[~chosen])
        hidden, kept = read == WORDS, read == line
        counts += [chosen.sum(), hidden.sum(), (chosen & ~hidden & ~kept).sum(), 1]

    chosen, hidden, replaced, lines = counts
    assert chosen == 30 * lines
    assert hidden / chosen == pytest.approx(0.8, abs=0.022)
    expected = 0.1 * (WORDS - 5) / (WORDS - 4)  # one draw of 46 is the token itself
    assert replaced / chosen == pytest.approx(expected, abs=0.016)


@given(numbers)
def test_reserved_tokens_are_never_chosen_and_one_other_is(line):
    line = np.array([*line, EOS])
    read, wanted = mask_tokens(line, WORDS, make_generator(1, "test"))
    possible = int((line >= len(SPECIALS)).sum())

    assert (wanted != PAD).sum() == (max(1, round(0.15 * possible)) if possible else 0)
    assert not set(wanted.tolist()) & {BOS, EOS, UNK}
    assert len(read) == len(line)


def test_what_is_hidden_depends_on_seed_epoch_and_line_alone():
    """Not on the lines around it, nor on how many are read at once."""
    line = [*range(4, 34), EOS]
    text = np.array([BOS, *line, BOS, *line])
    longer = np.array([*text, BOS, 5, 6, EOS])

    def read(text, rows, seed, epoch):
        passages = Windows(text, rows, 40, seed, WORDS).epoch(epoch)
        return sorted(row.tolist()[:32] for passage in passages for row in passage.tokens)

    alone = read(text, 1, 1, 0)
    assert alone == read(text, 2, 1, 0)
    assert [row for row in read(longer, 3, 1, 0) if len(set(row)) > 5] == alone
    assert alone[0] != alone[1]
    assert alone != read(text, 1, 2, 0)
    assert alone != read(text, 1, 1, 1)
    assert all(row[0] == BOS for row in alone)


# --- what is learnt


def learning(model):
    """Return what learns, of which the loss alone is asked."""
    found = module.LanguageObjective.__new__(module.LanguageObjective)
    found.model, found.compute = model, prepare_compute("cpu", precision="float32", threads=None)
    return found


def test_only_what_is_chosen_is_learnt_from():
    """The loss sees of all predictions those at chosen places, and each of them alike."""
    model = tiny()
    tokens = torch.tensor([[BOS, 5, WORDS, 7, EOS], [BOS, 9, 8, EOS, PAD]])
    targets = torch.tensor([[PAD, PAD, 6, PAD, PAD], [PAD, 9, PAD, PAD, PAD]])
    seen = []
    handle = model.encoder.register_forward_hook(lambda _, __, out: seen.append(out[0]))
    objective = learning(model)
    share = objective.share(TextBatch(tokens, targets, continues=False), Position())
    loss, nats = objective.compute_loss(share, 0)
    handle.remove()
    [gradient] = torch.autograd.grad(nats, seen)
    log_probs = model(tokens)

    assert nats.item() == pytest.approx(-(log_probs[0, 2, 6] + log_probs[1, 1, 9]).item())
    assert torch.equal(gradient.abs().sum(dim=-1) > 0, targets != PAD)
    assert loss == nats / 2


def test_predictions_are_a_distribution_over_words():
    tokens = torch.tensor([[BOS, 5, WORDS, 7, EOS]])
    p = tiny()(tokens).exp()

    assert_close(p.sum(dim=-1), torch.ones(1, 5, dtype=p.dtype))
    assert (p[..., [*range(4), WORDS]] == 0).all()


def test_both_sides_are_seen():
    model, tokens = tiny(), torch.tensor([[BOS, 5, WORDS, 7, EOS]])
    before, after = tokens.clone(), tokens.clone()
    before[0, 1], after[0, 3] = 9, 9

    for changed in (before, after):
        assert not torch.allclose(model(changed)[0, 2], model(tokens)[0, 2])


def test_the_loss_of_a_text_is_the_same_every_time_and_of_hidden_tokens():
    model, text = tiny(), np.array([BOS, *range(4, 30), EOS])
    first, again = (mean_loss(model, text, document=False) for _ in range(2))
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()

    assert first == again
    assert mean_loss(model, text, document=False) == pytest.approx(math.log(WORDS - 4))

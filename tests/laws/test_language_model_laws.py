"""Laws that every kind of language model obeys."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from nmt_core.base.random import make_generator
from nmt_core.extensions.language_models.kinds import build_language_model
from nmt_core.extensions.language_models.neural import FeedForwardConfig, RecurrentConfig
from nmt_core.extensions.language_models.ngram import AddK, MaximumLikelihood, NGram, NGramConfig
from nmt_core.extensions.language_models.text_model import (
    line_log_likelihoods,
    stream_log_likelihoods,
)
from nmt_core.extensions.language_models.transformer import TransformerLanguageConfig
from nmt_core.text.vocabulary import BOS, EOS, PAD

WORDS = 9
SHAPE = {"width": 8, "embedding_width": 8}
KINDS = {
    "unigram": NGramConfig(order=1),
    "likelihood": NGramConfig(order=2, smoothing=MaximumLikelihood()),
    "add_k": NGramConfig(order=3, smoothing=AddK()),
    "kneser_ney": NGramConfig(order=4),
    "feed_forward": FeedForwardConfig(order=3, **SHAPE),
    "lstm": RecurrentConfig(**SHAPE),
    "lstm_of_one": RecurrentConfig(layers=1, stateful=False, **SHAPE),
    "lstm_1997": RecurrentConfig(cell="lstm_1997", state_dropout=0.3, **SHAPE),
    "one_hot": RecurrentConfig(input="one_hot", layers=1, **SHAPE),
    "tanh": RecurrentConfig(cell="tanh", state_dropout=0.3, **SHAPE),
    "gru": RecurrentConfig(cell="gru", tie=True, **SHAPE),
    "transformer": TransformerLanguageConfig(layers=2, width=8, heads=2, feed_forward_width=16),
    "short_transformer": TransformerLanguageConfig(layers=2, width=8, heads=2, context=4),
    "rotary_transformer": TransformerLanguageConfig(
        layers=2, width=8, heads=2, context=6, positions="rotary"
    ),
}
tokens = torch.tensor([[BOS, 4, 5, 6, 7], [BOS, 6, 4, 3, 8], [BOS, 5, 5, 4, 4]])


def learnt_text():
    draw = make_generator(0, "lines")
    rows = [[BOS, *draw.integers(4, WORDS, 5).tolist(), EOS] for _ in range(60)]
    return np.array([token for row in rows for token in row])


def tiny(name):
    config = KINDS[name]
    if isinstance(config, NGramConfig):
        return NGram.count(config, WORDS, learnt_text()).eval()
    torch.manual_seed(0)
    model = build_language_model(config, WORDS).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model


@pytest.fixture(params=KINDS)
def model(request):
    return tiny(request.param)


def test_stepping_equals_teacher_forcing(model):
    state, steps = model.start(len(tokens)), []
    for token in tokens.unbind(dim=1):
        hidden, state = model.decode(token[:, None], state)
        steps.append(model.log_probs(hidden[:, 0]))

    assert_close(torch.stack(steps, dim=1), model(tokens))


def test_any_cut_of_a_text_gives_the_same(model):
    first, state = model.decode(tokens[:, :2], model.start(len(tokens)))
    second, _ = model.decode(tokens[:, 2:], state)

    assert_close(model.log_probs(torch.cat([first, second], dim=1)), model(tokens))


def test_the_future_is_invisible(model):
    changed = tokens.clone()
    changed[:, 2] = 3

    assert_close(model(changed)[:, :2], model(tokens)[:, :2])


def test_the_past_matters(model):
    changed = tokens.clone()
    changed[:, 2] = 8
    alike = torch.allclose(model(changed)[:, 2], model(tokens)[:, 2])

    assert alike == (getattr(model.config, "order", 2) == 1)


def test_rows_are_independent(model):
    together = model(tokens)
    for row in range(len(tokens)):
        assert_close(model(tokens[row : row + 1])[0], together[row])


def test_selecting_commutes_with_stepping(model):
    rows = torch.tensor([2, 0, 0, 1])
    _, state = model.decode(tokens[:, :2], model.start(len(tokens)))
    after, _ = model.decode(tokens[:, 2:3], state)
    before, _ = model.decode(tokens[rows, 2:3], state.select(rows))

    assert_close(model.log_probs(before), model.log_probs(after)[rows])


def test_log_probabilities_are_a_distribution(model):
    p = model(tokens).exp()

    assert_close(p.sum(dim=-1), torch.ones(tokens.shape, dtype=p.dtype))
    assert (p[..., [PAD, BOS]] == 0).all()


def test_the_likelihood_of_a_token_is_its_log_probability(model):
    hidden, _ = model.decode(tokens, model.start(len(tokens)))
    wanted = torch.tensor([4, 5, 6, 7, EOS]).expand_as(tokens)

    assert_close(
        model.log_likelihood(hidden, wanted),
        model.log_probs(hidden).gather(-1, wanted[..., None])[..., 0],
    )


def test_scores_do_not_depend_on_how_text_is_cut_up(model, monkeypatch):
    """Chunks of a stream and batches of lines are the program's business."""
    rows = [row.tolist()[:length] for row, length in zip(tokens, (5, 2, 4), strict=True)]
    stream = [token for row in rows for token in row]
    whole, each = stream_log_likelihoods(model, stream), line_log_likelihoods(model, rows)
    for name, value in (("CHUNK", 2), ("BATCH_TOKENS", 1), ("ROWS_PER_SOFTMAX", 3)):
        monkeypatch.setattr(f"nmt_core.extensions.language_models.scoring.{name}", value)

    np.testing.assert_allclose(stream_log_likelihoods(model, stream), whole)
    for one, other in zip(line_log_likelihoods(model, rows), each, strict=True):
        np.testing.assert_allclose(one, other)


def test_lines_are_scored_alone_unless_the_model_goes_on(model):
    rows = [row.tolist() for row in tokens]
    together = np.concatenate(line_log_likelihoods(model, rows))
    alone = np.concatenate([stream_log_likelihoods(model, row) for row in rows])

    assert np.allclose(together, alone) == (not model.carries)

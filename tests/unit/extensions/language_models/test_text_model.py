"""Test the scores of texts and their perplexity."""

import math

import pytest

from nmt_core.extensions.language_models.kinds import build_language_model
from nmt_core.extensions.language_models.neural import RecurrentConfig
from nmt_core.extensions.language_models.text_model import TextModel
from nmt_core.extensions.language_models.training import mean_loss
from nmt_core.extensions.language_models.units import WordUnit, learn_units
from nmt_core.search.score import LogLikelihood
from tests.support.language_models import LSTM, learnt


def test_a_document_scores_alike_however_it_is_cut_into_lines(tmp_path):
    """Lines of characters are read one after another, their ends too."""
    _, model, _ = learnt(tmp_path)
    scores = model.score(["the cat", "", "sat."])
    assert model.score([]) == []
    flat = model.units.encode("the cat\n\nsat.\n")
    expected = -mean_loss(model.model, flat, document=True) * (len(flat) - 1)

    assert [score.tokens for score in scores] == [8, 1, 5]
    assert sum(score.log_likelihood for score in scores) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("stateful", [True, False])
def test_a_text_scores_as_its_validation_said(tmp_path, stateful):
    """Blank lines, of which words learn nothing, count nothing."""
    _, model, _ = learnt(tmp_path, LSTM | {"stateful": stateful}, unit="word")
    lines = ["the cat ran.", "", " \t", "the dog sat, too."]
    scores = model.score(lines)
    total = LogLikelihood()
    for score in scores:
        total = total.plus(score)
    ids = model.units.encode("\n".join(lines))

    assert scores[1] == scores[2] == LogLikelihood()
    assert total.tokens == 12
    assert -total.log_likelihood / total.tokens == pytest.approx(
        mean_loss(model.model, ids, document=False), rel=1e-5
    )


def test_nothing_is_dropped_while_it_scores():
    units = learn_units(WordUnit(min_count=1), "one\ntwo")
    config = RecurrentConfig(layers=1, embedding_width=8, width=8, dropout=0.5)
    model = TextModel(build_language_model(config, len(units.vocabulary)), units)

    assert model.score(["one two"]) == model.score(["one two"])


@pytest.mark.parametrize("nats", [math.inf, 1e6])
def test_the_perplexity_of_the_impossible_is_infinite(nats):
    assert math.inf == LogLikelihood(-nats, 3).perplexity
    assert LogLikelihood(-2000.0, 3).perplexity == pytest.approx(math.exp(2000 / 3))

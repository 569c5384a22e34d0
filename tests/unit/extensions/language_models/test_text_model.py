"""Test the scores of texts and their perplexity."""

import math

import numpy as np
import pytest

from nmt_core.extensions.language_models import (
    NGram,
    NGramConfig,
    RecurrentConfig,
    build_language_model,
)
from nmt_core.extensions.language_models.text_model import TextModel
from nmt_core.extensions.language_models.training import mean_loss
from nmt_core.extensions.language_models.units import CharacterUnit, WordUnit, learn_units
from nmt_core.search.score import LogLikelihood
from nmt_core.text.vocabulary import BOS, EOS
from tests.support.language_models import LSTM, TEXT, learnt


def test_a_document_scores_alike_however_it_is_cut_into_lines(tmp_path):
    """Lines of characters are read one after another, their ends too."""
    _, model, _ = learnt(tmp_path)
    scores = model.score(["the cat", "", "sat."])
    flat = model.units.encode("the cat\n\nsat.\n")
    expected = -mean_loss(model.model, flat, document=True) * (len(flat) - 1)

    assert [score.tokens for score in scores] == [8, 1, 5]
    assert sum(score.log_likelihood for score in scores) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("unit", [CharacterUnit(), WordUnit(min_count=1)], ids=str)
def test_no_lines_have_no_scores(unit):
    units = learn_units(unit, TEXT)
    model = NGram.count(NGramConfig(order=2), len(units.vocabulary), units.encode(TEXT))

    assert TextModel(model, units).score([]) == []


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


def test_perplexity_is_that_of_a_token():
    """A die with words on its faces, and the end of the line on one, has so many faces."""
    faces = ["one", "two", "six", "ten", "can", "fox"]
    units = learn_units(WordUnit(min_count=1), "\n".join(faces))
    model = NGram.count(NGramConfig(order=1), 10, np.array([BOS, *range(4, 10), EOS]))
    [score] = TextModel(model, units).score(["one two"])

    assert (score.tokens, score.characters) == (3, 8)
    assert LogLikelihood().plus(score) == score
    assert score.perplexity == pytest.approx(math.exp(-score.log_likelihood / 3))
    assert score.perplexity == pytest.approx(7, rel=0.2)


def test_nothing_is_dropped_while_it_scores():
    units = learn_units(WordUnit(min_count=1), "one\ntwo")
    config = RecurrentConfig(layers=1, embedding_width=8, width=8, dropout=0.5)
    model = TextModel(build_language_model(config, len(units.vocabulary)), units)

    assert model.score(["one two"]) == model.score(["one two"])


@pytest.mark.parametrize("nats", [math.inf, 1e6])
def test_the_perplexity_of_the_impossible_is_infinite(nats):
    assert math.inf == LogLikelihood(-nats, 3).perplexity
    assert LogLikelihood(-2000.0, 3).perplexity == pytest.approx(math.exp(2000 / 3))

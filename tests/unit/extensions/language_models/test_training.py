"""Test learning, resuming and stopping of language models."""

import pytest

from nmt_core.extensions.language_models.model import TextModel
from nmt_core.extensions.language_models.ngram import NGram, NGramConfig, Smoothing
from nmt_core.extensions.language_models.reading import UnitConfig, learn_units
from nmt_core.extensions.language_models.training import (
    MAX_LOSS,
    VALIDATION_WINDOW,
    compute_mean_loss,
)
from nmt_core.search.engine import LogLikelihood
from tests.support.language_models import LSTM, SMALL, TEXT, TRANSFORMER, learnt


@pytest.mark.parametrize("unit", [pytest.param("character", marks=pytest.mark.slow), "word"])
@pytest.mark.parametrize(
    "model",
    [
        LSTM,
        LSTM | {"stateful": False, "cell": "gru"},
        LSTM | {"input": "one_hot", "state_dropout": 0.2},
        {"kind": "feed_forward", **SMALL},
        TRANSFORMER,
    ],
    ids=["stateful", "stateless", "one_hot", "feed_forward", "transformer"],
)
def test_learning_lowers_the_loss(tmp_path, model, unit):
    _, _, points = learnt(tmp_path, model, unit=unit, training={"epochs": 4})

    assert points[-1].validation_loss < points[0].validation_loss


def test_the_loss_is_the_mean_over_tokens():
    units = learn_units(UnitConfig(kind="word", min_count=1), TEXT)
    ids = units.encode(TEXT)
    model = NGram.count(NGramConfig(order=3), len(units.vocabulary), ids)
    total = LogLikelihood()
    for score in TextModel(model, units).score([line for line in TEXT.split("\n") if line]):
        total = total.plus(score)

    assert compute_mean_loss(model, ids, document=False) == pytest.approx(
        -total.log_likelihood / total.tokens
    )


def test_a_counting_model_reads_whole_documents():
    """Tokens in the middle were never counted after BOS, and would be impossible there."""
    units = learn_units(UnitConfig(), long := TEXT * 8)
    ids = units.encode(long)
    config = NGramConfig(order=3, smoothing=Smoothing(kind="maximum_likelihood"))
    model = NGram.count(config, len(units.vocabulary), ids)
    [score] = TextModel(model, units).score([long.removesuffix("\n")])

    assert len(ids) > 2 * VALIDATION_WINDOW
    assert compute_mean_loss(model, ids, document=True) == pytest.approx(
        -score.log_likelihood / score.tokens
    )
    assert compute_mean_loss(model, ids[1:], document=True) == MAX_LOSS

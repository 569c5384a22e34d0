"""Metrics count batches and requests."""

from types import SimpleNamespace

import pytest

from nmt_core.literals.checking import Breach
from nmt_core.server import metrics
from nmt_core.text.translation import EMPTY_TRANSLATION
from nmt_core.translation.confidence import TENTHS
from tests.support.stand_in import StandIn, model_of

BREACH = Breach("number", "5", "5", "missing")
VALIDATION = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
PAIR = {"pair": "de-en"}


def sample(counts, name, **labels):
    return counts.registry.get_sample_value(f"nmt_{name}", labels)


@pytest.fixture
def model():
    translator = StandIn()
    translator.confidence_model = SimpleNamespace(validation=VALIDATION)
    return model_of(translator)


def watch(model, problem=""):
    return SimpleNamespace(watched=[SimpleNamespace(models=(model,), problem=problem)])


def test_batch_is_counted(model):
    counts, count = metrics.Metrics(), 3
    sure = EMPTY_TRANSLATION._replace(tokens=("a", "b"), confidence=0.95, breaches=(BREACH,) * 2)
    unknown = EMPTY_TRANSLATION._replace(tokens=("c",), unknown_words=("x", "y"))
    batch = [*[[sure]] * count, [unknown, sure]]
    counts.count_batch(model, batch, 7)
    counts.render(watch(model))

    assert sample(counts, "batch_sentences_sum") == count + 1
    assert sample(counts, "batch_tokens_sum") == 7
    assert sample(counts, "tokens_total", side="source", **PAIR) == 7
    assert sample(counts, "tokens_total", side="target", **PAIR) == 3 * count + 2
    assert sample(counts, "breaches_total", kind="number", **PAIR) == 2 * count
    assert sample(counts, "confidence_count", **PAIR) == count
    assert sample(counts, "sentences_unknown_total", **PAIR) == 1
    for tenth in range(TENTHS):
        share = sample(counts, "confidence_validation", le=str((tenth + 1) / TENTHS), **PAIR)
        assert share == pytest.approx(sum(VALIDATION[: tenth + 1]) / 55)


def test_new_model_takes_over_the_old_labels(model):
    counts, newer = metrics.Metrics(), model_of(model.translator, digest="new")
    counts.render(watch(model))
    labels = {"version": "1", "engine": "stand-in", **PAIR}
    assert sample(counts, "model", digest="digest", **labels) == 1
    assert sample(counts, "model_current", **PAIR) == 1

    counts.render(watch(newer, "it is away"))
    assert sample(counts, "model", digest="digest", **labels) is None
    assert sample(counts, "model", digest="new", **labels) == 1
    assert sample(counts, "model_current", **PAIR) == 0

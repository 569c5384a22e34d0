"""Losses and learning rates of a training are those of its record."""

import pytest

from stages.reporting.learning_rate import trace_learning_rate, trace_losses


def make_record(log_every, **model):
    """Return what a training of 100 updates leaves, validated every 20."""
    return {
        "params": {"model": {"dropout": 0.0, **model}},
        "history": [
            {"step": n, "learning_rate": n / 10, "train_loss": 9 - n / 100, "validation_loss": 8.0}
            for n in range(20, 101, 20)
        ],
        "curve": [
            {"step": n, "loss": 7 - n / 100, "learning_rate": n / 10}
            for n in range(log_every, 101, log_every)
        ],
    }


@pytest.mark.parametrize(
    ("log_every", "steps", "first"),
    [
        (10, [*range(10, 101, 10)], 6.9),
        (25, [25, 50, 75, 100], 6.75),
        (33, [*range(20, 101, 20)], 8.8),
    ],
)
def test_curves_are_the_logged_points_or_validations(log_every, steps, first):
    record = make_record(log_every)
    validation, training = trace_losses(record)
    rates = trace_learning_rate(record)

    assert (validation.label, training.label) == ("validation", "training")
    assert (validation.x, validation.y) == ([20, 40, 60, 80, 100], [8.0] * 5)
    assert (training.x, training.y[0]) == (steps, pytest.approx(first))
    assert (rates.x, rates.y) == (steps, [n / 10 for n in steps])


@pytest.mark.parametrize(
    ("model", "label"),
    [
        ({"variational_dropout": True}, "training"),
        ({"attention_dropout": 0.1}, "training, with dropout"),
    ],
)
def test_dropout_is_named(model, label):
    assert trace_losses(make_record(10, **model))[1].label == label

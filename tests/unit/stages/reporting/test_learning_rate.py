"""The learning rates of a training, against those that its trainer used."""

import pytest

from nmt_core.training.schedule import Budget, CosineRestarts, InverseSquareRoot, WarmupDecay
from stages.reporting import learning_rate
from stages.reporting.learning_rate import trace_learning_rate, trace_losses

SPEED = 30
"""Target tokens of an update."""


def trained(schedule, budget, *, steps=100, every=20, log_every=10, shape=None):
    """Return what a training leaves, and the rates that it used."""
    rates = [
        schedule.rate(n, budget.done(steps=n + 1, tokens=(n + 1) * SPEED, seconds=n / 10))
        for n in range(steps)
    ]
    history = [
        {"step": n, "learning_rate": rates[n - 1], "target_tokens": n * SPEED}
        | {"train_loss": 9 - n / steps, "validation_loss": 8.0}
        for n in range(every, steps + 1, every)
    ]
    settings = {"schedule": schedule.model_dump(mode="json"), "budget": budget.model_dump()}
    settings["model"] = shape or {"dropout": 0.0}
    curve = [
        {"step": n, "loss": 9 - n / steps, "learning_rate": rates[n - 1]}
        for n in range(log_every, steps + 1, log_every)
    ]
    record = {"params": settings, "history": history, "steps": steps, "curve": curve}
    return record, rates


@pytest.mark.parametrize(
    "schedule",
    [
        WarmupDecay(warmup=0.13),
        WarmupDecay(shape="linear", floor=0.1),
        InverseSquareRoot(warmup_steps=30),
        CosineRestarts(first_steps=7, length_factor=1.5),
    ],
    ids=lambda schedule: schedule.kind,
)
@pytest.mark.parametrize("budget", [Budget(steps=100), Budget(tokens=3300), Budget(steps=150)])
def test_every_update_has_the_rate_that_it_had(schedule, budget):
    record, rates = trained(schedule, budget)
    curve = trace_learning_rate(record)

    assert curve.x == list(range(1, 101))
    assert curve.y == pytest.approx(rates)


def test_restarts_do_not_ask_for_the_clock():
    record, rates = trained(CosineRestarts(first_steps=7), Budget(seconds=60.0))

    assert trace_learning_rate(record).y == pytest.approx(rates)


def test_of_a_schedule_by_the_clock_the_points_of_the_curve_are_known():
    record, rates = trained(WarmupDecay(), Budget(seconds=60.0), every=100)
    curve = trace_learning_rate(record)

    assert curve.x == [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert curve.y == [rates[step - 1] for step in curve.x]


def test_a_short_training_by_the_clock_shows_a_rate_for_each_update():
    """None was logged, and the last one alone, near 0, would say nothing."""
    record, rates = trained(WarmupDecay(), Budget(seconds=2.0), steps=20, log_every=50)
    curve = trace_learning_rate(record)

    assert curve.x == list(range(1, 21))
    assert curve.y == pytest.approx(rates, abs=2e-4)
    assert max(curve.y) > 10 * curve.y[-1]


@pytest.mark.parametrize(
    ("shape", "label"),
    [
        ({"dropout": 0.0, "variational_dropout": True}, "training"),
        ({"dropout": 0.0, "attention_dropout": 0.1}, "training, with dropout"),
    ],
)
def test_the_training_loss_is_that_of_the_points_of_the_curve(shape, label):
    record, _ = trained(WarmupDecay(), Budget(steps=100), shape=shape)
    validation, training = trace_losses(record)

    assert (validation.label, validation.x) == ("validation", [20, 40, 60, 80, 100])
    assert (training.label, training.x) == (label, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
    assert training.y == [9 - step / 100 for step in training.x]


def test_where_hardly_a_point_was_due_the_loss_is_that_between_validations():
    record, _ = trained(WarmupDecay(), Budget(steps=100), log_every=50)

    assert trace_losses(record)[1].x == [20, 40, 60, 80, 100]


def test_long_trainings_are_thinned_from_end_to_end(monkeypatch):
    monkeypatch.setattr(learning_rate, "MOST_POINTS", 10)
    record, rates = trained(CosineRestarts(), Budget(steps=100))
    curve = trace_learning_rate(record)

    assert (len(curve.x), curve.x[0], curve.x[-1]) == (10, 1, 100)
    assert curve.y == pytest.approx([rates[step - 1] for step in curve.x])

"""The learning rate of a training, update by update, from its record."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nmt_core.base import config
from nmt_core.base.config import Config
from nmt_core.evaluation.pictures import Curve
from nmt_core.training.schedule import Budget, ScheduleConfig, WarmupDecay

MOST_POINTS = 4000
"""Points of a curve; pictures show no more."""

FEWEST_POINTS = 4
"""Points that a training must have logged for a curve."""


class _Rates(Config):
    schedule: ScheduleConfig
    budget: Budget


def trace_losses(record: Mapping[str, Any]) -> list[Curve]:
    """Return the losses of validation and of training, by update.

    Args:
        record: ``training.json``. Where hardly a point of its curve was due, the training loss is
            that between two validations.
    """
    points, logged = record["history"], record["curve"]
    steps = [point["step"] for point in points]
    if len(logged) >= FEWEST_POINTS:
        trained = [point["step"] for point in logged], [point["loss"] for point in logged]
    else:
        trained = steps, [point["train_loss"] for point in points]
    shape: Mapping[str, Any] = record["params"]["model"]
    drops = any(
        name.endswith("dropout") and share for name, share in shape.items() if share is not True
    )
    return [
        Curve("validation", steps, [point["validation_loss"] for point in points]),
        Curve("training, with dropout" if drops else "training", *trained),
    ]


def trace_learning_rate(record: Mapping[str, Any]) -> Curve:
    """Return the rate of every update, or of some thousands of them.

    Args:
        record: ``training.json``; between validations, as many target tokens count for each update.

    Where a schedule follows seconds, which are not recorded, the rates are those of the
    points of the curve; where hardly one was due, as if each update had taken as long.
    """
    wanted = ("schedule", "budget")
    settings = config.build(_Rates, {key: record["params"][key] for key in wanted}, at="train")
    points, last = record["history"], record["steps"]
    timed = isinstance(settings.schedule, WarmupDecay) and settings.budget.seconds is not None
    if timed and len(logged := record["curve"]) >= FEWEST_POINTS:
        rates = [point["learning_rate"] for point in logged]
        return Curve("learning rate", [point["step"] for point in logged], rates)
    steps = np.unique(np.linspace(1, last, min(last, MOST_POINTS)).round().astype(int))
    told = [0, *(point["step"] for point in points)]
    tokens = np.interp(steps, told, [0, *(point["target_tokens"] for point in points)])
    seconds = (steps - 1) / last * (settings.budget.seconds or 0.0)
    spent = zip(steps.tolist(), tokens.tolist(), seconds.tolist(), strict=True)
    rates = [
        settings.schedule.rate(
            step - 1, settings.budget.done(steps=step, tokens=int(count), seconds=clock)
        )
        for step, count, clock in spent
    ]
    return Curve("learning rate", steps.tolist(), rates)

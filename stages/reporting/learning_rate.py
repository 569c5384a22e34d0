"""The learning rate of a training, update by update, from what the training left on disk."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nmt_core import config
from nmt_core.config import Config
from nmt_core.evaluation.pictures import Curve
from nmt_core.training.budget import Budget
from nmt_core.training.schedule import ScheduleConfig, WarmupDecay

MOST_POINTS = 4000
"""Of a curve, which no picture shows more of."""


class _Rates(Config):
    schedule: ScheduleConfig
    budget: Budget


def trace_learning_rate(record: Mapping[str, Any]) -> Curve:
    """Return the rate of every update, or of some thousands of them.

    Args:
        record: ``training.json``; between validations, as many target tokens count for each update.

    Where a schedule follows seconds, which nobody has written down, only the rates of the
    validations are known.
    """
    wanted = ("schedule", "budget")
    settings = config.build(_Rates, {key: record["params"][key] for key in wanted}, at="train")
    points = record["history"]
    told = [point["step"] for point in points]
    if isinstance(settings.schedule, WarmupDecay) and settings.budget.seconds is not None:
        return Curve("learning rate", told, [point["learning_rate"] for point in points])
    last = record["steps"]
    steps = np.unique(np.linspace(1, last, min(last, MOST_POINTS)).round().astype(int))
    tokens = np.interp(steps, [0, *told], [0, *(point["target_tokens"] for point in points)])
    rates = [
        settings.schedule.rate(
            step - 1, settings.budget.done(steps=step, tokens=int(count), seconds=0.0)
        )
        for step, count in zip(steps.tolist(), tokens.tolist(), strict=True)
    ]
    return Curve("learning rate", steps.tolist(), rates)

"""The losses and the learning rate of a training, by update, from its record."""

from collections.abc import Mapping
from typing import Any

from nmt_core.evaluation.pictures import Curve

FEWEST_POINTS = 4
"""Minimum points that a training must have logged for a curve."""


def trace_losses(record: Mapping[str, Any]) -> list[Curve]:
    """Return the losses of validation and of training, by update.

    Args:
        record: ``training.json``. If it has few logged points, the training loss is that between
            two validations.
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
    """Return the learning rate at the logged points, or at validations if there are few."""
    logged, points = record["curve"], record["history"]
    chosen = logged if len(logged) >= FEWEST_POINTS else points
    rates = [point["learning_rate"] for point in chosen]
    return Curve("learning rate", [point["step"] for point in chosen], rates)

"""Number of updates of a budget, and the updates after which it is validated."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from stages.params import TrainParams


@dataclass(frozen=True)
class Expected:
    """Updates of a budget, at most: patience may end a training before."""

    updates: int
    limit: str
    """The limit of the budget that is reached first."""
    validations: list[int]
    """Updates after which it is validated; the last is after all."""


def expect_updates(
    params: TrainParams, *, tokens_per_update: float, tokens_per_pass: float, speed: float
) -> Expected:
    """Return the updates of a budget, at a speed in target tokens a second."""
    budget, a_second = params.budget, speed / tokens_per_update
    limits = {
        "steps": budget.steps,
        "epochs": budget.epochs and budget.epochs * tokens_per_pass / tokens_per_update,
        "tokens": budget.tokens and budget.tokens / tokens_per_update,
        "seconds": budget.seconds and budget.seconds * a_second,
    }
    known = {name: limit for name, limit in limits.items() if limit is not None}
    first = min(known, key=lambda name: known[name])
    updates = max(1, math.ceil(known[first] - 1e-9))
    return Expected(updates, first, [*_list_validations(params, updates, a_second)])


def _list_validations(params: TrainParams, updates: int, a_second: float) -> Iterator[int]:
    """Yield the updates that are validated: every so many, where the clock asks, and the last."""
    by_clock = params.budget.validation_seconds * a_second  # endless, but in a budget of seconds
    every, done = params.training.validate_every, 0
    while done < updates:
        regular = (done // every + 1) * every
        done = math.ceil(min(regular, done + by_clock, updates))
        yield done

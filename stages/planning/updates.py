"""How many updates a budget comes to."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from nmt_core.training.budget import Budget


@dataclass(frozen=True)
class Epoch:
    """One pass over the training text."""

    batches: float
    target_tokens: float
    """Ends of sentences counted."""

    @property
    def tokens_per_update(self) -> float:
        """Target tokens of a batch, on average."""
        return self.target_tokens / self.batches

    def grown(self, times: float) -> "Epoch":
        """Return the epoch of so many times more text."""
        return Epoch(self.batches * times, self.target_tokens * times)


@dataclass(frozen=True)
class Expected:
    """What a budget comes to, at most: patience may end a training before."""

    updates: int
    target_tokens: int
    passes: float
    """Over the training text."""
    limit: str
    """Which limit of the budget is reached first."""


def expect_updates(budget: Budget, epoch: Epoch, tokens_per_second: float) -> Expected:
    """Return what a budget comes to, on a text and at a speed.

    Args:
        budget: when training ends, at whichever limit is reached first.
        epoch: one pass over the text.
        tokens_per_second: target tokens that updates train on, validations left out.
    """
    each = epoch.tokens_per_update
    limits: Mapping[str, float | None] = {
        "steps": budget.steps,
        "epochs": budget.epochs and budget.epochs * epoch.batches,
        "tokens": budget.tokens and budget.tokens / each,
        "seconds": budget.seconds and budget.seconds * tokens_per_second / each,
    }
    known = {name: limit for name, limit in limits.items() if limit is not None}
    first = min(known, key=lambda name: known[name])
    updates = max(1, math.ceil(known[first] - 1e-9))
    return Expected(updates, round(updates * each), updates / epoch.batches, first)


def list_validations(
    expected: Expected, validate_every: int, budget: Budget, *, tokens_per_second: float
) -> list[int]:
    """Return after which updates is validated.

    That is after every so many, about after each part of a budget of seconds, and at the end.

    Args:
        expected: what the budget comes to.
        validate_every: updates between two validations.
        budget: when training ends.
        tokens_per_second: as for :func:`expect_updates`.
    """
    updates = expected.updates
    found = {*range(validate_every, updates + 1, validate_every), updates}
    if budget.seconds is not None:
        seconds = expected.target_tokens / tokens_per_second
        each = budget.validation_seconds / seconds * updates
        found |= {math.ceil(n * each) for n in range(1, math.floor(updates / each) + 1)}
    return sorted(found)

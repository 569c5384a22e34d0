"""How much training is allowed: the same for all is what makes systems comparable."""

import math

from pydantic import Field, model_validator

from nmt_core.base.config import Config

VALIDATIONS = 12
"""In a budget of seconds, at least."""

SHORTEST_SECONDS = 5.0
"""Between two of these, so that a training of some seconds does not validate most of its time."""


class Budget(Config):
    """What training may spend, each null for no limit; it ends at whichever is reached first."""

    steps: int | None = Field(None, ge=1)
    """Optimizer updates."""
    epochs: int | None = Field(None, ge=1)
    """Passes over the training pairs; these only end training, schedules do not see them."""
    tokens: int | None = Field(None, ge=1)
    """Target tokens trained on, ends of sentences counted."""
    seconds: float | None = Field(None, gt=0)
    """Time spent in updates: neither start-up nor validation nor checkpoints count. A resumed
    training continues its clock; where it ends depends on the machine, not to be had again to
    the bit."""

    @model_validator(mode="after")
    def _check(self) -> "Budget":
        if not (self.ends_schedules or self.epochs):
            raise ValueError("set at least one of steps, epochs, tokens and seconds")
        return self

    @property
    def ends_schedules(self) -> bool:
        """Whether there is a share of the budget that a schedule can follow."""
        return any(limit is not None for limit in (self.steps, self.tokens, self.seconds))

    def done(self, *, steps: int, tokens: int, seconds: float) -> float:
        """Return the share that is used, from 0 to 1: the greatest among the limits set."""
        spent = ((steps, self.steps), (tokens, self.tokens), (seconds, self.seconds))
        shares = [used / limit for used, limit in spent if limit is not None]
        return min(1.0, max(shares, default=0.0))

    @property
    def validation_seconds(self) -> float:
        """Time spent in updates after which one is due again; without end where no clock ends it.

        How many updates a budget of seconds comes to is known to nobody beforehand, so validations
        that are counted in updates alone may be none but the last.
        """
        return max(self.seconds / VALIDATIONS, SHORTEST_SECONDS) if self.seconds else math.inf

    def is_spent(self, *, steps: int, tokens: int, seconds: float, epochs: int) -> bool:
        """Tell whether any limit is reached."""
        finished = self.epochs is not None and epochs >= self.epochs
        return finished or self.done(steps=steps, tokens=tokens, seconds=seconds) >= 1

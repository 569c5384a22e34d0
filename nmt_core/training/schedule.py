"""Learning rates as pure functions of how far training is, and the budget that ends it.

``step`` is the number of the update, counted from 0; ``done``, from 0 to 1, the share of the budget
that is used, the update included where that is known before.
"""

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt_core.base.config import Config


class InverseSquareRoot(Config):
    """Linear warm-up, then decay with the root of the step (Vaswani et al. 2017, section 5.3)."""

    kind: Literal["inverse_sqrt"] = "inverse_sqrt"
    """The tag of this choice."""
    learning_rate: float = Field(1.5e-3, gt=0)
    """Highest learning rate, reached at the end of the warm-up."""
    warmup_steps: int = Field(400, ge=1)
    """Updates of linear warm-up."""

    def rate(self, step: int, done: float) -> float:
        """Return the learning rate of a step."""
        del done
        step += 1
        return self.learning_rate * min(
            step / self.warmup_steps, math.sqrt(self.warmup_steps / step)
        )


class WarmupDecay(Config):
    """Linear warm-up, then down to ``floor`` when the budget is used, along a cosine or a line."""

    kind: Literal["warmup_decay"] = "warmup_decay"
    """The tag of this choice."""
    learning_rate: float = Field(1.5e-3, gt=0)
    """Highest learning rate, reached at the end of the warm-up."""
    warmup: float = Field(0.05, gt=0, lt=1)
    """Share of the budget spent in linear warm-up."""
    shape: Literal["cosine", "linear"] = "cosine"
    """How to go down."""
    floor: float = Field(0.0, ge=0, le=1)
    """Share of the peak that is left at the end."""

    def rate(self, step: int, done: float) -> float:
        """Return the learning rate where a share of the budget is used."""
        del step
        if done <= self.warmup:
            return self.learning_rate * done / self.warmup
        fallen = (done - self.warmup) / (1 - self.warmup)
        left = (1 + math.cos(math.pi * fallen)) / 2 if self.shape == "cosine" else 1 - fallen
        return self.learning_rate * (self.floor + (1 - self.floor) * left)


class CosineRestarts(Config):
    """Cosine decay with warm restarts (Loshchilov and Hutter 2017)."""

    kind: Literal["cosine_restarts"] = "cosine_restarts"
    """The tag of this choice."""
    learning_rate: float = Field(0.02, gt=0)
    """Learning rate at the start of the first cycle (l0)."""
    first_steps: int = Field(500, ge=1)
    """Updates in the first cycle (T0)."""
    length_factor: float = Field(1.5, gt=0)
    """How much longer each cycle is than the one before (t_mul)."""
    rate_factor: float = Field(0.8, gt=0)
    """How much higher each cycle starts than the one before (m_mul)."""
    floor: float = Field(0.01, ge=0, le=1)
    """Share of a cycle's first rate that is left at its end (alpha)."""

    def rate(self, step: int, done: float) -> float:
        """Return the learning rate of a step."""
        del done
        cycle, begin, length = 0, 0.0, float(self.first_steps)
        while step >= begin + length and length >= 1:
            begin, length, cycle = begin + length, length * self.length_factor, cycle + 1
        passed = min(1.0, (step - begin) / max(length, 1.0))
        start = self.learning_rate * self.rate_factor**cycle
        return start * (self.floor + (1 - self.floor) * (1 + math.cos(math.pi * passed)) / 2)


ScheduleConfig = Annotated[
    InverseSquareRoot | WarmupDecay | CosineRestarts, Field(discriminator="kind")
]


VALIDATIONS = 12
"""In a budget of seconds, at least."""

SHORTEST_SECONDS = 5.0
"""Between two of these, so that a training of some seconds does not validate most of its time."""


class Budget(Config):
    """Limits of training; null sets none. Training ends at the first limit it reaches."""

    steps: int | None = Field(None, ge=1)
    """Optimizer updates."""
    epochs: int | None = Field(None, ge=1)
    """Passes over the training pairs; these only end training, schedules do not see them."""
    tokens: int | None = Field(None, ge=1)
    """Target tokens trained on, ends of sentences counted."""
    seconds: float | None = Field(None, gt=0)
    """Time spent in updates, without start-up, validation and checkpoints. A resumed training
    continues the clock. The end depends on the machine, so the result is not reproducible to the
    bit."""

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

"""Learning rates as pure functions of how far training is.

``step`` is the number of the update, counted from 0; ``done``, from 0 to 1, the share of the budget
that is used, the update included where that is known before.
"""

import math
from typing import Annotated, Literal

from pydantic import Field

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

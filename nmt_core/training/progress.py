"""How far a training is: what a resumed one must know besides tensors."""

import math
import time
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.data.batch import Position
from nmt_core.training.budget import Budget
from nmt_core.training.selection import Merit


class Point(Config):
    """What one validation saw."""

    step: int
    epoch: int
    target_tokens: int
    """Target tokens trained on so far."""
    learning_rate: float
    train_loss: float
    """Plain cross entropy per token since the point before, dropout on, in nats."""
    validation_loss: float
    """Plain cross entropy per token, in nats."""
    validation_perplexity: float
    validation_token_accuracy: float
    """Tokens of the references that were predicted as the likeliest ones, in percent."""
    validation_scores: dict[str, float]
    """Of greedy translations, by the name of the metric."""

    def row(self) -> dict[str, float]:
        """Return all numbers side by side, such as ``validation_bleu``; scores are the last."""
        row = self.model_dump(exclude={"validation_scores"})
        return row | {f"validation_{n}": score for n, score in self.validation_scores.items()}

    def judge(self, metric: str | None, *, higher_is_better: bool = True) -> Merit:
        """Return what the best validation has most of: a score, or at equal ones the lower loss.

        Args:
            metric: whose score counts; None lets the loss alone decide.
            higher_is_better: which way that metric goes.
        """
        by_loss = (-self.validation_loss,)
        if metric is None:
            return by_loss
        score = self.validation_scores[metric]
        return (score if higher_is_better else -score, *by_loss)

    def measures(self) -> dict[str, float]:
        """Return what was measured of the validation text, as ``validation/bleu`` for a tracker."""
        return {
            name.replace("_", "/", 1): value
            for name, value in self.row().items()
            if name.startswith("validation_")
        }


class CurvePoint(Config):
    """What the updates since the point before it were like (``training.log_every``)."""

    step: int
    loss: float
    """Plain cross entropy per token, dropout on, in nats."""
    learning_rate: float
    """Of the last of them."""


class Progress(Config, frozen=False):
    """Where a training is; exact in JSON."""

    step: int = 0
    position: Position = Position()
    target_tokens: int = 0
    seconds: float = 0.0
    """Time spent in updates: of all that is here, what no two trainings have in common."""
    best_step: int | None = None
    finished: bool = False
    loss_sum: float = 0.0
    loss_tokens: int = 0
    """Since the last validation; the two below, since the last point of the curve."""
    recent_sum: float = 0.0
    recent_tokens: int = 0
    history: list[Point] = Field(default_factory=list)
    curve: list[CurvePoint] = Field(default_factory=list)

    def add_loss(self, loss: float, tokens: int) -> None:
        """Count the loss of an update, in nats, and its tokens."""
        self.loss_sum += loss
        self.loss_tokens += tokens
        self.recent_sum += loss
        self.recent_tokens += tokens

    def add_curve_point(self, learning_rate: float) -> float:
        """Put a point on the curve; return the mean loss since the one before it."""
        loss = self.recent_sum / max(1, self.recent_tokens)
        self.recent_sum, self.recent_tokens = 0.0, 0
        self.curve.append(CurvePoint(step=self.step, loss=loss, learning_rate=learning_rate))
        return loss

    def add_point(self, *, validation_loss: float, **measured: Any) -> Point:
        """Add a validation to the history; the training loss is counted anew after it."""
        point = Point(
            step=self.step,
            epoch=self.position.epoch,
            target_tokens=self.target_tokens,
            train_loss=self.loss_sum / max(1, self.loss_tokens),
            validation_loss=validation_loss,
            validation_perplexity=math.exp(min(validation_loss, 100.0)),
            **measured,
        )
        self.loss_sum, self.loss_tokens = 0.0, 0
        self.history.append(point)
        return point

    def has_spent(self, budget: Budget) -> bool:
        """Tell whether a budget ends the training here."""
        return budget.is_spent(
            steps=self.step,
            tokens=self.target_tokens,
            seconds=self.seconds,
            epochs=self.position.epoch,
        )


@dataclass
class Clock:
    """Counts the time of updates, from asking for a batch to its last loss, and nothing between."""

    seconds: float = 0.0
    """Of the whole training."""
    recent_seconds: float = 0.0
    """Since the last point of the curve, as are the tokens."""
    recent_tokens: int = 0
    began: float = 0.0

    def start(self) -> None:
        """Begin to count an update."""
        self.began = time.monotonic()

    def stop(self, tokens: int) -> None:
        """Count an update that read so many tokens."""
        seconds = time.monotonic() - self.began
        self.seconds += seconds
        self.recent_seconds += seconds
        self.recent_tokens += tokens

    def tokens_per_second(self) -> float:
        """Return the recent speed, and begin anew."""
        speed = self.recent_tokens / max(self.recent_seconds, 1e-9)
        self.recent_seconds, self.recent_tokens = 0.0, 0
        return speed

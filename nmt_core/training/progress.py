"""The progress of a training, which a checkpoint stores, and the choice of the best validation."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.data.batch import Position
from nmt_core.training.settings import Budget


class Point(Config):
    """The results of one validation."""

    step: int
    epoch: int
    target_tokens: int
    """Number of tokens trained on so far; for sentence pairs, of target tokens."""
    learning_rate: float
    train_loss: float
    """Plain cross entropy per prediction since the last validation, with dropout, in nats."""
    validation_loss: float
    """Plain cross entropy per prediction, in nats."""
    validation_scores: dict[str, float]
    """Other scores by name; a translation metric is the last."""

    def row(self) -> dict[str, float]:
        """Return all values in a flat dict, with keys such as ``validation_bleu``."""
        row = self.model_dump(exclude={"validation_scores"})
        return row | {f"validation_{n}": score for n, score in self.validation_scores.items()}

    def measures(self) -> dict[str, float]:
        """Return the validation's scores with a tracker's keys, such as ``validation/bleu``."""
        return {
            name.replace("_", "/", 1): value
            for name, value in self.row().items()
            if name.startswith("validation_")
        }


class Progress(Config, frozen=False):
    """The progress of a training, stored exactly in JSON."""

    step: int = 0
    position: Position = Position()
    target_tokens: int = 0
    seconds: float = 0.0
    """Time spent in updates; like ``validated_seconds``, it differs between equal trainings."""
    validated_seconds: float = 0.0
    """``seconds`` at the last validation."""
    best_step: int | None = None
    finished: bool = False
    skipped: int = 0
    """Number of updates that were not made, because loss or gradient was not finite."""
    loss_sum: float = 0.0
    loss_count: int = 0
    """Number of predictions in ``loss_sum``, both since the last validation."""
    recent_sum: float = 0.0
    recent_count: int = 0
    """Number of predictions in ``recent_sum``, both since the last point of the curve."""
    history: list[Point] = Field(default_factory=list)
    curve: list[dict[str, int | float]] = Field(default_factory=list)
    """Step, mean loss since the last point, and learning rate, every ``log_every`` updates."""

    def add_loss(self, loss: float, count: int) -> None:
        """Add the summed loss of an update, in nats, and the number of its predictions."""
        self.loss_sum += loss
        self.loss_count += count
        self.recent_sum += loss
        self.recent_count += count

    def add_curve_point(self, learning_rate: float) -> float:
        """Add a point to the curve; return the mean loss since the last point."""
        loss = self.recent_sum / max(1, self.recent_count)
        self.recent_sum, self.recent_count = 0.0, 0
        point = {"step": self.step, "loss": loss, "learning_rate": learning_rate}
        self.curve.append(point)
        return loss

    def add_point(self, learning_rate: float, loss: float, scores: Mapping[str, float]) -> Point:
        """Add a validation to the history, reset the training loss, return the validation."""
        point = Point(
            step=self.step,
            epoch=self.position.epoch,
            target_tokens=self.target_tokens,
            learning_rate=learning_rate,
            train_loss=self.loss_sum / max(1, self.loss_count),
            validation_loss=loss,
            validation_scores=dict(scores),
        )
        self.loss_sum, self.loss_count = 0.0, 0
        self.history.append(point)
        return point

    def has_spent(self, budget: Budget) -> bool:
        """Return whether this progress reaches a limit of the budget."""
        return budget.is_spent(
            steps=self.step,
            tokens=self.target_tokens,
            seconds=self.seconds,
            epochs=self.position.epoch,
        )


Merit = tuple[float, ...]
"""Sort key of a validation; the greatest is the best."""


def judge_latest(merits: Sequence[Merit], patience: int | None) -> tuple[bool, bool]:
    """Return whether the last validation is the best, and whether patience has run out.

    Args:
        merits: merit of each validation, in order; the first of equal merits is the best.
        patience: maximum number of validations after the best one; None never stops.
    """
    best = max(range(len(merits)), key=merits.__getitem__)
    since_best = len(merits) - 1 - best
    return since_best == 0, patience is not None and since_best >= patience

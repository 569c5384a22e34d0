"""Progress of a training, which a resumed one needs, and the selection of its best validation."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.data.batch import Position
from nmt_core.training.settings import Budget


class Point(Config):
    """What one validation saw."""

    step: int
    epoch: int
    target_tokens: int
    """Tokens trained on so far; of pairs, those of their targets."""
    learning_rate: float
    train_loss: float
    """Plain cross entropy per prediction since the point before, dropout on, in nats."""
    validation_loss: float
    """Plain cross entropy per prediction, in nats."""
    validation_scores: dict[str, float]
    """Other measures by name; of translations, the score of the metric is the last."""

    def row(self) -> dict[str, float]:
        """Return all numbers side by side, such as ``validation_bleu``."""
        row = self.model_dump(exclude={"validation_scores"})
        return row | {f"validation_{n}": score for n, score in self.validation_scores.items()}

    def measures(self) -> dict[str, float]:
        """Return what was measured of the validation text, as ``validation/bleu`` for a tracker."""
        return {
            name.replace("_", "/", 1): value
            for name, value in self.row().items()
            if name.startswith("validation_")
        }


class Progress(Config, frozen=False):
    """Where a training is; exact in JSON."""

    step: int = 0
    position: Position = Position()
    target_tokens: int = 0
    seconds: float = 0.0
    """Time spent in updates: of all that is here, what no two trainings have in common, with the
    next."""
    validated_seconds: float = 0.0
    """What that was at the last validation."""
    best_step: int | None = None
    finished: bool = False
    loss_sum: float = 0.0
    loss_count: int = 0
    """Since the last validation; the two below, since the last point of the curve."""
    recent_sum: float = 0.0
    recent_count: int = 0
    history: list[Point] = Field(default_factory=list)
    curve: list[dict[str, int | float]] = Field(default_factory=list)
    """Step, loss and learning rate of the updates since the point before, every ``log_every``."""

    def add_loss(self, loss: float, count: int) -> None:
        """Add the summed loss of an update, in nats, and the number of its predictions."""
        self.loss_sum += loss
        self.loss_count += count
        self.recent_sum += loss
        self.recent_count += count

    def add_curve_point(self, learning_rate: float) -> float:
        """Put a point on the curve; return the mean loss since the one before it."""
        loss = self.recent_sum / max(1, self.recent_count)
        self.recent_sum, self.recent_count = 0.0, 0
        point = {"step": self.step, "loss": loss, "learning_rate": learning_rate}
        self.curve.append(point)
        return loss

    def add_point(self, learning_rate: float, loss: float, scores: Mapping[str, float]) -> Point:
        """Add a validation to the history; the training loss is counted anew after it."""
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
        """Tell whether a budget ends the training here."""
        return budget.is_spent(
            steps=self.step,
            tokens=self.target_tokens,
            seconds=self.seconds,
            epochs=self.position.epoch,
        )


Merit = tuple[float, ...]
"""Sort key of a validation: more is better, first numbers count first."""


def select(merits: Sequence[Merit], patience: int | None) -> tuple[bool, bool]:
    """Tell whether the last validation is better than all before, and patience is at its end.

    Args:
        merits: of each validation, in order; of equal ones, the first is the best.
        patience: validations after the best one at which to stop; None never stops.
    """
    best = max(range(len(merits)), key=merits.__getitem__)
    since_best = len(merits) - 1 - best
    return since_best == 0, patience is not None and since_best >= patience

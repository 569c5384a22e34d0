"""Training by whole passes over a text that fits into memory, each followed by a validation."""

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from typing_extensions import override

from nmt_core.base.progress import TrainingDisplay
from nmt_core.data.batch import BatchT, Position, Share, TensorBatch
from nmt_core.training.checkpoint import CheckpointStore
from nmt_core.training.objective import Objective
from nmt_core.training.optimizer import build_optimizer
from nmt_core.training.progress import Point
from nmt_core.training.settings import Budget, EpochTrainingConfig
from nmt_core.training.trainer import Trainer

BatchT_co = TypeVar("BatchT_co", bound=TensorBatch, covariant=True)

LOSS_REMEDY = "lower training.schedule.learning_rate, or set training.compute.precision to float32"
"""For a loss that is not a number."""


class Reading(Protocol[BatchT_co]):
    """A text, batch by batch."""

    def steps(self, epoch: int) -> int:
        """Count the batches of an epoch."""

    def epoch(self, epoch: int) -> Iterator[BatchT_co]:
        """Yield the batches of an epoch; the same whenever it is asked for."""


@dataclass
class EpochObjective(Objective[BatchT]):
    """The objective of a model of a text, trained by one process.

    Attributes:
        reading: the training text.
    """

    config: EpochTrainingConfig
    reading: Reading[BatchT]

    @abstractmethod
    def share(self, batch: BatchT, after: Position) -> Share[BatchT]:
        """Count the predictions and tokens of a batch."""

    @override
    def start_from(
        self, position: Position, *, rank: int = 0, size: int = 1
    ) -> Generator[Share[BatchT], None, None]:
        del rank, size
        epoch, first = position.epoch, position.batch
        while steps := self.reading.steps(epoch):
            rest = islice(self.reading.epoch(epoch), first, None)
            for number, batch in enumerate(rest, start=first + 1):
                following = Position(epoch=epoch + 1)
                after = Position(epoch=epoch, batch=number) if number < steps else following
                yield self.share(batch, after)
            epoch, first = epoch + 1, 0


def train_epochs(
    objective: EpochObjective[Any],
    *,
    checkpoints: Path,
    display: Callable[[int], TrainingDisplay],
) -> list[Point]:
    """Train to the end, load the best weights, return the points of all validations.

    ``checkpoints`` is a folder of this training alone; those that it holds are continued.
    """
    config = objective.config
    steps = sum(objective.reading.steps(epoch) for epoch in range(config.epochs))
    trainer = Trainer(
        objective=objective,
        optimizer=build_optimizer(objective.model, config.optimizer),
        schedule=config.schedule,
        # the end of a schedule comes after the last update, which is lost at a rate of 0
        budget=Budget(steps=steps + 1, epochs=config.epochs),
        checkpoints=CheckpointStore(checkpoints),
        display=display(steps),
    )
    return trainer.fit().history

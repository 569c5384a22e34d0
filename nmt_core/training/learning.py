"""Learning by whole passes over a text that fits into memory: the loop, whatever is learnt.

What an epoch does is a function of the weights before it, the seed and its number. A checkpoint is
written after each, so a training that was stopped and is started again repeats at most one epoch,
and ends in the same bytes as one that never stopped.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import torch
from pydantic import Field
from torch import Tensor, nn

from nmt_core.base import config as settings
from nmt_core.base.compute import Compute, explain_out_of_memory
from nmt_core.base.config import Config
from nmt_core.base.random import derive_seed
from nmt_core.base.tracking import Display
from nmt_core.models.weights import load_own_tensors, own_tensors
from nmt_core.training.checkpoint import (
    Checkpoint,
    CheckpointStore,
    restore_training,
    training_tensors,
)
from nmt_core.training.schedule import CosineRestarts, InverseSquareRoot, WarmupDecay
from nmt_core.training.selection import Merit, select
from nmt_core.training.step import apply_gradients, require_finite

REMEDY = "lower training.schedule.learning_rate, or set training.compute.precision to float32"
"""For a loss that is no number."""

LOG_EVERY = 20
"""Updates between two points that are shown."""


class Pace(Protocol):
    """What the loop asks of the settings of a training."""

    @property
    def epochs(self) -> int:
        """Passes over the text."""

    @property
    def schedule(self) -> InverseSquareRoot | WarmupDecay | CosineRestarts:
        """Learning rate by the step."""

    @property
    def max_gradient_norm(self) -> float:
        """L2 norm to which gradients are clipped."""

    @property
    def patience(self) -> int | None:
        """Epochs that are no better, after which to stop; None never stops early."""


class EpochPoint(Config):
    """What one validation saw; losses are cross entropies, in nats."""

    epoch: int
    """Epochs done."""
    step: int
    """Updates done."""
    train_loss: float
    """Over the epoch, with dropout."""
    validation_loss: float
    """Of what is held out."""


PointT = TypeVar("PointT", bound=EpochPoint)
PortionT = TypeVar("PortionT")
PortionT_co = TypeVar("PortionT_co", covariant=True)


class LearningProgress(Config, Generic[PointT], frozen=False):
    """Where a training is; exact in JSON."""

    epoch: int = 0
    step: int = 0
    tokens: int = 0
    best_epoch: int = 0
    finished: bool = False
    history: list[PointT] = Field(default_factory=list)


class Reading(Protocol[PortionT_co]):
    """A text, portion by portion; each makes an update."""

    def steps(self, epoch: int) -> int:
        """Count the portions of an epoch."""

    def epoch(self, epoch: int) -> Iterator[PortionT_co]:
        """Yield the portions of an epoch; the same whenever it is asked for."""


class SummedLoss(NamedTuple):
    """What a model makes of a portion."""

    nats: Tensor
    """Sum over what is predicted."""
    predictions: int
    """What the loss is averaged over."""
    tokens: int
    """Tokens that were read, by which speed is told."""


@dataclass
class EpochLearning(ABC, Generic[PortionT, PointT]):
    """The loop and what it works with.

    Attributes:
        model: on its device, in float32.
        optimizer: over the model's weights.
        reading: the training text.
        checkpoints: where to continue from, and the best model.
        display: shows a person how it goes.
        compute: device and precision.
        config: limits and rates.
        seed: decides dropout.
        progress: where it is.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    reading: Reading[PortionT]
    checkpoints: CheckpointStore
    display: Display
    compute: Compute
    config: Pace
    seed: int
    progress: LearningProgress[PointT] = field(init=False)

    point: ClassVar[type[EpochPoint]]
    """What a validation sees."""
    memory_settings: ClassVar[str]
    """What to lower where memory runs out."""

    def __post_init__(self) -> None:
        self.progress = self._build_progress({})

    @abstractmethod
    def sum_loss(self, portion: PortionT) -> SummedLoss:
        """Return what the model makes of a portion, which is moved to its device."""

    @abstractmethod
    def validate(self) -> Mapping[str, float]:
        """Return what is seen of what is held out: ``validation_loss``, and what else there is."""

    def judge(self, point: PointT) -> Merit:
        """Say how good a validation is."""
        return (-point.validation_loss,)

    def fit(self) -> LearningProgress[PointT]:
        """Train until done; return where it ended, the best weights in the model.

        Raises:
            TrainingError: if the loss is not a number, naming the step.
        """
        self._resume()
        self._total = sum(self.reading.steps(epoch) for epoch in range(self.config.epochs))
        while not self.progress.finished:
            self._end_epoch(self._train_epoch())
        load_own_tensors(self.model, self.checkpoints.best().tensors)
        return self.progress

    def _train_epoch(self) -> float:
        """Train on the text once; return the mean loss."""
        self.model.train()
        nats, counted = 0.0, 0
        recent: list[tuple[float, int]] = []
        for portion in self.reading.epoch(self.progress.epoch):
            place = f"at step {self.progress.step + 1}"
            with explain_out_of_memory(place, self.memory_settings):
                loss, count = self._update(portion)
            recent.append((loss * count, count))
            if len(recent) == LOG_EVERY:
                self._log(recent)
                nats, counted = _add(nats, counted, recent)
                recent = []
        self._log(recent)
        nats, counted = _add(nats, counted, recent)
        self.progress.epoch += 1
        return nats / max(1, counted)

    def _update(self, portion: PortionT) -> tuple[float, int]:
        """Make one update; return the mean loss, and over how many predictions."""
        step = self.progress.step
        # the end of a schedule comes after the last update, which is lost at a rate of 0
        self._learning_rate = self.config.schedule.rate(step, (step + 1) / (self._total + 1))
        torch.manual_seed(derive_seed(self.seed, "dropout", step))
        with self.compute.autocast():
            nats, count, tokens = self.sum_loss(portion)
            loss = nats / max(1, count)
        loss.backward()
        apply_gradients(
            list(self.model.parameters()),
            self.optimizer,
            compute=self.compute,
            learning_rate=self._learning_rate,
            max_norm=self.config.max_gradient_norm,
        )
        value = require_finite(loss.item(), place=f"step {step + 1}", remedy=REMEDY)
        self.progress.step += 1
        self.progress.tokens += tokens
        return value, count

    def _log(self, recent: list[tuple[float, int]]) -> None:
        if recent:
            loss = sum(nats for nats, _ in recent) / max(1, sum(count for _, count in recent))
            self.display.step(
                step=self.progress.step,
                tokens=self.progress.tokens,
                seconds=0.0,
                loss=loss,
                learning_rate=self._learning_rate,
            )

    def _end_epoch(self, train_loss: float) -> None:
        """Validate, keep the best weights, write a checkpoint."""
        progress = self.progress
        with self.compute.autocast():
            seen = self.validate()
        place = f"step {progress.step}"
        require_finite(seen["validation_loss"], name="validation loss", place=place, remedy=REMEDY)
        values = {"epoch": progress.epoch, "step": progress.step, "train_loss": train_loss, **seen}
        kind: Any = self.point
        progress.history.append(settings.build(kind, values, at="progress"))
        selection = select([self.judge(each) for each in progress.history], self.config.patience)
        if selection.is_best:
            progress.best_epoch = progress.epoch
            weights = {name: value.cpu() for name, value in own_tensors(self.model).items()}
            self.checkpoints.save_best(Checkpoint(weights, {}), step=progress.step)
        progress.finished = progress.epoch >= self.config.epochs or selection.is_out_of_patience
        self.display.validation(progress.history[-1].model_dump(), best=selection.is_best)
        tensors = training_tensors(self.model, self.optimizer)
        self.checkpoints.save(
            Checkpoint(tensors, progress.model_dump(mode="json")), step=progress.step
        )

    def _resume(self) -> None:
        checkpoint = self.checkpoints.newest()
        for problem in self.checkpoints.rejected:
            self.display.note(f"{problem}; continuing from the checkpoint before it")
        if checkpoint is None:
            return
        self.progress = self._build_progress(checkpoint.progress)
        restore_training(self.model, self.optimizer, checkpoint.tensors)
        self.display.note(f"continuing after epoch {self.progress.epoch}")

    def _build_progress(self, values: Mapping[str, Any]) -> LearningProgress[PointT]:
        kind: Any = LearningProgress[self.point]
        progress: LearningProgress[PointT] = settings.build(kind, values, at="progress")
        return progress


def _add(nats: float, counted: int, recent: list[tuple[float, int]]) -> tuple[float, int]:
    return nats + sum(loss for loss, _ in recent), counted + sum(count for _, count in recent)

"""The objective of a training: its data, the loss of an update and the measures of a validation.

The loop (``trainer.py``) knows no more of a kind of model.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple

from torch import Tensor, nn

from nmt_core.base.compute import Compute
from nmt_core.data.batch import BatchT, Position, Share
from nmt_core.training.progress import Merit, Point
from nmt_core.training.settings import EpochTrainingConfig, TrainingConfig


class Remedies(NamedTuple):
    """Settings to lower where training cannot continue."""

    memory: str
    """If it runs out in an update."""
    validation_memory: str
    loss: str
    """If it is not a number."""


@dataclass
class Objective(ABC, Generic[BatchT]):
    """The data and the loss of a model.

    Attributes:
        model: on its device, in float32.
        compute: device and precision.
        config: intervals and limits.
        seed: decides the order of the data, and what is drawn in updates.
    """

    model: nn.Module
    compute: Compute
    config: TrainingConfig | EpochTrainingConfig
    seed: int

    @property
    @abstractmethod
    def remedies(self) -> Remedies:
        """Settings to lower where training cannot continue."""

    @abstractmethod
    def start_from(
        self, position: Position, *, rank: int = 0, size: int = 1
    ) -> Generator[Share[BatchT], None, None]:
        """Yield the shares of one of several processes of training batches, without end."""

    def prepare(self, batch: BatchT, step: int, done: float, rank: tuple[int, ...]) -> BatchT:
        """Change a batch before an update reads it.

        Args:
            batch: on the device.
            step: updates before this one.
            done: share of the budget that is used.
            rank: number of the process or pass, if there are several; each draws for itself.
        """
        del step, done, rank
        return batch

    @abstractmethod
    def compute_loss(self, share: Share[BatchT], step: int) -> tuple[Tensor, Tensor]:
        """Return the loss to minimise and the summed cross entropy, in nats, of this share."""

    @abstractmethod
    def validate(self) -> tuple[float, dict[str, float]]:
        """Return the mean loss on the validation data, and other scores by name."""

    def judge(self, point: Point) -> Merit:
        """Return the merit of a validation."""
        return (-point.validation_loss,)

    def tensors(self) -> dict[str, Tensor]:
        """Return the state that an update leaves to the next one, under names of its own."""
        return {}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the state from :meth:`tensors`; other tensors are left alone."""

"""The objective of a training: its data, the loss of an update and the scores of a validation.

The training loop (``trainer.py``) depends on a kind of model only through its objective.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Generic

from torch import Tensor, nn
from typing_extensions import override

from nmt_core.base.compute import Compute
from nmt_core.base.random import derive_seed
from nmt_core.data.batch import Batch, BatchT, Position, Share, TrainingBatches
from nmt_core.data.reading_process import read_in_process
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.training.loss import (
    batch_loss,
    estimate_losses,
    measure_predictions,
    replace_with_predictions,
)
from nmt_core.training.progress import Merit, Point
from nmt_core.training.settings import EpochTrainingConfig, TrainingConfig


@dataclass
class Objective(ABC, Generic[BatchT]):
    """The data and the loss of a model."""

    model: nn.Module
    """The model on its device, in float32."""
    compute: Compute
    config: TrainingConfig | EpochTrainingConfig
    seed: int
    """Seed of the order of the data and of random draws in updates."""

    memory_remedy: ClassVar[str]
    """For error messages: settings to lower if memory runs out in an update."""
    validation_remedy: ClassVar[str]
    """The same for a validation."""
    loss_remedy: ClassVar[str]
    """For error messages: a remedy if a loss is not finite."""

    @abstractmethod
    def start_from(
        self, position: Position, *, rank: int = 0, size: int = 1
    ) -> Generator[Share[BatchT], None, None]:
        """Yield the share of process ``rank`` in each training batch, without end."""

    def prepare(self, batch: BatchT, step: int, done: float, rank: tuple[int, ...]) -> BatchT:
        """Return the batch, on its device, as the update after ``step`` updates will read it.

        ``done`` is the spent share of the budget. ``rank`` is the number of the process or pass for
        seeds; it is empty if there is only one.
        """
        del step, done, rank
        return batch

    @abstractmethod
    def compute_loss(self, share: Share[BatchT], step: int) -> tuple[Tensor, Tensor]:
        """Return the loss to minimise and the summed cross entropy of a share, in nats."""

    @abstractmethod
    def validate(self) -> tuple[float, dict[str, float]]:
        """Return the mean loss on the validation data, and other scores by name."""

    def judge(self, point: Point) -> Merit:
        """Return the sort key of a validation; the greatest is the best."""
        return (-point.validation_loss,)

    def tensors(self) -> dict[str, Tensor]:
        """Return the state that the objective carries between updates, under unique names."""
        return {}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the state that ``tensors()`` returned; ignore other tensors."""


@dataclass
class EpochObjective(Objective[BatchT]):
    """The objective of a monolingual model, trained by one process for a number of epochs."""

    config: EpochTrainingConfig
    count_steps: Callable[[int], int]
    """Returns the number of batches of an epoch."""
    read_epoch: Callable[[int], Iterator[BatchT]]
    """Yields the batches of an epoch, the same at every call."""

    loss_remedy = (
        "lower training.schedule.learning_rate, or set training.compute.precision to float32"
    )

    @abstractmethod
    def share(self, batch: BatchT, after: Position) -> Share[BatchT]:
        """Return the batch with its numbers of predictions and tokens."""

    @override
    def start_from(
        self, position: Position, *, rank: int = 0, size: int = 1
    ) -> Generator[Share[BatchT], None, None]:
        del rank, size
        epoch, first = position.epoch, position.batch
        while steps := self.count_steps(epoch):
            batches = islice(self.read_epoch(epoch), first, None)
            for number, batch in enumerate(batches, start=first + 1):
                following = Position(epoch=epoch + 1)
                after = Position(epoch=epoch, batch=number) if number < steps else following
                yield self.share(batch, after)
            epoch, first = epoch + 1, 0


@dataclass
class TranslationObjective(Objective[Batch]):
    """The data and the loss of a translation model."""

    model: Seq2Seq[Any, Any]
    config: TrainingConfig
    batches: TrainingBatches
    validation: list[Batch]
    translate_and_score: Callable[[Seq2Seq[Any, Any]], float]
    """Returns the metric's score of greedy translations of validation sentences."""
    metric: str = "score"
    higher_is_better: bool = True

    memory_remedy = "the size of train.batching, shard.max_length or the sizes of train.model"
    validation_remedy = "train.training.validation_sentences or the sizes of train.model"
    loss_remedy = "lower train.schedule's learning rate or train with precision float32"

    @override
    def start_from(
        self, position: Position, *, rank: int = 0, size: int = 1
    ) -> Generator[Share[Batch], None, None]:
        make = partial(self.batches.start_from, position, rank=rank, size=size)
        return read_in_process(make) if self.compute.device.type == "cuda" else make()

    @override
    def prepare(self, batch: Batch, step: int, done: float, rank: tuple[int, ...]) -> Batch:
        """Return the batch after scheduled sampling."""
        sampling = self.config.scheduled_sampling
        if sampling.shape == "none":
            return batch
        self.compute.seed(derive_seed(self.seed, "scheduled sampling", step, *rank))
        with self.compute.autocast():  # apart from the update's: it may cache rounded weights
            return replace_with_predictions(self.model, batch, sampling, done)

    @override
    def compute_loss(self, share: Share[Batch], step: int) -> tuple[Tensor, Tensor]:
        batch, expected, per = share.batch, self.config.sampled_softmax, self.config.normalize_loss
        loss, nats = batch_loss(
            self.model,
            batch,
            label_smoothing=self.config.label_smoothing,
            per=per,
            estimate=partial(estimate_losses, words=expected, seed=self.seed, step=step)
            if expected
            else None,
        )
        tokens, sentences = batch.target_tokens / share.target_tokens, batch.rows / len(share.pairs)
        return loss * (tokens if per == "token" else sentences), nats

    @override
    def validate(self) -> tuple[float, dict[str, float]]:
        with self.compute.autocast():
            on_device = (batch.to(self.compute.device) for batch in self.validation)
            loss, accuracy = measure_predictions(self.model, on_device)
        return loss, {
            "perplexity": math.exp(min(loss, 100.0)),
            "token_accuracy": accuracy,
            self.metric: self.translate_and_score(self.model),
        }

    @override
    def judge(self, point: Point) -> Merit:
        """Return the score, then the loss for ties; or only the loss, as configured."""
        by_loss = super().judge(point)
        if self.config.select_by == "loss":
            return by_loss
        score = point.validation_scores[self.metric]
        return (score if self.higher_is_better else -score, *by_loss)

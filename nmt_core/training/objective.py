"""The objective of a training: its data, the loss of an update and the measures of a validation.

The loop (``trainer.py``) knows no more of a kind of model.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple

from torch import Tensor, nn
from typing_extensions import override

from nmt_core.base.compute import Compute
from nmt_core.base.random import derive_seed
from nmt_core.data.batch import Batch, BatchT, Position, Share, TrainingBatches
from nmt_core.data.reading_process import read_in_process
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.training.loss import (
    Predicted,
    SampledSoftmax,
    batch_loss,
    measure_predictions,
    replace_with_predictions,
)
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


BATCH_SIZE = {"tokens": "max_tokens", "buckets": "batch_size"}
"""Name of the setting for the size of batches, by their kind."""


@dataclass
class TranslationObjective(Objective[Batch]):
    """The data and the loss of a translator.

    Attributes:
        batches: training pairs without end.
        validation: validation pairs, as batches in a fixed order.
        translate_and_score: returns the score of greedy validation translations.
        metric: name of the metric that scores translations.
        higher_is_better: which way that metric goes.
    """

    model: Seq2Seq[Any, Any]
    config: TrainingConfig
    batches: TrainingBatches
    validation: list[Batch]
    translate_and_score: Callable[[Seq2Seq[Any, Any]], float]
    metric: str = "score"
    higher_is_better: bool = True

    @property
    @override
    def remedies(self) -> Remedies:
        size = BATCH_SIZE[self.batches.config.kind]
        return Remedies(
            memory=f"train.batching.{size}, shard.max_length or the sizes of train.model",
            validation_memory="train.training.validation_sentences or the sizes of train.model",
            loss="lower train.schedule's learning rate or train with precision float32",
        )

    @override
    def start_from(
        self, position: Position, *, rank: int = 0, size: int = 1
    ) -> Generator[Share[Batch], None, None]:
        make = partial(self.batches.start_from, position, rank=rank, size=size)
        return read_in_process(make) if self.compute.device.type == "cuda" else make()

    @override
    def prepare(self, batch: Batch, step: int, done: float, rank: tuple[int, ...]) -> Batch:
        """Replace target words by predicted ones, as scheduled sampling says."""
        sampling = self.config.scheduled_sampling
        self.compute.seed(derive_seed(self.seed, "scheduled sampling", step, *rank))
        with self.compute.autocast():  # its own: torch may keep what it rounds without gradients
            return replace_with_predictions(self.model, batch, sampling, done)

    @override
    def compute_loss(self, share: Share[Batch], step: int) -> tuple[Tensor, Tensor]:
        batch, expected, per = share.batch, self.config.sampled_softmax, self.config.normalize_loss
        loss, nats = batch_loss(
            self.model,
            batch,
            label_smoothing=self.config.label_smoothing,
            per=per,
            estimate=SampledSoftmax(expected, self.seed, step) if expected else None,
        )
        tokens, sentences = batch.target_tokens / share.target_tokens, batch.rows / len(share.pairs)
        return loss * (tokens if per == "token" else sentences), nats

    def predict_validation(self) -> Predicted:
        """Return how well the model predicts the validation targets."""
        with self.compute.autocast():
            on_device = (batch.to(self.compute.device) for batch in self.validation)
            return measure_predictions(self.model, on_device)

    @override
    def validate(self) -> tuple[float, dict[str, float]]:
        loss, accuracy = self.predict_validation()
        return loss, {
            "perplexity": math.exp(min(loss, 100.0)),
            "token_accuracy": accuracy,
            self.metric: self.translate_and_score(self.model),
        }

    @override
    def judge(self, point: Point) -> Merit:
        """Rank by the score, at equal scores by the loss; or by the loss alone."""
        by_loss = super().judge(point)
        if self.config.select_by == "loss":
            return by_loss
        score = point.validation_scores[self.metric]
        return (score if self.higher_is_better else -score, *by_loss)

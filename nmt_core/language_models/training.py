"""Training a language model, or counting one.

What an epoch does is a function of the weights before it, the seed and its number. A checkpoint is
written after each, so a training that was stopped and is started again repeats at most one epoch,
and ends in the same bytes as one that never stopped.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from nmt_core import config as settings
from nmt_core.compute import Compute, explain_out_of_memory, prepare_compute
from nmt_core.config import Config
from nmt_core.errors import CorpusError
from nmt_core.language_models import (
    LanguageModel,
    LanguageModelConfig,
    NeuralLanguageModel,
    NGram,
    NGramConfig,
    RecurrentConfig,
    build_neural,
)
from nmt_core.language_models.reading import Passage, Reading, Streams, Windows
from nmt_core.language_models.scoring import line_log_likelihoods
from nmt_core.language_models.units import CharacterUnit, UnitConfig, Units
from nmt_core.models.weights import load_own_tensors, own_tensors
from nmt_core.random import derive_seed
from nmt_core.text.vocabulary import BOS, PAD
from nmt_core.tracking import Display
from nmt_core.training.checkpoint import (
    Checkpoint,
    CheckpointStore,
    restore_training,
    training_tensors,
)
from nmt_core.training.optimizer import build_optimizer
from nmt_core.training.schedule import ScheduleConfig, WarmupDecay
from nmt_core.training.selection import select
from nmt_core.training.settings import AdamW, ComputeConfig, OptimizerConfig
from nmt_core.training.step import apply_gradients, require_finite

VALIDATION_ROWS, VALIDATION_WINDOW = 16, 256
"""A stream is validated in so many parts, side by side, or it would take long."""

REMEDY = "lower training.schedule.learning_rate, or set training.compute.precision to float32"
"""For a loss that is no number."""

LOG_EVERY = 20
"""Updates between two points that are shown."""


class NeuralTrainingConfig(Config):
    """How a neural language model is trained; counting ones need none of it."""

    epochs: int = Field(10, ge=1)
    """Passes over the text."""
    rows: int = Field(32, ge=1)
    """Windows, streams or lines read side by side."""
    window: int = Field(64, ge=1)
    """Tokens per update and row: how far errors are sent back; longer lines are cut."""
    optimizer: OptimizerConfig = AdamW(beta2=0.99, weight_decay=0.01)
    """What turns gradients into updates."""
    schedule: ScheduleConfig = WarmupDecay(learning_rate=4e-3, warmup=0.03)
    """Learning rate by the step."""
    max_gradient_norm: float = Field(1.0, gt=0)
    """L2 norm to which gradients are clipped."""
    patience: int | None = Field(None, ge=1)
    """Epochs without a lower validation loss after which to stop; null never stops early."""
    compute: ComputeConfig = ComputeConfig()
    """Where and how precisely to compute."""


class LearningConfig(Config):
    """A language model: its kind and shape, what it reads, and how it learns."""

    model: LanguageModelConfig = NGramConfig()
    """Kind and shape."""
    unit: UnitConfig = CharacterUnit()
    """What a text is made of."""
    training: NeuralTrainingConfig = NeuralTrainingConfig()
    """How it learns, if it is neural."""
    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of the text, its end, that is validated on where there is no text for that."""
    seed: int = Field(1, ge=0)
    """Decides initial weights, dropout and the order of windows."""


class LanguagePoint(Config):
    """What one validation saw; losses are cross entropies per token, in nats."""

    epoch: int
    """Epochs done."""
    step: int
    """Updates done."""
    train_loss: float
    """Over the epoch, with dropout."""
    validation_loss: float
    """Ends of lines included."""


class LearningProgress(Config, frozen=False):
    """Where a training is; exact in JSON."""

    epoch: int = 0
    step: int = 0
    tokens: int = 0
    best_epoch: int = 0
    finished: bool = False
    history: list[LanguagePoint] = Field(default_factory=list)


@dataclass
class Learning:
    """The loop and what it works with.

    Attributes:
        model: on its device, in float32.
        optimizer: over the model's weights.
        reading: the training text.
        validation: text in which BOS begins what is independent.
        checkpoints: where to continue from, and the best model.
        display: shows a person how it goes.
        compute: device and precision.
        config: limits and rates.
        seed: decides dropout.
        document: whether the text is one stream, rather than lines.
    """

    model: NeuralLanguageModel[Any]
    optimizer: torch.optim.Optimizer
    reading: Reading
    validation: Int[np.ndarray, " N"]
    checkpoints: CheckpointStore
    display: Display
    compute: Compute
    config: NeuralTrainingConfig
    seed: int
    document: bool
    progress: LearningProgress = field(default_factory=LearningProgress)

    def fit(self) -> LearningProgress:
        """Train until done; return where it ended, the best weights in the model.

        Raises:
            TrainingError: if the loss is not a number, naming the step.
        """
        self._resume()
        self._total = sum(self.reading.steps(epoch) for epoch in range(self.config.epochs))
        while not self.progress.finished:
            self._validate(self._train_epoch())
        load_own_tensors(self.model, self.checkpoints.best().tensors)
        return self.progress

    def _train_epoch(self) -> float:
        """Train on the text once; return the mean loss."""
        self.model.train()
        state, nats, tokens = None, 0.0, 0
        recent: list[tuple[float, int]] = []
        for passage in self.reading.epoch(self.progress.epoch):
            begin = state if passage.continues else None
            place, lower = f"at step {self.progress.step + 1}", "training.rows or training.window"
            with explain_out_of_memory(place, lower):
                loss, count, state = self.train_step(passage.to(self.compute.device), begin)
            recent.append((loss * count, count))
            if len(recent) == LOG_EVERY:
                self._log(recent)
                nats, tokens = nats + sum(n for n, _ in recent), tokens + sum(c for _, c in recent)
                recent = []
        self._log(recent)
        nats, tokens = nats + sum(n for n, _ in recent), tokens + sum(c for _, c in recent)
        self.progress.epoch += 1
        return nats / max(1, tokens)

    def train_step(self, passage: Passage, state: Any) -> tuple[float, int, Any]:
        """Make one update; return the mean loss, its tokens, and the state after the passage."""
        step = self.progress.step
        # the end of a schedule comes after the last update, which is lost at a rate of 0
        self._learning_rate = self.config.schedule.rate(step, (step + 1) / (self._total + 1))
        torch.manual_seed(derive_seed(self.seed, "dropout", step))
        with self.compute.autocast():
            nats, count, state = self._sum_loss(passage, state)
            loss = nats / max(1, count)
        loss.backward()
        apply_gradients(
            list(self.model.parameters()),
            self.optimizer,
            learning_rate=self._learning_rate,
            max_norm=self.config.max_gradient_norm,
        )
        value = require_finite(loss.item(), place=f"step {step + 1}", remedy=REMEDY)
        self.progress.step += 1
        self.progress.tokens += count
        return value, count, state.detach()

    def _sum_loss(self, passage: Passage, state: Any) -> tuple[Tensor, int, Any]:
        """Return the summed loss of a passage, its tokens, and the state after it."""
        hidden, state = self.model.decode(
            passage.tokens, self.model.start(len(passage.tokens)) if state is None else state
        )
        real = (passage.targets != PAD).flatten().nonzero().squeeze(1)
        features = hidden.flatten(0, 1).index_select(0, real)
        targets = passage.targets.flatten().index_select(0, real)
        return -self.model.log_likelihood(features, targets).sum(), len(real), state

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

    def _validate(self, train_loss: float) -> None:
        progress = self.progress
        with self.compute.autocast():
            loss = mean_loss(self.model, self.validation, document=self.document)
        require_finite(loss, name="validation loss", place=f"step {progress.step}", remedy=REMEDY)
        point = LanguagePoint(
            epoch=progress.epoch, step=progress.step, train_loss=train_loss, validation_loss=loss
        )
        progress.history.append(point)
        merits = [(-each.validation_loss,) for each in progress.history]
        selection = select(merits, self.config.patience)
        if selection.is_best:
            progress.best_epoch = progress.epoch
            weights = {name: value.cpu() for name, value in own_tensors(self.model).items()}
            self.checkpoints.save_best(Checkpoint(weights, {}), step=progress.step)
        progress.finished = progress.epoch >= self.config.epochs or selection.is_out_of_patience
        self.display.validation(point.model_dump(), best=selection.is_best)
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
        self.progress = settings.build(LearningProgress, checkpoint.progress, at="progress")
        restore_training(self.model, self.optimizer, checkpoint.tensors)
        self.display.note(f"continuing after epoch {self.progress.epoch}")


def train_language_model(
    config: LearningConfig,
    units: Units,
    *,
    training: Int[np.ndarray, " N"],
    validation: Int[np.ndarray, " N"],
    checkpoints: Path,
    display: Callable[[int], AbstractContextManager[Display]],
) -> tuple[LanguageModel[Any], list[LanguagePoint]]:
    """Return a language model of a text, and what its validations saw.

    Args:
        config: what to learn, and how.
        units: what the text is made of.
        training: text to learn from, in which BOS begins what is independent.
        validation: text to choose the best model by, alike.
        checkpoints: folder of this training alone; if it holds checkpoints, they are continued.
        display: begins to show a training of so many updates.
    """
    words, document = len(units.vocabulary), units.document
    if isinstance(config.model, NGramConfig):
        counted = NGram.count(config.model, words, training)
        loss = mean_loss(counted, validation, document=document)
        point = LanguagePoint(
            epoch=1,
            step=0,
            train_loss=mean_loss(counted, training, document=document),
            validation_loss=min(loss, 1e9),
        )
        return counted.eval(), [point]
    wanted = config.training.compute
    compute = prepare_compute(wanted.device, precision=wanted.precision, threads=wanted.threads)
    torch.manual_seed(derive_seed(config.seed, "weights"))
    model = build_neural(config.model, words).to(compute.device)
    rows, window = config.training.rows, config.training.window
    stateful = isinstance(config.model, RecurrentConfig) and config.model.stateful
    reading: Reading = (
        Streams(training, rows, window)
        if stateful
        else Windows(training, rows, window, config.seed)
    )
    total = sum(reading.steps(epoch) for epoch in range(config.training.epochs))
    with display(total) as shown:
        learning = Learning(
            model=model,
            optimizer=build_optimizer(model, config.training.optimizer),
            reading=reading,
            validation=validation,
            checkpoints=CheckpointStore(checkpoints),
            display=shown,
            compute=compute,
            config=config.training,
            seed=config.seed,
            document=document,
        )
        progress = learning.fit()
    return model.eval(), progress.history


@torch.inference_mode()
def mean_loss(model: LanguageModel[Any], text: Int[np.ndarray, " N"], *, document: bool) -> float:
    """Return the cross entropy per token, ends of lines included, in nats.

    A stream is read in a few parts side by side, so the first tokens of each know of none before.
    """
    model.eval()
    if not (document or model.carries):
        lines = [line.tolist() for line in np.split(text, np.flatnonzero(text == BOS))[1:]]
        worth = np.concatenate(line_log_likelihoods(model, lines))
        return -float(worth.mean())
    nats, tokens, state = 0.0, 0, None
    for passage in Streams(text, VALIDATION_ROWS, VALIDATION_WINDOW).epoch(0):
        here = passage.to(model.device)
        state = model.start(len(here.tokens)) if state is None else state
        hidden, state = model.decode(here.tokens, state)
        real = here.targets != PAD
        nats -= float(model.log_likelihood(hidden[real], here.targets[real]).double().sum())
        tokens += int(real.sum())
    return nats / max(1, tokens)


def compute_text_fingerprint(
    config: LearningConfig,
    units: Units,
    *,
    training: Int[np.ndarray, " N"],
    validation: Int[np.ndarray, " N"],
) -> str:
    """Return a digest of all that decides a training: whoever changes any of it starts anew."""
    document = json.dumps([config.model_dump(mode="json"), list(units.vocabulary.tokens)])
    digest = hashlib.sha256(document.encode())
    for text in (training, validation):
        digest.update(text.astype("<i8").tobytes())
    return digest.hexdigest()[:16]


def hold_out(text: str, share: float, *, document: bool) -> tuple[str, str]:
    """Cut a text in two: the beginning to learn from, the end to validate on.

    Raises:
        CorpusError: if either would be empty.
    """
    pieces = list(text) if document else text.removesuffix("\n").split("\n")
    kept = len(pieces) - max(1, round(len(pieces) * share))
    if kept < 1:
        raise CorpusError(
            "the text is too short to hold out any of it; give more, or a text for --validation"
        )
    joint = "" if document else "\n"
    return joint.join(pieces[:kept]), joint.join(pieces[kept:])

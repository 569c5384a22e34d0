"""Training a language model, or counting one."""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor
from typing_extensions import override

from nmt_core.base.compute import prepare_compute
from nmt_core.base.config import Config
from nmt_core.base.random import derive_seed
from nmt_core.base.tracking import Display
from nmt_core.data.batch import Position, Share
from nmt_core.extensions.language_models import (
    AnyLanguageModel,
    LanguageModelConfig,
    LanguageModelSettings,
    MaskedConfig,
    MaskedLanguageModel,
    NeuralLanguageModel,
    NGram,
    NGramConfig,
    RecurrentConfig,
    build_language_model,
)
from nmt_core.extensions.language_models.masking import MaskedWindows
from nmt_core.extensions.language_models.model import LanguageModel, Past
from nmt_core.extensions.language_models.reading import Streams, TextBatch, Windows
from nmt_core.extensions.language_models.scoring import line_log_likelihoods
from nmt_core.extensions.language_models.units import CharacterUnit, UnitConfig, Units
from nmt_core.models.settings import EncoderConfig
from nmt_core.text.vocabulary import BOS, PAD
from nmt_core.training.epochs import LOSS_REMEDY, EpochObjective, Reading, train_epochs
from nmt_core.training.objective import Remedies
from nmt_core.training.progress import Point
from nmt_core.training.schedule import ScheduleConfig, WarmupDecay
from nmt_core.training.settings import AdamW, EpochTrainingConfig, OptimizerConfig

VALIDATION_ROWS, VALIDATION_WINDOW = 16, 256
"""A stream is validated in so many parts, side by side, or it would take long."""

MOST_LOSS = 1e9
"""Of a counting model that holds a text for impossible: JSON has no infinity."""


class NeuralTrainingConfig(EpochTrainingConfig):
    """How a neural language model is trained; counting ones need none of it."""

    optimizer: OptimizerConfig = AdamW(beta2=0.99, weight_decay=0.01)
    """What turns gradients into updates."""
    schedule: ScheduleConfig = WarmupDecay(learning_rate=4e-3, warmup=0.03)
    """Learning rate by the step."""
    window: int = Field(64, ge=1)
    """Tokens per update and row: how far errors are sent back; longer lines are cut."""


class LearningConfig(Config):
    """A language model: its kind and shape, what it reads, and how it learns."""

    model: LanguageModelConfig = NGramConfig()
    """Kind and shape."""
    unit: UnitConfig = CharacterUnit()
    """What a text is made of."""
    training: NeuralTrainingConfig = NeuralTrainingConfig()
    """How it learns, if it is neural."""
    held_out: float = Field(0.1, ge=0, lt=1)
    """Share of the text, its end, that is validated on where there is no text for that; 0 learns
    from all of it, and validates on that."""
    tested: float = Field(0.0, ge=0, lt=1)
    """Share of the text, after that, on which the finished model is tested once."""
    gap: int = Field(0, ge=0)
    """Characters, or lines, left out before each of these two, so that no paragraph is in both."""
    seed: int = Field(1, ge=0)
    """Decides initial weights, dropout and the order of windows."""

    @model_validator(mode="after")
    def _check(self) -> "LearningConfig":
        model, window = self.model, self.training.window
        if isinstance(model, EncoderConfig) and model.context > window:
            raise ValueError(
                f"model.context {model.context} is more than the {window} tokens that training "
                f"shows at once; set training.window to {model.context}"
            )
        return self


@dataclass
class LanguageObjective(EpochObjective[TextBatch]):
    """The data and the loss of a language model.

    Attributes:
        validation: text in which BOS begins what is independent.
        document: whether the text is one stream, rather than lines.
    """

    model: NeuralLanguageModel[Any] | MaskedLanguageModel
    validation: Int[np.ndarray, " N"]
    document: bool

    remedies = Remedies(
        memory="training.rows or training.window",
        validation_memory="the sizes of model",
        loss=LOSS_REMEDY,
    )
    _state: Past | None = None

    @override
    def share(self, batch: TextBatch, after: Position) -> Share[TextBatch]:
        real = int((batch.targets != PAD).sum())
        return Share(batch, predictions=real, target_tokens=real, after=after)

    @override
    def compute_loss(self, share: Share[TextBatch], step: int) -> tuple[Tensor, Tensor]:
        passage = share.batch
        real = (passage.targets != PAD).flatten().nonzero().squeeze(1)
        features = self._read(passage).flatten(0, 1).index_select(0, real)
        targets = passage.targets.flatten().index_select(0, real)
        nats = -self.model.log_likelihood(features, targets).sum()
        return nats / max(1, share.predictions), nats

    def _read(self, passage: TextBatch) -> Float[Tensor, "R T D"]:
        """Return what every target is predicted from."""
        if isinstance(self.model, MaskedLanguageModel):
            return self.model.read(passage.tokens)
        begin = self._state if passage.continues else self.model.start(len(passage.tokens))
        hidden, state = self.model.decode(passage.tokens, begin)
        self._state = state.detach() if self.model.carries else None
        return hidden

    @override
    def validate(self) -> tuple[float, dict[str, float]]:
        with self.compute.autocast():
            return mean_loss(self.model, self.validation, document=self.document), {}

    @override
    def tensors(self) -> dict[str, Tensor]:
        parts = self._state.tensors() if self._state else ()
        return {f"state.{number}": part.contiguous() for number, part in enumerate(parts)}

    @override
    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        if "state.0" in tensors and not isinstance(self.model, MaskedLanguageModel):
            numbers = count()
            self._state = self.model.start(1).map(
                lambda part: tensors[f"state.{next(numbers)}"].to(part.device)
            )


def train_language_model(
    config: LearningConfig,
    units: Units,
    *,
    training: Int[np.ndarray, " N"],
    validation: Int[np.ndarray, " N"],
    checkpoints: Path,
    display: Callable[[int], AbstractContextManager[Display]],
) -> tuple[AnyLanguageModel, list[Point]]:
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
        point = Point(
            step=0,
            epoch=1,
            target_tokens=len(training),
            learning_rate=0.0,
            train_loss=mean_loss(counted, training, document=document),
            validation_loss=mean_loss(counted, validation, document=document),
            validation_scores={},
        )
        return counted.eval(), [point]
    wanted = config.training.compute
    compute = prepare_compute(wanted.device, precision=wanted.precision, threads=wanted.threads)
    torch.manual_seed(derive_seed(config.seed, "weights"))
    model = build_language_model(config.model, words).to(compute.device)
    objective = LanguageObjective(
        model=model,
        compute=compute,
        config=config.training,
        seed=config.seed,
        reading=choose_reading(config, config.model, training, words),
        validation=validation,
        document=document,
    )
    points = train_epochs(objective, checkpoints=checkpoints, display=display)
    return model.eval(), points


def choose_reading(
    config: LearningConfig,
    model: LanguageModelSettings,
    text: Int[np.ndarray, " N"],
    words: int,
) -> Reading[TextBatch]:
    """Return a text as a kind of model learns from it."""
    rows, window = config.training.rows, config.training.window
    if isinstance(model, RecurrentConfig) and model.stateful:
        return Streams(text, rows, window)
    windows = Windows(text, rows, window, config.seed)
    return MaskedWindows(windows, words) if isinstance(model, MaskedConfig) else windows


@torch.inference_mode()
def mean_loss(model: AnyLanguageModel, text: Int[np.ndarray, " N"], *, document: bool) -> float:
    """Return the cross entropy per token, ends of lines included, in nats.

    A neural model reads a stream in a few parts side by side, so the first tokens of each know of
    none before. Of what a masked model is asked for, the same tokens are hidden every time. The
    loss of a counting model is :data:`MOST_LOSS` where it would be infinite.
    """
    model.eval()
    if isinstance(model, MaskedLanguageModel):
        return _mean_masked_loss(model, text)
    if document or model.carries:
        loss = _mean_stream_loss(model, text)
    else:
        lines = [line.tolist() for line in np.split(text, np.flatnonzero(text == BOS))[1:]]
        loss = -float(np.concatenate(line_log_likelihoods(model, lines)).mean())
    return min(loss, MOST_LOSS) if isinstance(model, NGram) else loss


def _mean_stream_loss(model: LanguageModel[Any], text: Int[np.ndarray, " N"]) -> float:
    rows, window = VALIDATION_ROWS, VALIDATION_WINDOW
    if isinstance(model, NGram):  # whose first tokens after BOS were counted nowhere else
        rows, window = 1, rows * window
    nats, tokens, state = 0.0, 0, None
    for passage in Streams(text, rows, window).epoch(0):
        here = passage.to(model.device)
        state = model.start(len(here.tokens)) if state is None else state
        hidden, state = model.decode(here.tokens, state)
        real = here.targets != PAD
        nats -= float(model.log_likelihood(hidden[real], here.targets[real]).double().sum())
        tokens += int(real.sum())
    return nats / max(1, tokens)


def _mean_masked_loss(model: MaskedLanguageModel, text: Int[np.ndarray, " N"]) -> float:
    windows = Windows(text, VALIDATION_ROWS, model.config.context, seed=0)
    nats, tokens = 0.0, 0
    for passage in MaskedWindows(windows, model.mask).epoch(0):
        here = passage.to(model.output.weight.device)
        hidden, real = model.read(here.tokens), here.targets != PAD
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

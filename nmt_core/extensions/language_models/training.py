"""Training a language model, or counting one."""

import hashlib
import json
from collections.abc import Callable, Mapping
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
from nmt_core.base.progress import TrainingDisplay
from nmt_core.base.random import derive_seed
from nmt_core.data.batch import Position, Share
from nmt_core.extensions.language_models.bundle import (
    AnyLanguageModel,
    LanguageModelConfig,
    build_language_model,
)
from nmt_core.extensions.language_models.model import (
    LanguageModel,
    NeuralLanguageModel,
    line_log_likelihoods,
)
from nmt_core.extensions.language_models.neural import RecurrentConfig
from nmt_core.extensions.language_models.ngram import NGram, NGramConfig
from nmt_core.extensions.language_models.reading import Streams, TextBatch, Windows
from nmt_core.extensions.language_models.transformer import MaskedConfig, MaskedLanguageModel
from nmt_core.extensions.language_models.units import CharacterUnit, UnitConfig, Units
from nmt_core.models.seq2seq import State
from nmt_core.models.settings import EncoderConfig
from nmt_core.text.vocabulary import BOS, PAD
from nmt_core.training.epochs import LOSS_REMEDY, EpochObjective, Reading, train_epochs
from nmt_core.training.objective import Remedies
from nmt_core.training.progress import Point
from nmt_core.training.settings import (
    AdamW,
    EpochTrainingConfig,
    OptimizerConfig,
    ScheduleConfig,
    WarmupDecay,
)

VALIDATION_ROWS, VALIDATION_WINDOW = 16, 256
"""Rows and tokens of a batch in validation; a stream is cut into as many parts."""

MOST_LOSS = 1e9
"""Loss in place of infinity, which JSON lacks."""


class NeuralTrainingConfig(EpochTrainingConfig):
    """Settings of training a neural language model."""

    optimizer: OptimizerConfig = AdamW(beta2=0.99, weight_decay=0.01)
    """Optimizer of the updates."""
    schedule: ScheduleConfig = WarmupDecay(learning_rate=4e-3, warmup=0.03)
    """Learning rate by the step."""
    window: int = Field(64, ge=1)
    """Tokens per update and row, through which gradients flow back; longer lines are cut."""


class LearningConfig(Config):
    """Settings of a language model, its tokens and its training."""

    model: LanguageModelConfig = NGramConfig()
    """Kind and shape."""
    unit: UnitConfig = CharacterUnit()
    """What a text is made of."""
    training: NeuralTrainingConfig = NeuralTrainingConfig()
    """How it learns, if it is neural."""
    held_out: float = Field(0.1, ge=0, lt=1)
    """Share of the text, its end, to validate on if there is no text for that; 0 validates on the
    training text."""
    seed: int = Field(1, ge=0)
    """Random seed of weights, dropout and the order of windows."""

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
        validation: text in which BOS begins independent parts.
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
    _state: State | None = None

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
        self._state = state.map(Tensor.detach) if self.model.carries else None
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
    display: Callable[[int], TrainingDisplay],
) -> tuple[AnyLanguageModel, list[Point]]:
    """Return a language model of a text, and the points of its validations.

    BOS begins independent parts of both texts. Checkpoints in the folder of this training alone are
    continued.
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
        reading=choose_reading(config, training, words),
        validation=validation,
        document=document,
    )
    points = train_epochs(objective, checkpoints=checkpoints, display=display)
    return model.eval(), points


def choose_reading(
    config: LearningConfig, text: Int[np.ndarray, " N"], words: int
) -> Reading[TextBatch]:
    """Return the batches of a text for the kind of model."""
    model, rows, window = config.model, config.training.rows, config.training.window
    if isinstance(model, RecurrentConfig) and model.stateful:
        return Streams(text, rows, window)
    masked = words if isinstance(model, MaskedConfig) else None
    return Windows(text, rows, window, config.seed, masked)


@torch.inference_mode()
def mean_loss(model: AnyLanguageModel, text: Int[np.ndarray, " N"], *, document: bool) -> float:
    """Return the cross entropy per token, ends of lines included, in nats.

    A neural model reads a stream in a few parts side by side. A masked model predicts the same
    tokens in each validation. The loss of an n-gram model is at most :data:`MOST_LOSS`.
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
        nats += _sum_nats(model, hidden, here.targets)
        tokens += int((here.targets != PAD).sum())
    return nats / max(1, tokens)


def _mean_masked_loss(model: MaskedLanguageModel, text: Int[np.ndarray, " N"]) -> float:
    windows = Windows(text, VALIDATION_ROWS, model.config.context, seed=0, masked=model.mask)
    nats, tokens = 0.0, 0
    for passage in windows.epoch(0):
        here = passage.to(model.output.weight.device)
        nats += _sum_nats(model, model.read(here.tokens), here.targets)
        tokens += int((here.targets != PAD).sum())
    return nats / max(1, tokens)


def _sum_nats(model: AnyLanguageModel, hidden: Tensor, targets: Tensor) -> float:
    real = targets != PAD
    return -float(model.log_likelihood(hidden[real], targets[real]).double().sum())


def compute_text_fingerprint(
    config: LearningConfig,
    units: Units,
    *,
    training: Int[np.ndarray, " N"],
    validation: Int[np.ndarray, " N"],
) -> str:
    """Return a digest of all inputs of a training; another one starts from the beginning."""
    document = json.dumps([config.model_dump(mode="json"), list(units.vocabulary.tokens)])
    digest = hashlib.sha256(document.encode())
    for text in (training, validation):
        digest.update(text.astype("<i8").tobytes())
    return digest.hexdigest()[:16]

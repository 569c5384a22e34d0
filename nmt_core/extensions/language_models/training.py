"""Training of language models, and their sealed folders.

::

    manifest.json            format, and the digest and size of every other file
    model.safetensors        weights, or counts
    model.json               settings of the model
    units.json               settings of the tokens
    vocabulary.json          the tokens in order
    tokenizer/               tokenizer of subwords
    learning.json            settings and validations of the training
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Int
from pydantic import Field, model_validator
from torch import Tensor
from typing_extensions import override

from nmt_core.base.compute import find_device, prepare_compute
from nmt_core.base.config import Config
from nmt_core.base.progress import TrainingDisplay
from nmt_core.base.random import derive_seed
from nmt_core.base.seal import LANGUAGE_MODEL, explain_unreadable, verify_bundle
from nmt_core.data.batch import Position, Share
from nmt_core.extensions.language_models.model import (
    LanguageModel,
    LanguageState,
    TextModel,
    line_log_likelihoods,
)
from nmt_core.extensions.language_models.neural import (
    FeedForwardConfig,
    FeedForwardLanguageModel,
    Recurrent,
    RecurrentConfig,
    TransformerLanguageConfig,
    TransformerLanguageModel,
)
from nmt_core.extensions.language_models.ngram import NGram, NGramConfig
from nmt_core.extensions.language_models.reading import (
    SETTINGS,
    Streams,
    TextBatch,
    UnitConfig,
    Units,
    Windows,
    find_tokenizer,
)
from nmt_core.extensions.learning import read_sealed, seal_model
from nmt_core.models.weights import load_tensors, restore_model
from nmt_core.text.vocabulary import BOS, PAD
from nmt_core.training.objective import EpochObjective
from nmt_core.training.progress import Point
from nmt_core.training.settings import (
    AdamW,
    EpochTrainingConfig,
    OptimizerConfig,
    ScheduleConfig,
    WarmupDecay,
)
from nmt_core.training.trainer import train_epochs

VALIDATION_ROWS, VALIDATION_WINDOW = 16, 256
"""Rows and tokens per row of a validation batch; a stream is divided into as many rows."""

MAX_LOSS = 1e9
"""Loss that replaces infinity, because JSON has no infinity."""

LanguageModelConfig = Annotated[
    NGramConfig | FeedForwardConfig | RecurrentConfig | TransformerLanguageConfig,
    Field(discriminator="kind"),
]

NEURAL_MODELS: dict[type, Any] = {
    FeedForwardConfig: FeedForwardLanguageModel,
    RecurrentConfig: Recurrent,
    TransformerLanguageConfig: TransformerLanguageModel,
}


def build_language_model(config: LanguageModelConfig, words: int) -> Any:
    """Return a neural model, initialised by torch's random generator."""
    return NEURAL_MODELS[type(config)](config, words)


class NeuralTrainingConfig(EpochTrainingConfig):
    """Settings of training a neural language model."""

    optimizer: OptimizerConfig = AdamW(beta2=0.99, weight_decay=0.01)
    schedule: ScheduleConfig = WarmupDecay(learning_rate=4e-3, warmup=0.03)
    window: int = Field(64, ge=1)
    """Tokens per row and update, the length of truncated backpropagation; longer lines are
    split."""


class LearningConfig(Config):
    """Settings of a language model, its tokens and its training."""

    model: LanguageModelConfig = NGramConfig()
    """Settings of the model."""
    unit: UnitConfig = UnitConfig()
    """Settings of the tokens."""
    training: NeuralTrainingConfig = NeuralTrainingConfig()
    """Settings of training a neural model."""
    held_out: float = Field(0.1, ge=0, lt=1)
    """Share of the text, at its end, that is held out without validation text; 0 holds out none."""
    seed: int = Field(1, ge=0)
    """Random seed of weights, dropout and the order of windows."""

    @model_validator(mode="after")
    def _check(self) -> "LearningConfig":
        model, window = self.model, self.training.window
        if isinstance(model, TransformerLanguageConfig) and model.context > window:
            raise ValueError(
                f"model.context {model.context} exceeds training.window {window}; set "
                f"training.window to {model.context}"
            )
        return self


@dataclass
class LanguageObjective(EpochObjective[TextBatch]):
    """The data and the loss of a language model.

    Attributes:
        validation: token IDs; BOS begins every independent part.
        document: whether the text is one stream instead of lines.
    """

    model: LanguageModel
    validation: Int[np.ndarray, " N"]
    document: bool

    memory_remedy = "training.rows or training.window"
    validation_remedy = "the sizes of model"

    _state: LanguageState | None = None

    @override
    def share(self, batch: TextBatch, after: Position) -> Share[TextBatch]:
        tokens = int((batch.targets != PAD).sum())
        return Share(batch, predictions=tokens, target_tokens=tokens, after=after)

    @override
    def compute_loss(self, share: Share[TextBatch], step: int) -> tuple[Tensor, Tensor]:
        batch = share.batch
        hidden, state = read_batch(self.model, batch, self._state)
        self._state = state.map(Tensor.detach) if self.model.is_stateful else None
        places = (batch.targets != PAD).flatten().nonzero().squeeze(1)
        features = hidden.flatten(0, 1).index_select(0, places)
        targets = batch.targets.flatten().index_select(0, places)
        nats = -self.model.log_likelihood(features, targets).sum()
        return nats / max(1, share.predictions), nats

    @override
    def validate(self) -> tuple[float, dict[str, float]]:
        with self.compute.autocast():
            return compute_mean_loss(self.model, self.validation, document=self.document), {}

    @override
    def tensors(self) -> dict[str, Tensor]:
        tensors = self._state.tensors() if self._state else ()
        return {f"state.{number}": tensor.contiguous() for number, tensor in enumerate(tensors)}

    @override
    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        if "state.0" in tensors:
            numbers = count()
            self._state = self.model.start(1).map(
                lambda tensor: tensors[f"state.{next(numbers)}"].to(tensor.device)
            )


def train_language_model(
    config: LearningConfig,
    units: Units,
    *,
    training: Int[np.ndarray, " N"],
    validation: Int[np.ndarray, " N"],
    checkpoints: Path,
    display: Callable[[int], TrainingDisplay],
) -> tuple[LanguageModel, list[Point]]:
    """Return a trained language model and the results of its validations.

    Independent parts of both texts start with BOS. ``checkpoints`` is a folder for this training
    only; training continues from its checkpoints.
    """
    words, document = len(units.vocabulary), units.document
    if isinstance(config.model, NGramConfig):
        counted = NGram.count(config.model, words, training)
        point = Point(
            step=0,
            epoch=1,
            target_tokens=len(training),
            learning_rate=0.0,
            train_loss=compute_mean_loss(counted, training, document=document),
            validation_loss=compute_mean_loss(counted, validation, document=document),
            validation_scores={},
        )
        return counted.eval(), [point]
    compute = prepare_compute(**config.training.compute.model_dump())
    torch.manual_seed(derive_seed(config.seed, "weights"))
    model = build_language_model(config.model, words).to(compute.device)
    compute.check_layers(model)
    rows, window = config.training.rows, config.training.window
    reading: Streams | Windows = Windows(training, rows, window, config.seed)
    if isinstance(config.model, RecurrentConfig) and config.model.stateful:
        reading = Streams(training, rows, window)
    objective = LanguageObjective(
        model=model,
        compute=compute,
        config=config.training,
        seed=config.seed,
        count_steps=reading.count_steps,
        read_epoch=reading.read_epoch,
        validation=validation,
        document=document,
    )
    points = train_epochs(objective, checkpoints=checkpoints, display=display)
    return model.eval(), points


def read_batch(
    model: LanguageModel, batch: TextBatch, state: LanguageState | None
) -> tuple[Tensor, LanguageState]:
    """Return the hidden vectors of a batch, and the state after it."""
    initial = state if batch.continues and state else model.start(len(batch.tokens))
    return model.decode(batch.tokens, initial)


@torch.inference_mode()
def compute_mean_loss(
    model: LanguageModel, text: Int[np.ndarray, " N"], *, document: bool
) -> float:
    """Return the cross entropy per token, line ends included, in nats.

    Neural models read a stream in several parallel parts. The loss of an n-gram model is at most
    ``MAX_LOSS``.
    """
    model.eval()
    reading: Streams | Windows
    if isinstance(model, NGram):  # counts at BOS belong to the beginning of the text only
        reading = Streams(text, 1, VALIDATION_ROWS * VALIDATION_WINDOW)
    elif document or model.is_stateful:
        reading = Streams(text, VALIDATION_ROWS, VALIDATION_WINDOW)
    else:
        lines = [line.tolist() for line in np.split(text, np.flatnonzero(text == BOS))[1:]]
        return -float(np.concatenate(line_log_likelihoods(model, lines)).mean())
    nats, tokens, state = 0.0, 0, None
    for batch in reading.read_epoch(0):
        on_device = batch.to(model.device)
        hidden, state = read_batch(model, on_device, state)
        targets, is_token = on_device.targets, on_device.targets != PAD
        nats -= float(model.log_likelihood(hidden[is_token], targets[is_token]).double().sum())
        tokens += int(is_token.sum())
    loss = nats / max(1, tokens)
    return min(loss, MAX_LOSS) if isinstance(model, NGram) else loss


class _Settings(Config):
    model: LanguageModelConfig
    units: UnitConfig


def write_language_model(
    folder: Path, model: LanguageModel, units: Units, *, learning: Mapping[str, Any]
) -> None:
    """Write a sealed language model with ``learning`` as JSON; replaces an existing folder."""
    settings = units.config
    seal_model(
        folder,
        LANGUAGE_MODEL,
        model,
        units.tokenizer if settings.kind == "subword" else None,
        model=model.config.model_dump(mode="json", exclude_none=True),
        units=settings.model_dump(mode="json", include={*SETTINGS[settings.kind]}),
        vocabulary=units.vocabulary.tokens,
        learning=dict(learning),
    )


def load_language_model(folder: Path, *, device: str = "auto") -> TextModel:
    """Verify a language model and load it.

    Raises:
        BundleError: if the folder is incomplete, altered or of another format.
        ConfigError: if a setting is unknown, or the device does not exist.
    """
    verify_bundle(folder, expected=LANGUAGE_MODEL)
    sealed, vocabulary = read_sealed(folder, _Settings, "model", "units")
    settings = sealed.model
    with explain_unreadable(folder / "tokenizer"):
        tokenizer = find_tokenizer(sealed.units, folder / "tokenizer")
        units = Units(sealed.units, tokenizer, vocabulary)
    path, words = folder / "model.safetensors", len(units.vocabulary)
    with explain_unreadable(path):
        model: LanguageModel
        if isinstance(settings, NGramConfig):
            tensors = load_tensors(path)
            names = [f"levels.{k}" for k in range(settings.order)]
            levels = [(tensors[f"{name}.keys"], tensors[f"{name}.counts"]) for name in names]
            model = NGram(settings, words, levels)
        else:
            model = restore_model(path, partial(build_language_model, settings, words))
    return TextModel(model.to(find_device(device)), units)

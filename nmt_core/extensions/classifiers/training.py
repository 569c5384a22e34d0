"""Training a classifier."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from nmt_core.base.compute import prepare_compute
from nmt_core.base.config import Config
from nmt_core.base.progress import TrainingDisplay
from nmt_core.base.random import derive_seed, make_generator
from nmt_core.data.batch import Position, Share, TensorBatch, pad
from nmt_core.data.batching import shuffle_by_length
from nmt_core.extensions.classifiers.model import (
    Classifier,
    ClassifierConfig,
    TextClassifier,
    predict_logits,
)
from nmt_core.extensions.classifiers.texts import HashedWords, LabelledTexts, TextConfig
from nmt_core.text.vocabulary import PAD
from nmt_core.training.epochs import LOSS_REMEDY, EpochObjective, train_epochs
from nmt_core.training.objective import Remedies
from nmt_core.training.progress import Merit, Point
from nmt_core.training.settings import AdamW, EpochTrainingConfig, WarmupDecay


class LearnClassifierConfig(Config):
    """Settings of a classifier, its tokens and its training."""

    text: TextConfig = TextConfig()
    """Settings of the tokens of a text."""
    model: ClassifierConfig = ClassifierConfig()
    """Shape of the model."""
    training: EpochTrainingConfig = EpochTrainingConfig(
        epochs=3,
        rows=64,
        optimizer=AdamW(beta2=0.999, epsilon=1e-8),
        schedule=WarmupDecay(learning_rate=2e-3, shape="linear"),
    )
    """Settings of training."""
    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of the texts, drawn at random, that select the best epoch."""
    seed: int = Field(1, ge=0)
    """Random seed of held-out texts, weights, dropout and the order of texts."""


@dataclass(frozen=True)
class LabelledBatch(TensorBatch):
    """Texts side by side, and the number of the label of each."""

    tokens: Int[Tensor, "B S"]
    labels: Int[Tensor, " B"]


@dataclass(frozen=True)
class ShuffledTexts:
    """Numbers of texts and their labels, in batches of similar length, shuffled each epoch."""

    texts: Sequence[Sequence[int]]
    labels: Sequence[int]
    rows: int
    seed: int

    def steps(self, epoch: int) -> int:
        """See the contract."""
        del epoch
        return -(-len(self.texts) // self.rows)

    def epoch(self, epoch: int) -> Iterator[LabelledBatch]:
        """See the contract."""
        lengths = [len(text) for text in self.texts]
        draw = make_generator(self.seed, "texts", epoch)
        for batch in shuffle_by_length(lengths, rows=self.rows, draw=draw):
            labels = torch.tensor([self.labels[row] for row in batch])
            yield LabelledBatch(pad([self.texts[row] for row in batch]), labels)


@dataclass
class ClassifierObjective(EpochObjective[LabelledBatch]):
    """The data and the loss of a classifier, selected by its accuracy on held-out texts."""

    model: Classifier
    held_out: Sequence[Sequence[int]]
    expected: Int[Tensor, " N"]

    remedies = Remedies(
        memory="training.rows or text.longest",
        validation_memory="text.longest or the sizes of model",
        loss=LOSS_REMEDY,
    )

    @override
    def share(self, batch: LabelledBatch, after: Position) -> Share[LabelledBatch]:
        tokens = int((batch.tokens != PAD).sum())
        return Share(batch, predictions=len(batch.labels), target_tokens=tokens, after=after)

    @override
    def compute_loss(self, share: Share[LabelledBatch], step: int) -> tuple[Tensor, Tensor]:
        nats = F.cross_entropy(self.model(share.batch.tokens), share.batch.labels, reduction="sum")
        return nats / share.predictions, nats

    @override
    def validate(self) -> tuple[float, dict[str, float]]:
        with self.compute.autocast():
            logits = predict_logits(self.model, self.held_out)
            loss = F.cross_entropy(logits, self.expected).item()
        right = logits.argmax(dim=1) == self.expected
        return loss, {"accuracy": 100 * right.sum().item() / len(right)}

    @override
    def judge(self, point: Point) -> Merit:
        return (point.validation_scores["accuracy"], *super().judge(point))


def train_classifier(
    config: LearnClassifierConfig,
    words: HashedWords,
    *,
    training: LabelledTexts,
    validation: LabelledTexts,
    vectors: Float[Tensor, "V D"] | None = None,
    checkpoints: Path,
    display: Callable[[int], TrainingDisplay],
) -> tuple[TextClassifier, list[Point]]:
    """Return a classifier of texts, and the points of its validations.

    The best epoch is selected by the accuracy on ``validation``. Without ``vectors``, embeddings
    start from random ones. Checkpoints in the folder of this training alone are continued.
    """
    wanted = config.training.compute
    compute = prepare_compute(wanted.device, precision=wanted.precision, threads=wanted.threads)
    classes = training.classes
    numbers = {label: number for number, label in enumerate(classes)}
    torch.manual_seed(derive_seed(config.seed, "weights"))
    model = Classifier(config.model, words.size, len(classes), vectors).to(compute.device)
    reading = ShuffledTexts(
        [words.encode(text) for text in training.texts],
        [numbers[label] for label in training.labels],
        config.training.rows,
        config.seed,
    )
    objective = ClassifierObjective(
        model=model,
        compute=compute,
        config=config.training,
        seed=config.seed,
        reading=reading,
        held_out=[words.encode(text) for text in validation.texts],
        expected=torch.tensor([numbers[label] for label in validation.labels]),
    )
    points = train_epochs(objective, checkpoints=checkpoints, display=display)
    return TextClassifier(model, words, classes), points


def compute_labelled_fingerprint(
    config: LearnClassifierConfig,
    labelled: LabelledTexts,
    vectors: Float[Tensor, "V D"] | None = None,
) -> str:
    """Return a digest of all inputs of a training; another one starts from the beginning."""
    document = [config.model_dump(mode="json"), labelled.texts, labelled.labels]
    digest = hashlib.sha256(json.dumps(document).encode())
    if vectors is not None:
        digest.update(vectors.numpy().astype("<f4").tobytes())
    return digest.hexdigest()[:16]

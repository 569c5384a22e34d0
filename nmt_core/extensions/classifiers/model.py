"""Recurrent text classifiers: the model, its training and its sealed folder.

Letters: B or N texts, S tokens, D features, C classes, V token IDs.

::

    manifest.json        format, and the digest and size of every other file
    model.safetensors    weights
    model.json           shape, labels, and settings of the tokens
    vocabulary.json      the words in order
    learning.json        settings and validations of the training
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.base.compute import find_device, prepare_compute
from nmt_core.base.config import Config
from nmt_core.base.progress import TrainingDisplay
from nmt_core.base.random import derive_seed, make_generator
from nmt_core.base.seal import explain_unreadable, verify_bundle
from nmt_core.data.batch import Position, Share, pad
from nmt_core.data.batching import shuffle_by_length
from nmt_core.extensions.classifiers.texts import HashedWords, Labelled, TextConfig, list_labels
from nmt_core.extensions.language_models.reading import TextBatch
from nmt_core.extensions.learning import read_sealed, seal_model
from nmt_core.models.embedding import build_embedding, build_pretrained_embedding
from nmt_core.models.layers import Dropout
from nmt_core.models.recurrence import RecurrentLayer
from nmt_core.models.weights import restore_model
from nmt_core.search.engine import batches_by_length
from nmt_core.text.vocabulary import PAD
from nmt_core.training.objective import EpochObjective
from nmt_core.training.progress import Merit, Point
from nmt_core.training.settings import AdamW, EpochTrainingConfig, WarmupDecay
from nmt_core.training.trainer import train_epochs

FORMAT = "classifier 2"

BATCH_TOKENS = 2**14
"""Maximum number of padded tokens in a batch."""

Pool = Literal["max", "mean", "last"]


class ClassifierConfig(Config):
    """Settings of a recurrent classifier."""

    kind: Literal["recurrent"] = "recurrent"
    """Selects these settings."""
    embedding_width: int = Field(128, ge=1, le=65_536)
    """Features of an embedding; pretrained word vectors replace it by their width."""
    layers: int = Field(2, ge=1, le=1000)
    """Number of GRU layers (Cho et al. 2014)."""
    width: int = Field(128, ge=1, le=65_536)
    """Features of a layer's state."""
    pool: Pool = "max"
    """Pooling of each feature over the tokens: the maximum, the mean or the last value."""
    embedding_dropout: float = Field(0.3, ge=0, le=0.99)
    """Dropout probability of embeddings."""
    dropout: float = Field(0.5, ge=0, le=0.99)
    """Dropout probability between layers and after pooling."""
    frozen: bool = False
    """Do not train the word vectors; requires pretrained vectors."""


class Classifier(nn.Module):
    """GRU layers over word embeddings, pooling and an output layer (Géron, chapter 16).

    Layers read from left to right and padding is at the end, so padding has no effect.
    """

    def __init__(
        self,
        config: ClassifierConfig,
        words: int,
        classes: int,
        vectors: Float[Tensor, "V D"] | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.embedding = (
            build_embedding(words, config.embedding_width)
            if vectors is None
            else build_pretrained_embedding(vectors, frozen=config.frozen)
        )
        self.scale = config.embedding_width**0.5
        self.drop_words, self.drop = Dropout(config.embedding_dropout), Dropout(config.dropout)
        widths = [config.embedding_width, *[config.width] * (config.layers - 1)]
        self.layers = nn.ModuleList(RecurrentLayer("gru", width, config.width) for width in widths)
        self.output = nn.Linear(config.width, classes)

    @override
    def forward(self, tokens: Int[Tensor, "B S"]) -> Float[Tensor, "B C"]:
        """Return the logits of every class, in float32."""
        padding = tokens == PAD
        x = self.drop_words(self.embedding(tokens) * self.scale)
        zeros = self.output.weight.new_zeros(len(tokens), self.config.width)
        for number, layer in enumerate(self.layers):
            if number:
                x = self.drop(x)
            x, _ = layer(x, (zeros,))
        pooled = pool(x, padding, self.config.pool)
        return self.output(self.drop(pooled)).float()


def pool(
    x: Float[Tensor, "B S D"], padding: Bool[Tensor, "B S"], kind: Pool
) -> Float[Tensor, "B D"]:
    """Return each feature pooled over all positions except padding."""
    lengths = (~padding).sum(dim=1)
    match kind:
        case "max":
            return x.masked_fill(padding[..., None], -torch.inf).amax(dim=1)
        case "mean":
            return x.masked_fill(padding[..., None], 0).sum(dim=1) / lengths[:, None]
        case "last":
            return x[torch.arange(len(x), device=x.device), lengths - 1]


@torch.inference_mode()
def predict_logits(model: Classifier, texts: Sequence[Sequence[int]]) -> Float[Tensor, "N C"]:
    """Return the logits of every text, on the CPU."""
    logits = torch.empty(len(texts), model.output.out_features)
    lengths = {row: len(text) for row, text in enumerate(texts)}
    for rows in batches_by_length(lengths, max_tokens=BATCH_TOKENS):
        tokens = pad([texts[row] for row in rows]).to(model.output.weight.device)
        logits[rows] = model(tokens).cpu()
    return logits


@dataclass(frozen=True)
class TextClassifier:
    """A classifier with its words and labels; puts the model in evaluation mode."""

    model: Classifier
    words: HashedWords
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        self.model.eval()

    def classify(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Return the label of every text with its probability.

        Other texts in the batch change only the last bits.
        """
        logits = predict_logits(self.model, [self.words.encode(text) for text in texts])
        best = logits.double().softmax(dim=1).max(dim=1)
        labels = [self.classes[number] for number in best.indices.tolist()]
        return list(zip(labels, best.values.tolist(), strict=True))


class _Shape(Config):
    model: ClassifierConfig
    text: TextConfig
    classes: list[str] = Field(min_length=2)


class _Sealed(Config):
    model: _Shape


def write_classifier(
    folder: Path, classifier: TextClassifier, *, learning: Mapping[str, Any]
) -> None:
    """Write a sealed classifier with ``learning`` as JSON; replaces an existing folder."""
    words, classes = classifier.words, list(classifier.classes)
    shape = _Shape(model=classifier.model.config, text=words.config, classes=classes)
    seal_model(
        folder,
        FORMAT,
        classifier.model,
        model=shape.model_dump(mode="json"),
        vocabulary=words.vocabulary.tokens,
        learning=dict(learning),
    )


def load_classifier(folder: Path, *, device: str = "auto") -> TextClassifier:
    """Verify a classifier and load it.

    Raises:
        BundleError: if the folder is incomplete, altered, of another format, or not a classifier.
        ConfigError: if a setting is unknown, or the device does not exist.
    """
    verify_bundle(folder, expected=FORMAT)
    sealed, vocabulary = read_sealed(folder, _Sealed, "model")
    shape, words = sealed.model, HashedWords(sealed.model.text, vocabulary)
    with explain_unreadable(folder / "model.safetensors"):
        build = partial(Classifier, shape.model, words.size, len(shape.classes))
        model = restore_model(folder / "model.safetensors", build)
    return TextClassifier(model.to(find_device(device)), words, tuple(shape.classes))


class LearnClassifierConfig(Config):
    """Settings of a classifier, its tokens and its training."""

    text: TextConfig = TextConfig()
    """Settings of the tokens of a text."""
    model: ClassifierConfig = ClassifierConfig()
    """Settings of the model."""
    training: EpochTrainingConfig = EpochTrainingConfig(
        epochs=3,
        rows=64,
        optimizer=AdamW(beta2=0.999, epsilon=1e-8),
        schedule=WarmupDecay(learning_rate=2e-3, shape="linear"),
    )
    """Settings of training."""
    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of the texts, drawn at random, on which the best epoch is selected."""
    seed: int = Field(1, ge=0)
    """Random seed of held-out texts, weights, dropout and the order of texts."""


@dataclass(frozen=True)
class ShuffledTexts:
    """Token IDs of texts with labels, in batches of similar length, shuffled in each epoch."""

    texts: Sequence[Sequence[int]]
    labels: Sequence[int]
    rows: int
    seed: int

    def count_steps(self, epoch: int) -> int:
        """Return the number of batches of an epoch."""
        del epoch
        return -(-len(self.texts) // self.rows)

    def read_epoch(self, epoch: int) -> Iterator[TextBatch]:
        """Yield the batches of an epoch."""
        lengths = [len(text) for text in self.texts]
        draw = make_generator(self.seed, "texts", epoch)
        for batch in shuffle_by_length(lengths, rows=self.rows, draw=draw):
            labels = torch.tensor([self.labels[row] for row in batch])
            yield TextBatch(pad([self.texts[row] for row in batch]), labels, continues=False)


@dataclass
class ClassifierObjective(EpochObjective[TextBatch]):
    """The data and the loss of a classifier; held-out accuracy selects the best epoch."""

    model: Classifier
    held_out: ShuffledTexts

    memory_remedy = "training.rows or text.longest"
    validation_remedy = "text.longest or the sizes of model"

    @override
    def share(self, batch: TextBatch, after: Position) -> Share[TextBatch]:
        tokens = int((batch.tokens != PAD).sum())
        return Share(batch, predictions=len(batch.targets), target_tokens=tokens, after=after)

    @override
    def compute_loss(self, share: Share[TextBatch], step: int) -> tuple[Tensor, Tensor]:
        nats = F.cross_entropy(self.model(share.batch.tokens), share.batch.targets, reduction="sum")
        return nats / share.predictions, nats

    @override
    def validate(self) -> tuple[float, dict[str, float]]:
        with self.compute.autocast():
            logits, labels = predict_logits(self.model, self.held_out.texts), self.held_out.labels
            loss = F.cross_entropy(logits, torch.tensor(labels)).item()
        hits = logits.argmax(dim=1) == torch.tensor(labels)
        return loss, {"accuracy": 100 * hits.sum().item() / len(hits)}

    @override
    def judge(self, point: Point) -> Merit:
        return (point.validation_scores["accuracy"], *super().judge(point))


def train_classifier(
    config: LearnClassifierConfig,
    words: HashedWords,
    *,
    training: Labelled,
    validation: Labelled,
    vectors: Float[Tensor, "V D"] | None = None,
    checkpoints: Path,
    display: Callable[[int], TrainingDisplay],
) -> tuple[TextClassifier, list[Point]]:
    """Return a trained classifier and the results of its validations.

    The best epoch is selected by the accuracy on ``validation``. Without ``vectors``, embeddings
    are random at first. ``checkpoints`` is a folder for this training only; training continues
    from its checkpoints.
    """
    compute = prepare_compute(**config.training.compute.model_dump())
    classes = list_labels(training)
    torch.manual_seed(derive_seed(config.seed, "weights"))
    model = Classifier(config.model, words.size, len(classes), vectors).to(compute.device)
    reading, held_out = (
        ShuffledTexts(
            [words.encode(text) for _, text in labelled],
            [classes.index(label) for label, _ in labelled],
            config.training.rows,
            config.seed,
        )
        for labelled in (training, validation)
    )
    objective = ClassifierObjective(
        model=model,
        compute=compute,
        config=config.training,
        seed=config.seed,
        count_steps=reading.count_steps,
        read_epoch=reading.read_epoch,
        held_out=held_out,
    )
    points = train_epochs(objective, checkpoints=checkpoints, display=display)
    return TextClassifier(model, words, tuple(classes)), points

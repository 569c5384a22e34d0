"""Recurrent classifiers of texts, and their sealed folders.

Letters: B or N texts, S tokens, D features, C classes, V numbers of tokens.

::

    manifest.json        format, and the digest and size of every other file
    model.safetensors    weights
    model.json           shape, labels, and settings of the tokens
    vocabulary.json      the words in order
    learning.json        settings and validations of the training
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, TypeAdapter
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.base import config, files
from nmt_core.base.compute import find_device
from nmt_core.base.config import Config
from nmt_core.base.seal import MANIFEST, explain_unreadable, list_contents, verify_bundle
from nmt_core.data.batch import pad
from nmt_core.data.batching import batches_by_length
from nmt_core.extensions.classifiers.texts import HashedWords, TextConfig
from nmt_core.models.embedding import embedding_table, pretrained_table
from nmt_core.models.layers import Dropout
from nmt_core.models.recurrence import RecurrentLayer
from nmt_core.models.weights import restore_model, save_weights
from nmt_core.text.vocabulary import PAD, Vocabulary

FORMAT = "classifier 2"

BATCH_TOKENS = 2**14
"""Maximum number of padded tokens in a batch."""

Pool = Literal["max", "mean", "last"]


class ClassifierConfig(Config):
    """The shape of a recurrent classifier."""

    kind: Literal["recurrent"] = "recurrent"
    """The tag of this choice."""
    embedding_width: int = Field(128, ge=1, le=65_536)
    """Features of a word; word vectors bring their own width."""
    layers: int = Field(2, ge=1, le=1000)
    """Recurrent layers, of gated units (Cho et al. 2014)."""
    width: int = Field(128, ge=1, le=65_536)
    """Features that each layer remembers."""
    pool: Pool = "max"
    """Pooling of each feature over the tokens: the largest value, the mean or the last."""
    embedding_dropout: float = Field(0.3, ge=0, le=0.99)
    """Probability of dropping a feature of a word."""
    dropout: float = Field(0.5, ge=0, le=0.99)
    """Probability of dropping a feature between layers, and a pooled one."""
    frozen: bool = False
    """Do not train the word vectors; requires vectors."""


class Classifier(nn.Module):
    """Reads the embeddings of words by GRU layers (Géron, chapter 16, Sentiment Analysis).

    Layers read from left to right and padding is at the end, so no pooled position depends on it.
    Packed sequences would take three times as long on a CPU.
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
            embedding_table(words, config.embedding_width)
            if vectors is None
            else pretrained_table(vectors, frozen=config.frozen)
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
        nothing = self.output.weight.new_zeros(len(tokens), self.config.width)
        for number, layer in enumerate(self.layers):
            if number:
                x = self.drop(x)
            x, _ = layer(x, (nothing,))
        pooled = pool(x, padding, self.config.pool)
        return self.output(self.drop(pooled)).float()


def pool(
    x: Float[Tensor, "B S D"], padding: Bool[Tensor, "B S"], kind: Pool
) -> Float[Tensor, "B D"]:
    """Return one value per feature over all positions except padding."""
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
    """A classifier, its words and its labels; puts the model in evaluation mode."""

    model: Classifier
    words: HashedWords
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        self.model.eval()

    def classify(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Return the label of every text with its probability.

        The batch changes no more than the last bits.
        """
        logits = predict_logits(self.model, [self.words.encode(text) for text in texts])
        best = logits.double().softmax(dim=1).max(dim=1)
        labels = [self.classes[number] for number in best.indices.tolist()]
        return list(zip(labels, best.values.tolist(), strict=True))


class _Shape(Config):
    model: ClassifierConfig
    text: TextConfig
    classes: list[str] = Field(min_length=2)


def write_classifier(
    folder: Path, classifier: TextClassifier, *, learning: Mapping[str, Any]
) -> None:
    """Seal a classifier and, as JSON, how it was learnt; it replaces a folder of that name."""
    words = classifier.words
    shape = _Shape(
        model=classifier.model.config, text=words.config, classes=list(classifier.classes)
    )
    with files.whole_folder(folder) as part:
        save_weights(classifier.model, part / "model.safetensors")
        files.write_json(part / "model.json", shape.model_dump(mode="json"))
        files.write_json(part / "vocabulary.json", list(words.vocabulary.tokens))
        files.write_json(part / "learning.json", dict(learning))
        files.write_json(part / MANIFEST, {"format": FORMAT, "files": list_contents(part)})


def load_classifier(folder: Path, *, device: str = "auto") -> TextClassifier:
    """Verify a classifier and load it.

    Raises:
        BundleError: if it is incomplete, altered, of another format, or no classifier.
        ConfigError: if it asks for what this program does not know, or the device is not there.
    """
    verify_bundle(folder, known=FORMAT)
    with explain_unreadable(folder / "model.json"):
        shape = config.build(_Shape, files.read_json(folder / "model.json"), at=folder.name)
    with explain_unreadable(folder / "vocabulary.json"):
        tokens = files.read_json(folder / "vocabulary.json")
        vocabulary = Vocabulary(TypeAdapter(list[str]).validate_python(tokens, strict=True))
    words = HashedWords(shape.text, vocabulary)
    with explain_unreadable(folder / "model.safetensors"):
        build = partial(Classifier, shape.model, words.size, len(shape.classes))
        model = restore_model(folder / "model.safetensors", build)
    return TextClassifier(model.to(find_device(device)), words, tuple(shape.classes))

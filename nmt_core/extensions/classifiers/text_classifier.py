"""A classifier with its tokens and labels, and its sealed folder.

::

    manifest.json                    format, and the digest and size of every other file
    model.safetensors                weights
    initial_embeddings.safetensors   the embeddings before learning
    model.json                       shape, labels, and settings of the tokens
    vocabulary.json                  the words in order
    units.json, tokenizer/           the tokens, if a language model brought them
    learning.json                    settings and validations of the training
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
from jaxtyping import Float
from pydantic import Field, TypeAdapter
from safetensors.torch import save_file
from torch import Tensor

from nmt_core.base import config, files
from nmt_core.base.compute import find_device
from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError
from nmt_core.base.seal import MANIFEST, explain_unreadable, list_contents, verify_bundle
from nmt_core.data.batch import pad
from nmt_core.data.by_length import batches_by_length
from nmt_core.extensions.classifiers.model import Classifier, EncoderClassifier
from nmt_core.extensions.classifiers.settings import (
    ClassifierConfig,
    EncoderClassifierConfig,
    TextConfig,
)
from nmt_core.extensions.classifiers.words import HashedWords, InitialTokens
from nmt_core.extensions.language_models.units import Units
from nmt_core.extensions.sealed import load_tensors, restore_model, save_weights
from nmt_core.text.vocabulary import Vocabulary

AnyClassifier = Classifier | EncoderClassifier

FORMAT = "classifier 2"
"""Counts up when a program that knows the old number could not read the new one."""

BATCH_TOKENS = 2**14
"""Maximum number of padded tokens in a batch."""


class Judgement(NamedTuple):
    """The most probable label of a text."""

    label: str
    probabilities: tuple[float, ...]
    """Probabilities of all labels, in the order of the classifier's."""

    @property
    def probability(self) -> float:
        """Probability of the label."""
        return max(self.probabilities)


@dataclass(frozen=True)
class TextClassifier:
    """A classifier, its words and its labels; puts the model in evaluation mode."""

    model: AnyClassifier
    words: HashedWords | InitialTokens
    classes: tuple[str, ...]
    initial: Float[Tensor, "V D"]
    """The embeddings before learning."""

    def __post_init__(self) -> None:
        self.model.eval()

    def classify(self, texts: Sequence[str]) -> list[Judgement]:
        """Return the label of every text; the batch changes no more than the last bits."""
        if not texts:
            return []
        logits = predict_logits(self.model, [self.words.encode(text) for text in texts])
        rows = logits.double().softmax(dim=1).tolist()
        return [Judgement(self.classes[row.index(max(row))], tuple(row)) for row in rows]


@torch.inference_mode()
def predict_logits(model: AnyClassifier, texts: Sequence[Sequence[int]]) -> Float[Tensor, "N C"]:
    """Return the logits of every text, on the CPU."""
    logits = torch.empty(len(texts), model.output.out_features)
    lengths = {row: len(text) for row, text in enumerate(texts)}
    for rows in batches_by_length(lengths, max_tokens=BATCH_TOKENS):
        tokens = pad([texts[row] for row in rows]).to(model.output.weight.device)
        logits[rows] = model(tokens).cpu()
    return logits


class _Shape(Config):
    model: Annotated[ClassifierConfig | EncoderClassifierConfig, Field(discriminator="kind")]
    text: TextConfig | None
    """None for the tokens of a language model."""
    classes: list[str] = Field(min_length=2)


def write_classifier(
    folder: Path, classifier: TextClassifier, *, learning: Mapping[str, Any]
) -> None:
    """Seal a classifier and, as JSON, how it was learnt; it replaces a folder of that name."""
    model, words = classifier.model, classifier.words
    shape = _Shape(
        model=model.config,
        text=words.config if isinstance(words, HashedWords) else None,
        classes=list(classifier.classes),
    )
    with files.whole_folder(folder) as part:
        save_weights(model, part / "model.safetensors")
        save_file({"embedding": classifier.initial}, part / "initial_embeddings.safetensors")
        files.write_json(part / "model.json", shape.model_dump(mode="json"))
        if isinstance(words, HashedWords):
            files.write_json(part / "vocabulary.json", list(words.vocabulary.tokens))
        else:
            words.units.save(part)
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
        words = _load_words(folder, shape)
    with explain_unreadable(folder / "model.safetensors"):
        model = restore_model(
            partial(_build, shape, words.size), load_tensors(folder / "model.safetensors")
        )
    with explain_unreadable(folder / "initial_embeddings.safetensors"):
        initial = load_tensors(folder / "initial_embeddings.safetensors")["embedding"]
    if initial.shape != model.embedding.weight.shape:
        raise BundleError(f"{folder} holds initial embeddings of another shape; learn it again")
    return TextClassifier(model.to(find_device(device)), words, tuple(shape.classes), initial)


def _load_words(folder: Path, shape: _Shape) -> HashedWords | InitialTokens:
    if isinstance(shape.model, EncoderClassifierConfig):
        return InitialTokens(Units.load(folder), shape.model.encoder.context)
    if shape.text is None:
        raise BundleError(f"{folder} does not name the settings of its tokens; learn it again")
    tokens = files.read_json(folder / "vocabulary.json")
    vocabulary = Vocabulary(TypeAdapter(list[str]).validate_python(tokens, strict=True))
    return HashedWords(shape.text, vocabulary)


def _build(shape: _Shape, words: int) -> AnyClassifier:
    classes = len(shape.classes)
    if isinstance(shape.model, EncoderClassifierConfig):
        return EncoderClassifier(shape.model, words, classes)
    return Classifier(shape.model, words, classes)

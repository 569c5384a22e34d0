"""A classifier as one sealed folder.

::

    manifest.json                    format, and the digest and size of every other file
    model.safetensors                weights
    initial_embeddings.safetensors   the embeddings before learning
    model.json                       shape, labels, and how a text becomes numbers
    vocabulary.json                  the words in order
    units.json, tokenizer/           what they are, where a language model brought them
    learning.json                    how it was learnt, and what its validations saw
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from nmt_core.base import config, files
from nmt_core.base.compute import find_device
from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError
from nmt_core.base.seal import MANIFEST, explain_unreadable, list_contents, verify_bundle
from nmt_core.extensions.classifiers.initial import EncoderClassifier, InitialTokens
from nmt_core.extensions.classifiers.model import build_word_classifier
from nmt_core.extensions.classifiers.settings import (
    ClassifierShape,
    EncoderClassifierConfig,
    TextConfig,
)
from nmt_core.extensions.classifiers.text_classifier import AnyClassifier, TextClassifier
from nmt_core.extensions.classifiers.words import HashedWords
from nmt_core.extensions.language_models.units import Units
from nmt_core.models.weights import compare_shapes, load_own_tensors, own_tensors
from nmt_core.text.vocabulary import Vocabulary

FORMAT = "classifier 2"
"""Counts up when a program that knows the old number could not read the new one."""


class _Shape(Config):
    model: ClassifierShape
    text: TextConfig | None
    """None where texts are read in a language model's tokens."""
    classes: list[str] = Field(min_length=2)


def write_classifier(
    folder: Path, classifier: TextClassifier, *, learning: Mapping[str, Any]
) -> None:
    """Seal a classifier into a folder, which replaces one of that name.

    Args:
        folder: where to.
        classifier: what to write.
        learning: how it was learnt, as JSON, for people.
    """
    model, words = classifier.model, classifier.words
    shape = _Shape(
        model=model.config,
        text=words.config if isinstance(words, HashedWords) else None,
        classes=list(classifier.classes),
    )
    with files.whole_folder(folder) as part:
        weights = {name: w.cpu().contiguous() for name, w in own_tensors(model).items()}
        save_file(weights, part / "model.safetensors")
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
    build = partial(_build, shape, words.size)
    with explain_unreadable(folder / "model.safetensors", SafetensorError):
        tensors = load_file(folder / "model.safetensors")
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
    if wrong := compare_shapes(build, shapes):
        raise BundleError(f"the tensors do not fit the settings of the model: {wrong}")
    with explain_unreadable(folder / "initial_embeddings.safetensors", SafetensorError):
        initial = load_file(folder / "initial_embeddings.safetensors")["embedding"]
    model = build()
    load_own_tensors(model, tensors)
    if initial.shape != model.embedding.weight.shape:
        raise BundleError(f"{folder} holds initial embeddings of another shape; learn it again")
    return TextClassifier(model.to(find_device(device)), words, tuple(shape.classes), initial)


def _load_words(folder: Path, shape: _Shape) -> HashedWords | InitialTokens:
    if isinstance(shape.model, EncoderClassifierConfig):
        return InitialTokens(Units.load(folder), shape.model.encoder.context)
    if shape.text is None:
        raise BundleError(f"{folder} does not say how its texts are read; learn it again")
    tokens = files.read_json(folder / "vocabulary.json")
    vocabulary = Vocabulary(TypeAdapter(list[str]).validate_python(tokens, strict=True))
    return HashedWords(shape.text, vocabulary)


def _build(shape: _Shape, words: int) -> AnyClassifier:
    classes = len(shape.classes)
    if isinstance(shape.model, EncoderClassifierConfig):
        return EncoderClassifier(shape.model, words, classes)
    return build_word_classifier(shape.model, words, classes)

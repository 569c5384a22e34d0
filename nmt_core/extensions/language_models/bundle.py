"""Kinds of language models, and their sealed folders.

::

    manifest.json            format, and the digest and size of every other file
    model.safetensors        weights, or counts
    model.json               kind and shape
    units.json               what a text is made of
    vocabulary.json          the tokens in order
    tokenizer/               for subwords
    learning.json            how it was learnt, and what its validations saw
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from nmt_core.base import config, files
from nmt_core.base.compute import find_device
from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError
from nmt_core.base.seal import (
    LANGUAGE_MODEL,
    MANIFEST,
    explain_unreadable,
    list_contents,
    verify_bundle,
)
from nmt_core.extensions.language_models.model import LanguageModel, TextModel
from nmt_core.extensions.language_models.neural import (
    FeedForwardConfig,
    FeedForwardLanguageModel,
    Recurrent,
    RecurrentConfig,
)
from nmt_core.extensions.language_models.ngram import NGram, NGramConfig
from nmt_core.extensions.language_models.transformer import (
    MaskedConfig,
    MaskedLanguageModel,
    TransformerLanguageConfig,
    TransformerLanguageModel,
)
from nmt_core.extensions.language_models.units import Units
from nmt_core.models.weights import load_tensors, restore_model, save_weights

LanguageModelConfig = Annotated[
    NGramConfig | FeedForwardConfig | RecurrentConfig | TransformerLanguageConfig | MaskedConfig,
    Field(discriminator="kind"),
]

NEURAL_MODELS: dict[type, Any] = {
    FeedForwardConfig: FeedForwardLanguageModel,
    RecurrentConfig: Recurrent,
    TransformerLanguageConfig: TransformerLanguageModel,
    MaskedConfig: MaskedLanguageModel,
}

AnyLanguageModel = LanguageModel[Any] | MaskedLanguageModel


def build_language_model(config: LanguageModelConfig, words: int) -> Any:
    """Return a neural model with random weights, drawn by torch's generator."""
    return NEURAL_MODELS[type(config)](config, words)


class _Settings(Config):
    model: LanguageModelConfig


def write_language_model(
    folder: Path,
    model: AnyLanguageModel,
    units: Units,
    *,
    model_config: Config,
    learning: Mapping[str, Any],
) -> None:
    """Seal a language model into a folder, which replaces one of that name.

    Args:
        folder: where to.
        model: its weights, or counts.
        units: its tokens.
        model_config: settings the model was built from.
        learning: settings and validations of its training, as JSON.
    """
    with files.whole_folder(folder) as part:
        save_weights(model, part / "model.safetensors")
        files.write_json(part / "model.json", model_config.model_dump(mode="json"))
        files.write_json(part / "learning.json", dict(learning))
        units.save(part)
        files.write_json(part / MANIFEST, {"format": LANGUAGE_MODEL, "files": list_contents(part)})


def load_language_model(folder: Path, *, device: str = "auto") -> TextModel:
    """Verify a causal language model and load it.

    Raises:
        BundleError: if it is incomplete, altered, of another format, or a masked language model.
        ConfigError: if a setting is unknown, or the device is missing.
    """
    model, units = _load(folder, device)
    if isinstance(model, MaskedLanguageModel):
        raise BundleError(
            f"{folder} holds a masked language model, which does not predict the next token; learn "
            f"one of another --kind"
        )
    return TextModel(model, units)


def _load(folder: Path, device: str) -> tuple[AnyLanguageModel, Units]:
    verify_bundle(folder, known=LANGUAGE_MODEL)
    with explain_unreadable(folder):
        units = Units.load(folder)
    with explain_unreadable(folder / "model.json"):
        values = {"model": files.read_json(folder / "model.json")}
        settings = config.build(_Settings, values, at=folder.name).model
    with explain_unreadable(folder / "model.safetensors"):
        model = _restore(folder / "model.safetensors", settings, len(units.vocabulary))
    return model.to(find_device(device)), units


def _restore(path: Path, config: LanguageModelConfig, words: int) -> AnyLanguageModel:
    if isinstance(config, NGramConfig):
        return NGram.restore(config, words, load_tensors(path)).eval()
    model: AnyLanguageModel = restore_model(path, partial(build_language_model, config, words))
    return model

"""A language model as one sealed folder, as ``nmt_core/translation/bundle.py`` seals translators.

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
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

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
from nmt_core.extensions.language_models import (
    AnyLanguageModel,
    LanguageModelConfig,
    MaskedLanguageModel,
    restore_language_model,
)
from nmt_core.extensions.language_models.masked import MaskedTextModel
from nmt_core.extensions.language_models.text_model import TextModel
from nmt_core.extensions.language_models.units import Units
from nmt_core.models.weights import own_tensors


class _Settings(Config):
    model: LanguageModelConfig


def write_language_model(
    folder: Path,
    model: TextModel | MaskedTextModel,
    *,
    model_config: Config,
    learning: Mapping[str, Any],
) -> None:
    """Seal a language model into a folder, which replaces one of that name.

    Args:
        folder: where to.
        model: the model and its units.
        model_config: settings the model was built from.
        learning: how it was learnt, as JSON, for people.
    """
    with files.whole_folder(folder) as part:
        weights = {name: w.cpu().contiguous() for name, w in own_tensors(model.model).items()}
        save_file(weights, part / "model.safetensors")
        files.write_json(part / "model.json", model_config.model_dump(mode="json"))
        files.write_json(part / "learning.json", dict(learning))
        model.units.save(part)
        files.write_json(part / MANIFEST, {"format": LANGUAGE_MODEL, "files": list_contents(part)})


def load_language_model(folder: Path, *, device: str = "auto") -> TextModel:
    """Verify a causal language model and load it.

    Raises:
        BundleError: if it is incomplete, altered, of another format, or no such language model.
        ConfigError: if it asks for what this program does not know, or the device is not there.
    """
    model = _load(folder, device)
    if isinstance(model, MaskedTextModel):
        raise BundleError(
            f"{folder} holds a masked language model, which does not say what comes next; ask it "
            f"by nmt fill, or learn one of another --kind"
        )
    return model


def load_masked_model(folder: Path, *, device: str = "auto") -> MaskedTextModel:
    """Verify a masked language model and load it.

    Raises:
        BundleError: if it is incomplete, altered, of another format, or no masked language model.
        ConfigError: if it asks for what this program does not know, or the device is not there.
    """
    model = _load(folder, device)
    if isinstance(model, TextModel):
        raise BundleError(
            f"{folder} holds a language model that fills no gaps; learn one with --kind masked"
        )
    return model


def with_units(model: AnyLanguageModel, units: Units) -> TextModel | MaskedTextModel:
    """Return a language model that reads text."""
    if isinstance(model, MaskedLanguageModel):
        return MaskedTextModel(model, units)
    return TextModel(model, units)


def _load(folder: Path, device: str) -> TextModel | MaskedTextModel:
    verify_bundle(folder, known=LANGUAGE_MODEL)
    with explain_unreadable(folder):
        units = Units.load(folder)
    with explain_unreadable(folder / "model.json"):
        values = {"model": files.read_json(folder / "model.json")}
        settings = config.build(_Settings, values, at=folder.name).model
    with explain_unreadable(folder / "model.safetensors", SafetensorError):
        tensors = load_file(folder / "model.safetensors")
        model = restore_language_model(settings, len(units.vocabulary), tensors)
    return with_units(model.to(find_device(device)), units)

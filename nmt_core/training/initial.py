"""Initialise a model with the weights of another model (transfer learning; Zoph et al. 2016).

This is fine-tuning, with a new optimizer and a new schedule. Embedding rows are copied for tokens
of both vocabularies, regardless of their IDs; rows of new tokens stay random.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import EllipsisType
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.settings import Seq2SeqConfig, read_model_config
from nmt_core.models.weights import untied_state_dict
from nmt_core.text.vocabulary import Vocabulary
from nmt_core.training.settings import ModelPart

LAYER_SETTINGS: Mapping[ModelPart, str] = {"encoder": "encoder_layers", "decoder": "decoder_layers"}
"""Settings that must match only if their part of the model is copied."""


@dataclass(frozen=True)
class InitialModel:
    """A trained model whose weights initialise another model."""

    config: Seq2SeqConfig
    tensors: Mapping[str, Tensor]
    source: Vocabulary
    target: Vocabulary


def load_initial_model(folder: Path) -> InitialModel | None:
    """Return the initial model from the download stage, or None if there is none."""
    if not (folder / "model.json").exists():
        return None
    return InitialModel(
        read_model_config(files.read_json(folder / "model.json")),
        load_file(folder / "model.safetensors"),
        Vocabulary.load(folder / "vocabulary/source.txt"),
        Vocabulary.load(folder / "vocabulary/target.txt"),
    )


def copy_weights(
    initial: InitialModel,
    model: Seq2Seq[Any, Any],
    config: Seq2SeqConfig,
    vocabularies: tuple[Vocabulary, Vocabulary],
    parts: Collection[ModelPart],
) -> list[str]:
    """Copy the weights of the initial model into a new model, in place; return notes for the log.

    Raises:
        ConfigError: if the settings of the copied parts differ.
    """
    check_compatible(initial, config, parts)
    with torch.no_grad():
        for weight, rows, values in pair_weights(initial, model, vocabularies, parts):
            weight[rows] = values
    notes = [f"starting from {', '.join(sorted(parts))} of the initial model"]
    pairs = zip(vocabularies, _match_both(vocabularies, initial), strict=True)
    new = [len(vocabulary) - len(rows) for vocabulary, (rows, _) in pairs]
    if "embeddings" in parts and any(new):
        notes.append(
            f"{new[0]:,} source and {new[1]:,} target tokens are not in its vocabularies; their "
            f"embeddings start from random values"
        )
    return notes


def pair_weights(
    initial: InitialModel,
    model: Seq2Seq[Any, Any],
    vocabularies: tuple[Vocabulary, Vocabulary],
    parts: Collection[ModelPart],
) -> Iterator[tuple[Tensor, EllipsisType | list[int], Tensor]]:
    """Yield each weight that the initial model has too, its common rows, and their new values."""
    common = _match_both(vocabularies, initial)
    for name, weight in untied_state_dict(model).items():
        if find_part(name) not in parts or name not in initial.tensors:
            continue
        if has_token_rows(name):
            new, old = common[0 if name.startswith("source") else 1]
            yield weight, new, initial.tensors[name][old]
        else:
            yield weight, ..., initial.tensors[name]


def check_compatible(
    initial: InitialModel, config: Seq2SeqConfig, parts: Collection[ModelPart]
) -> None:
    """Check that the copied parts of the initial model have the same settings.

    Raises:
        ConfigError: naming all settings that differ.
    """
    ignored = {layers for part, layers in LAYER_SETTINGS.items() if part not in parts}
    old, new = initial.config.model_dump(mode="json"), config.model_dump(mode="json")
    if old["architecture"] != new["architecture"]:
        raise ConfigError(
            f"the initial model has architecture {old['architecture']}, but train.model has "
            f"{new['architecture']}; set MODEL={old['architecture']}, or use another initial model"
        )
    differing = [
        name
        for name in new
        if new[name] != old[name] and name not in ignored and "dropout" not in name
    ]
    if differing:
        remedy = " ".join(f"train.model.{name}={json.dumps(old[name])}" for name in differing)
        raise ConfigError(f"train.model differs from the initial model; set {remedy}")


def find_part(name: str) -> ModelPart:
    """Return the part of a model that a tensor belongs to."""
    first = name.split(".", maxsplit=1)[0]
    if first.endswith("_embedding") or first == "output":
        return "embeddings"
    return "encoder" if first.startswith("encoder") else "decoder"


def has_token_rows(name: str) -> bool:
    """Return whether a tensor has a row for each token."""
    return find_part(name) == "embeddings" and ".positions." not in name


def _match_both(
    vocabularies: tuple[Vocabulary, Vocabulary], initial: InitialModel
) -> list[tuple[list[int], list[int]]]:
    both = zip(vocabularies, (initial.source, initial.target), strict=True)
    return [_match(new, old) for new, old in both]


def _match(new: Vocabulary, old: Vocabulary) -> tuple[list[int], list[int]]:
    """Return the IDs of common tokens in the new vocabulary, and their IDs in the old one."""
    numbers = {token: number for number, token in enumerate(old.tokens)}
    both = [(number, numbers[token]) for number, token in enumerate(new.tokens) if token in numbers]
    return [number for number, _ in both], [number for _, number in both]


@torch.no_grad()
def average_weights(
    initial: InitialModel,
    model: Seq2Seq[Any, Any],
    vocabularies: tuple[Vocabulary, Vocabulary],
    parts: Collection[ModelPart],
    share: float,
) -> None:
    """Average the weights of a model with its initial weights, in place.

    The result is ``share * initial + (1 - share) * trained``. Weights that were not copied from the
    initial model stay unchanged.
    """
    for weight, rows, values in pair_weights(initial, model, vocabularies, parts):
        if weight.is_floating_point():  # integers are counters of batches
            weight[rows] = torch.lerp(weight[rows], values.to(weight), share)

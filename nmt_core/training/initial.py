"""Starting from the weights of another model (transfer learning; Zoph et al. 2016).

Training goes on where the other model ended, on other text: fine-tuning. Its optimizer and its
schedule begin anew. Both models share the rows of tokens that both know, regardless of their
numbers; rows of new tokens stay random.
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
"""Settings that count only where their part is taken."""


@dataclass(frozen=True)
class InitialModel:
    """A finished model to start from."""

    config: Seq2SeqConfig
    tensors: Mapping[str, Tensor]
    source: Vocabulary
    target: Vocabulary


def load_initial_model(folder: Path) -> InitialModel | None:
    """Return the model that the download stage brought, if it brought any."""
    if not (folder / "model.json").exists():
        return None
    return InitialModel(
        read_model_config(files.read_json(folder / "model.json")),
        load_file(folder / "model.safetensors"),
        Vocabulary.load(folder / "vocabulary/source.txt"),
        Vocabulary.load(folder / "vocabulary/target.txt"),
    )


def start_from(
    initial: InitialModel,
    model: Seq2Seq[Any, Any],
    config: Seq2SeqConfig,
    vocabularies: tuple[Vocabulary, Vocabulary],
    parts: Collection[ModelPart],
) -> list[str]:
    """Give a new model the weights of another, in place; say what it has from there.

    Raises:
        ConfigError: if the two models are not alike in what is taken.
    """
    check_alike(initial, config, parts)
    with torch.no_grad():
        for weight, rows, values in pair_weights(initial, model, vocabularies, parts):
            weight[rows] = values
    notes = [f"starting from {', '.join(sorted(parts))} of the initial model"]
    pairs = zip(vocabularies, _match_both(vocabularies, initial), strict=True)
    new = [len(vocabulary) - len(rows) for vocabulary, (rows, _) in pairs]
    if "embeddings" in parts and any(new):
        notes.append(
            f"{new[0]:,} source and {new[1]:,} target tokens are unknown to it, and start from "
            f"chance"
        )
    return notes


def pair_weights(
    initial: InitialModel,
    model: Seq2Seq[Any, Any],
    vocabularies: tuple[Vocabulary, Vocabulary],
    parts: Collection[ModelPart],
) -> Iterator[tuple[Tensor, EllipsisType | list[int], Tensor]]:
    """Yield the weights of a model, the rows of each that another has, and their values there."""
    known = _match_both(vocabularies, initial)
    for name, weight in untied_state_dict(model).items():
        if find_part(name) not in parts or name not in initial.tensors:
            continue
        if is_of_words(name):
            new, old = known[0 if name.startswith("source") else 1]
            yield weight, new, initial.tensors[name][old]
        else:
            yield weight, ..., initial.tensors[name]


def check_alike(initial: InitialModel, config: Seq2SeqConfig, parts: Collection[ModelPart]) -> None:
    """Make sure that what is taken of a model fits into another.

    Raises:
        ConfigError: naming every setting that is another.
    """
    of_others = {layers for part, layers in LAYER_SETTINGS.items() if part not in parts}
    old, new = initial.config.model_dump(mode="json"), config.model_dump(mode="json")
    if old["architecture"] != new["architecture"]:
        raise ConfigError(
            f"a model of architecture {new['architecture']} cannot start from one of "
            f"{old['architecture']}; choose MODEL={old['architecture']}, or another initial model"
        )
    differing = [
        name
        for name in new
        if new[name] != old[name] and name not in of_others and "dropout" not in name
    ]
    if differing:
        as_there = " ".join(f"train.model.{name}={json.dumps(old[name])}" for name in differing)
        raise ConfigError(f"train.model is not the initial model's; set {as_there}")


def find_part(name: str) -> ModelPart:
    """Return the part of a model that a tensor belongs to."""
    first = name.split(".", maxsplit=1)[0]
    if first.endswith("_embedding") or first == "output":
        return "embeddings"
    return "encoder" if first.startswith("encoder") else "decoder"


def is_of_words(name: str) -> bool:
    """Tell whether a tensor has a row for each token."""
    return find_part(name) == "embeddings" and ".positions." not in name


def _match_both(
    vocabularies: tuple[Vocabulary, Vocabulary], initial: InitialModel
) -> list[tuple[list[int], list[int]]]:
    both = zip(vocabularies, (initial.source, initial.target), strict=True)
    return [_match(new, old) for new, old in both]


def _match(new: Vocabulary, old: Vocabulary) -> tuple[list[int], list[int]]:
    """Return the numbers of the tokens that both know, in the one and in the other."""
    numbers = {token: number for number, token in enumerate(old.tokens)}
    both = [(number, numbers[token]) for number, token in enumerate(new.tokens) if token in numbers]
    return [number for number, _ in both], [number for _, number in both]


@torch.no_grad()
def average_with(
    initial: InitialModel,
    model: Seq2Seq[Any, Any],
    vocabularies: tuple[Vocabulary, Vocabulary],
    parts: Collection[ModelPart],
    share: float,
) -> None:
    """Average the weights of a model with those that it started from, in place.

    It becomes ``share * initial + (1 - share) * trained``. What did not start from the initial
    model stays as it is.
    """
    for weight, rows, values in pair_weights(initial, model, vocabularies, parts):
        if weight.is_floating_point():  # others count batches
            weight[rows] = torch.lerp(weight[rows], values.to(weight), share)

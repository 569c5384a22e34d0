"""Layers of language models, by the names that a Transformer translator has for them.

What looks at the source has no equal in a language model, and starts from chance (Ramachandran et
al. 2017, section 2.1). Both models have the same tokens, which also stand for each other's.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from safetensors.torch import load_file
from torch import Tensor

from nmt_core.base import config, files
from nmt_core.base.errors import ConfigError
from nmt_core.models.settings import EncoderConfig, TransformerConfig

Half = Literal["encoder", "decoder"]

TABLES: Mapping[Half, str] = {"encoder": "source_embedding", "decoder": "target_embedding"}
"""What a translator calls the embedding of a language model."""

OF_DECODERS = {"attention": "self_attention", "attend": "attend_self"}
"""What a layer of a decoder calls what a layer of a language model calls otherwise."""


def find_halves(folder: Path) -> list[Half]:
    """Return the halves of a translator for which there is a language model."""
    return [half for half in TABLES if (folder / half).is_dir()]


def read_shape(folder: Path, halves: list[Half]) -> TransformerConfig:
    """Return the shape of a translator that has the layers of one or two language models.

    Raises:
        ConfigError: if the two have layers of different shapes.
    """
    shapes = {}
    for half in halves:
        values = files.read_json(folder / half / "model.json")
        del values["kind"]
        shapes[half] = config.build(EncoderConfig, values, at=half).build_layer_config()
    first = shapes[halves[0]]
    for name in ("width", "heads", "feed_forward_width", "positions"):
        of_both = [getattr(shape, name) for shape in shapes.values()]
        if len({*of_both}) > 1:
            raise ConfigError(
                f"the language models of encoder and decoder have different {name}, {of_both[0]} "
                f"and {of_both[1]}; learn both with --set model.{name}={of_both[0]}"
            )
    layers = {f"{half}_layers": shape.encoder_layers for half, shape in shapes.items()}
    return first.model_copy(update=layers)


def read_layers(folder: Path, halves: list[Half]) -> dict[str, Tensor]:
    """Return the weights of language models by the names that a translator has for them."""
    tensors: dict[str, Tensor] = {}
    for half in halves:
        tensors |= dict(rename(load_file(folder / half / "model.safetensors"), half))
    first = tensors[f"{TABLES[halves[0]]}.table.weight"]
    for table in TABLES.values():
        tensors.setdefault(f"{table}.table.weight", first)
    return tensors


def rename(tensors: Mapping[str, Tensor], half: Half) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a language model under the names of a half of a translator."""
    for name, tensor in tensors.items():
        if layer := re.fullmatch(r"encoder\.layers\.(\d+)\.(\w+)\.(.+)", name):
            number, block, rest = layer.groups()
            block = OF_DECODERS.get(block, block) if half == "decoder" else block
            yield f"{half}.{number}.{block}.{rest}", tensor
        elif name.startswith("encoder.norm."):
            yield f"{half}_norm.{name.removeprefix('encoder.norm.')}", tensor
        elif name.startswith("encoder.embedding."):
            yield f"{TABLES[half]}.{name.removeprefix('encoder.embedding.')}", tensor

"""An aligner as one sealed folder.

::

    manifest.json            format, and the digest and size of every other file
    aligner.safetensors      pairs of words with their counts, sums of words, jumps
    aligner.json             how it was learnt
    words.json               the vocabularies of source and target
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from nmt_core.base import config, files
from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError
from nmt_core.base.seal import MANIFEST, explain_unreadable, list_contents, verify_bundle
from nmt_core.text.aligner.aligner import Aligner
from nmt_core.text.aligner.hmm import Jumps
from nmt_core.text.aligner.lexicon import Table
from nmt_core.text.aligner.settings import AlignerConfig

FORMAT = "aligner 1"
"""Counts up when a program that knows the old number could not read the new one."""


ALIGNER = "aligner"
"""The folder of an aligner in an exported model, which earlier ones lack, and beside tokenizers."""


class _Words(Config):
    source: list[str] = Field(min_length=1)
    target: list[str] = Field(min_length=1)


def write_aligner(folder: Path, aligner: Aligner) -> None:
    """Seal an aligner into a folder, which replaces one of that name."""
    tensors = {"keys": aligner.keys, "counts": aligner.counts}
    for name, table, jumps in zip(("target", "source"), aligner.tables, aligner.jumps, strict=True):
        tensors[f"{name}.totals"] = table.totals
        tensors[f"{name}.nulls"] = table.nulls
        tensors[f"{name}.jumps"] = jumps.weights
    with files.whole_folder(folder) as part:
        save_file(tensors, part / "aligner.safetensors")
        files.write_json(part / "aligner.json", aligner.config.model_dump(mode="json"))
        words = dict(zip(("source", "target"), aligner.words, strict=True))
        files.write_json(part / "words.json", words)
        files.write_json(part / MANIFEST, {"format": FORMAT, "files": list_contents(part)})


def find_aligner(folder: Path) -> Aligner | None:
    """Return the aligner in a folder; None if the folder does not exist."""
    return load_aligner(folder) if folder.exists() else None


def load_aligner(folder: Path) -> Aligner:
    """Verify an aligner and load it.

    Raises:
        BundleError: if it is incomplete, altered, of another format, or no aligner.
        ConfigError: if it asks for what this program does not know.
    """
    verify_bundle(folder, known=FORMAT)
    with explain_unreadable(folder / "aligner.json"):
        settings = {"tail_length": 0} | files.read_json(folder / "aligner.json")  # earlier ones
        learnt = config.build(AlignerConfig, settings, at="align")
    with explain_unreadable(folder / "words.json"):
        words = config.build(_Words, files.read_json(folder / "words.json"), at="words")
    path = folder / "aligner.safetensors"
    with explain_unreadable(path, SafetensorError):
        tensors = load_file(path)
        _check(tensors, words, learnt, path)
    return Aligner(
        learnt,
        (words.source, words.target),
        tensors["keys"],
        tensors["counts"],
        (
            Table(tensors["target.totals"], tensors["target.nulls"]),
            Table(tensors["source.totals"], tensors["source.nulls"]),
        ),
        (Jumps(tensors["target.jumps"]), Jumps(tensors["source.jumps"])),
    )


def _check(
    tensors: dict[str, NDArray[Any]], words: _Words, settings: AlignerConfig, path: Path
) -> None:
    """Make sure that arrays have the shapes and values of an aligner of these words."""
    source, target, pairs = len(words.source), len(words.target), len(tensors["keys"])
    kinds = 2 * settings.jump_width + 1
    shapes = {
        "keys": (pairs,),
        "counts": (2, pairs),
        "target.totals": (source,),
        "target.nulls": (target,),
        "target.jumps": (kinds,),
        "source.totals": (target,),
        "source.nulls": (source,),
        "source.jumps": (kinds,),
    }
    if {name: array.shape for name, array in tensors.items()} != shapes:
        raise BundleError(f"{path} does not fit its words.json; learn the aligner again")
    positive = [name for name in shapes if name.endswith(("totals", "jumps"))]
    keys = tensors["keys"]
    fitting = (
        keys.dtype == np.int64
        and all(tensors[name].dtype == np.float64 for name in shapes if name != "keys")
        and all(np.isfinite(tensors[name]).all() for name in shapes)
        and all((tensors[name] > 0).all() for name in positive)
        and all((tensors[name] >= 0).all() for name in shapes)
        and bool((np.diff(keys) > 0).all())
        and bool((keys < source * target).all())
    )
    if not fitting:
        raise BundleError(f"{path} holds numbers that no aligner has; learn the aligner again")

"""Verify and load a bundle: tokenizers, vocabularies, search settings and engines.

This file does not import torch; PyTorch's engine is loaded on first use.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from nmt_core.base import config, files
from nmt_core.base.config import ConfigT
from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.base.languages import Languages
from nmt_core.base.packages import format_install_command
from nmt_core.base.seal import digest_bundle, explain_unreadable, read_manifest, verify_bundle
from nmt_core.literals.glossary import Glossary
from nmt_core.search.engine import (
    FOLDER,
    PROGRAMS,
    Engine,
    Precision,
    find_program,
    list_engine_choices,
)
from nmt_core.text import load_tokenizer
from nmt_core.text.restoration import Restorer
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import Vocabulary
from nmt_core.translation.confidence import ConfidenceModel
from nmt_core.translation.directions import DirectionConfig
from nmt_core.translation.text_search import TranslatorConfig

if TYPE_CHECKING:
    from nmt_core.search.pytorch import PyTorchEngine
    from nmt_core.text.aligner.aligner import Aligner

Loaded = TypeVar("Loaded")

LANGUAGES = "languages.json"
"""The file of a bundle with its languages, if they are known."""

DIRECTIONS = "directions.json"
"""The file of a multilingual bundle with its directions."""

GLOSSARY = "glossary.tsv"
"""The file of a bundle with its glossary, if it has one."""

CONFIDENCE = "confidence.json"
"""The file of a bundle with quality estimation, if it could be fitted."""


def load_parts(folder: Path, *, engine: str, device: str, threads: int | None) -> dict[str, Any]:
    """Return the fields of a ``Translator``; see ``Translator.load``."""
    verify_bundle(folder)
    with explain_unreadable(folder / "decoding.json"):
        decoding = files.read_json(folder / "decoding.json")
        settings = config.build(TranslatorConfig, decoding, at="decoding")
    source, target = load_side(folder, "source"), load_side(folder, "target")
    vocabularies = source.vocabulary, target.vocabulary
    load_full = partial(_load_full, folder, vocabularies, device, threads)
    chosen = choose_engine(engine, list_engines(folder), device)
    load_later = partial(_load_later, folder, digest_bundle(folder))
    if chosen == "torch":
        searching: Engine = load_full()
    else:
        searching = load_engine(
            folder / FOLDER / chosen,
            chosen,
            vocabularies,
            device="cpu" if device == "auto" else device,
            threads=threads or count_cores(),
        )
    languages = _load_part(folder / LANGUAGES, Languages)
    glossaries: tuple[Glossary, ...] = ()
    if languages and (path := folder / GLOSSARY).exists():  # of one direction
        glossaries = (Glossary.load(path, languages.codes),)
    several = (folder / DIRECTIONS).exists()
    return {
        "directions": _load_directions(folder / DIRECTIONS) if several else (),
        "engine": searching,
        "source": source,
        "target": target,
        "config": settings,
        "restorer": Restorer.load(folder / "tokenizer" / "source"),
        "languages": None if several else languages,
        "glossaries": glossaries,
        "load_aligner": cache(partial(load_later, partial(_find_aligner, folder))),
        "confidence_model": _load_part(folder / CONFIDENCE, ConfidenceModel),
        "load_full": None if chosen == "torch" else cache(partial(load_later, load_full)),
    }


def load_engine(
    folder: Path,
    name: str,
    vocabularies: tuple[Vocabulary, Vocabulary],
    *,
    device: str,
    threads: int,
) -> Engine:
    """Load an engine that the export added.

    Raises:
        BundleError: if the engine's program cannot read the folder.
        ConfigError: if the device does not exist.
    """
    load = resolve_name(find_program(name).loader)
    engine: Engine = load(folder, *vocabularies, name=name, device=device, threads=threads)
    return engine


def list_engines(folder: Path) -> list[str]:
    """Return the engines of a bundle except PyTorch, fastest first."""
    ranked, precisions = [], get_args(Precision)
    for place in {PurePosixPath(file).parent for file in read_manifest(folder)["files"]}:
        program, _, precision = place.name.rpartition("_")
        if place.parent.as_posix() == FOLDER and precision in precisions and program in PROGRAMS:
            rank = [*PROGRAMS.builtins, program].index(program), precisions.index(precision)
            ranked.append((rank, place.name))
    return [name for _, name in sorted(ranked)]


def list_usable_engines(folder: Path) -> list[str]:
    """Return the engines of a bundle that are installed here, PyTorch first.

    Raises:
        ConfigError: if none is.
    """
    held = list_engines(folder)
    usable = [name for name in ("torch", *held) if find_spec(find_program(name).package)]
    if not usable:
        raise _missing_package(held, "this model")
    return usable


def choose_engine(name: str, engines: list[str], device: str) -> str:
    """Return the engine to load: ``torch``, or an engine of the bundle.

    Args:
        name: one of ``list_engine_choices``.
        engines: engines of the bundle, fastest first.
        device: ``auto`` prefers a GPU, with PyTorch.

    Raises:
        ConfigError: if the engine is unknown, not installed, or not in the bundle.
    """
    if name == "auto":
        usable = [engine for engine in engines if find_spec(find_program(engine).package)]
        if usable and (is_processor(device) or not find_spec("torch")):
            return usable[0]
        if not find_spec("torch"):
            raise _missing_package(engines, "this model")
    if name in {"auto", "torch"}:
        return "torch"
    matching = [engine for engine in engines if name in (engine, engine.rpartition("_")[0])]
    if not matching and name not in (choices := list_engine_choices()):
        raise ConfigError(f"there is no engine {name!r}; choose one of {', '.join(choices)}")
    if not matching:
        raise ConfigError(
            f"the exported model has no engine {name!r}, only {', '.join([*engines, 'torch'])}; "
            f"choose one of these, or set export.engines in params.yaml and export it again"
        )
    if not find_spec(find_program(matching[0]).package):
        raise _missing_package(matching, f"the {matching[0]} engine")
    return matching[0]


def is_processor(device: str) -> bool:
    """Return whether to compute on the CPU; ``auto`` prefers a GPU that PyTorch can use."""
    if device != "auto":
        return device == "cpu"
    if not (find_spec("torch") and find_spec("ctranslate2")):
        return True
    import ctranslate2  # may be missing

    return ctranslate2.get_cuda_device_count() == 0


def count_cores() -> int:
    """Return the number of CPU cores of this process, or OMP_NUM_THREADS if it is set."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    return int(setting) if setting.isdecimal() and int(setting) else len(os.sched_getaffinity(0))


def _missing_package(engines: Sequence[str], what: str) -> ConfigError:
    """Return the error for the missing package of the first engine, or of PyTorch."""
    package = find_program([*engines, "torch"][0]).package
    command = format_install_command(package)
    return ConfigError(f"{what} requires {package}, which is not installed; run: {command}")


def _load_full(
    folder: Path, vocabularies: tuple[Vocabulary, Vocabulary], device: str, threads: int | None
) -> "PyTorchEngine":
    """Load the weights of a verified bundle for PyTorch."""
    if not find_spec("torch"):
        raise _missing_package([], "the PyTorch engine")
    from nmt_core.search.pytorch import load_pytorch  # may be missing

    return load_pytorch(folder, *vocabularies, device=device, threads=threads)


def _find_aligner(folder: Path) -> "Aligner | None":
    from nmt_core.text.aligner.aligner import ALIGNER, find_aligner  # slow, and seldom needed

    return find_aligner(folder / ALIGNER)


def _load_later(folder: Path, digest: str, load: Callable[[], Loaded]) -> Loaded:
    """Load another part of a bundle, after its engine was loaded with this digest."""
    verify_bundle(folder)
    if digest_bundle(folder) != digest:
        raise BundleError(
            f"{folder} was replaced by another model after its engine was loaded; load it again"
        )
    return load()


def load_side(folder: Path, name: str) -> Side:
    """Return the tokenizer and the vocabulary of a side, ``source`` or ``target``.

    Raises:
        BundleError: if one of the files cannot be read.
    """
    with explain_unreadable(path := folder / "vocabulary" / f"{name}.txt"):
        vocabulary = Vocabulary.load(path)
    with explain_unreadable(path := folder / "tokenizer" / name):
        return Side(load_tokenizer(path), vocabulary)


def _load_directions(path: Path) -> tuple[DirectionConfig, ...]:
    """Return the directions of a multilingual bundle."""
    with explain_unreadable(path):
        listed = files.read_json(path)
        return tuple(config.build(DirectionConfig, each, at=path.stem) for each in listed)


def _load_part(path: Path, kind: type[ConfigT]) -> ConfigT | None:
    """Return the content of an optional file, or None if the file does not exist."""
    if not path.exists():
        return None
    with explain_unreadable(path):
        return config.build(kind, files.read_json(path), at=path.stem)

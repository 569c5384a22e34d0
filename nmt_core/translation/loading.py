"""Verify and read a bundle: tokenizers, vocabularies, search settings and engines.

This file imports no torch; PyTorch's engine is loaded when something needs it.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path, PurePosixPath
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from nmt_core.base import config, files
from nmt_core.base.config import ConfigT
from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.base.languages import Languages
from nmt_core.base.packages import format_install_command, is_installed
from nmt_core.base.seal import digest_bundle, explain_unreadable, read_manifest, verify_bundle
from nmt_core.literals.glossary import Glossary
from nmt_core.search.engine import (
    FOLDER,
    PROGRAMS,
    Engine,
    find_program,
    list_engine_choices,
    rank_engine,
)
from nmt_core.text import load_tokenizer
from nmt_core.text.aligner.aligner import ALIGNER, find_aligner
from nmt_core.text.restoration import Restorer
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import Vocabulary
from nmt_core.translation.confidence import ConfidenceModel
from nmt_core.translation.text_search import TranslatorConfig

if TYPE_CHECKING:
    from nmt_core.search.pytorch import PyTorchEngine

LANGUAGES = "languages.json"
"""The file of a bundle that names its languages; earlier ones have none."""

GLOSSARY = "glossary.tsv"
"""The file of a bundle with its glossary, if it has one."""

CONFIDENCE = "confidence.json"
"""The file of a bundle that tells good translations from others, where that could be fitted.

Earlier exports have one more in the folder of an engine."""


def load_parts(folder: Path, *, engine: str, device: str, threads: int | None) -> dict[str, Any]:
    """Return the parts of a ``Translator``; see ``Translator.load``."""
    verify_bundle(folder)
    with explain_unreadable(folder / "decoding.json"):
        decoding = files.read_json(folder / "decoding.json")
        decoding.pop("unsure_below", None)  # of earlier exports
        settings = config.build(TranslatorConfig, decoding, at="decoding")
    source, target = load_side(folder, "source"), load_side(folder, "target")
    vocabularies = source.vocabulary, target.vocabulary
    load_full = partial(_load_full, folder, vocabularies, device, threads)
    chosen = choose_engine(engine, list_engines(folder), device)
    load_later: Callable[[], PyTorchEngine] | None = None
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
        load_later = cache(partial(_load_later, folder, digest_bundle(folder), load_full))
    languages = _load_part(folder / LANGUAGES, Languages)
    glossaries: tuple[Glossary, ...] = ()
    if languages and (path := folder / GLOSSARY).exists():
        glossaries = (Glossary.load(path, languages.codes, legacy=True),)
    return {
        "engine": searching,
        "source": source,
        "target": target,
        "config": settings,
        "restorer": Restorer.load(folder / "tokenizer" / "source"),
        "languages": languages,
        "glossaries": glossaries,
        "aligner": find_aligner(folder / ALIGNER),
        "confidence_model": _load_part(folder / FOLDER / chosen / CONFIDENCE, ConfidenceModel)
        or _load_part(folder / CONFIDENCE, ConfidenceModel),
        "load_full": load_later,
    }


def load_engine(
    folder: Path,
    name: str,
    vocabularies: tuple[Vocabulary, Vocabulary],
    *,
    device: str,
    threads: int,
) -> Engine:
    """Load one of the engines that export adds.

    Raises:
        BundleError: if its program cannot read the folder.
        ConfigError: if the device is not there.
    """
    load = resolve_name(PROGRAMS.load(find_program(name)).loader)
    engine: Engine = load(folder, *vocabularies, name=name, device=device, threads=threads)
    return engine


def list_engines(folder: Path) -> list[str]:
    """Return the engines that a bundle holds beside PyTorch's, the fastest first."""
    places = {PurePosixPath(file).parent for file in read_manifest(folder)}
    held = [place.name for place in places if place.parent.as_posix() == FOLDER]
    return sorted((name for name in held if find_program(name) in PROGRAMS), key=rank_engine)


def list_usable_engines(folder: Path) -> list[str]:
    """Return the engines of a bundle that are installed here, PyTorch first.

    Raises:
        ConfigError: if none is.
    """
    held = list_engines(folder)
    usable = [name for name in ("torch", *held) if is_usable(name)]
    if not usable:
        raise _lack(held, "this model")
    return usable


def choose_engine(name: str, held: list[str], device: str) -> str:
    """Return the engine to load: ``torch``, or one that the bundle holds.

    Args:
        name: one of ``list_engine_choices``.
        held: engines that the bundle holds, the fastest first.
        device: ``auto`` prefers a GPU, and there PyTorch.

    Raises:
        ConfigError: if there is no such engine, or the bundle does not hold it.
    """
    if name == "auto":
        usable = [engine for engine in held if is_usable(engine)]
        if usable and (is_processor(device) or not is_installed("torch")):
            return usable[0]
        if not is_installed("torch"):
            raise _lack(held, "this model")
    if name in {"auto", "torch"}:
        return "torch"
    if find_program(name) not in PROGRAMS:
        known = ", ".join(list_engine_choices())
        raise ConfigError(f"there is no engine {name!r}; choose one of {known}")
    fitting = [engine for engine in held if engine.startswith(name)]
    if not fitting:
        raise ConfigError(
            f"the exported model holds no engine {name!r}, only {', '.join([*held, 'torch'])}; "
            f"choose one of these, or export it again with export.engines in params.yaml"
        )
    if not is_usable(fitting[0]):
        raise _lack(fitting)
    return fitting[0]


def is_usable(engine: str) -> bool:
    """Tell whether the program of an engine is installed."""
    return is_installed(PROGRAMS.load(find_program(engine)).package)


def is_processor(device: str) -> bool:
    """Tell whether to compute on the processor; ``auto`` prefers a GPU that PyTorch can use."""
    if device != "auto":
        return device == "cpu"
    if not (is_installed("torch") and is_installed("ctranslate2")):
        return True
    import ctranslate2  # may be missing

    return ctranslate2.get_cuda_device_count() == 0


def count_cores() -> int:
    """Return the processor cores that this process may use; OMP_NUM_THREADS may say fewer."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    return int(setting) if setting.isdecimal() and int(setting) else len(os.sched_getaffinity(0))


def _lack(engines: Sequence[str], what: str = "this") -> ConfigError:
    """Return the error that names the package that the first engine, or else PyTorch, needs."""
    package = PROGRAMS.load(find_program([*engines, "torch"][0])).package
    return ConfigError(
        f"{what} needs {package}, which is not installed; run: {format_install_command(package)}"
    )


def _load_full(
    folder: Path, vocabularies: tuple[Vocabulary, Vocabulary], device: str, threads: int | None
) -> "PyTorchEngine":
    """Load the weights of a verified bundle for PyTorch."""
    if not is_installed("torch"):
        raise _lack([])
    from nmt_core.search.pytorch import load_pytorch  # may be missing

    return load_pytorch(folder, *vocabularies, device=device, threads=threads)


def _load_later(
    folder: Path, digest: str, load_full: "Callable[[], PyTorchEngine]"
) -> "PyTorchEngine":
    """Load the weights of the bundle that had this digest when its engine was loaded."""
    verify_bundle(folder)
    if digest_bundle(folder) != digest:
        raise BundleError(
            f"{folder} holds another model than when it was loaded, so what only PyTorch can do "
            f"would be done by that one; load it again"
        )
    return load_full()


def load_side(folder: Path, name: str) -> Side:
    """Return the tokenizer and the vocabulary of a side, ``source`` or ``target``.

    Raises:
        BundleError: if one of them cannot be read.
    """
    with explain_unreadable(path := folder / "vocabulary" / f"{name}.txt"):
        vocabulary = Vocabulary.load(path)
    with explain_unreadable(path := folder / "tokenizer" / name):
        return Side(load_tokenizer(path), vocabulary)


def _load_part(path: Path, kind: type[ConfigT]) -> ConfigT | None:
    """Return what a file holds that earlier exports lack; None where it is not there."""
    if not path.exists():
        return None
    with explain_unreadable(path):
        return config.build(kind, files.read_json(path), at=path.stem)

"""An exported model: one sealed folder with all that translating needs.

::

    manifest.json           format, and the digest and size of every other file
    model.safetensors       weights, without copies of tied ones
    model.json              architecture and shape
    tokenizer/source, tokenizer/target
    vocabulary/source.txt, vocabulary/target.txt
    decoding.json           how to search
    canaries.json           lines, and what the model made of them when it was exported
    README.md               the model card

A file that is missing, altered or was added is refused by name before anything else is read.
Nothing in it is executed, unpickled or fetched, nothing is written, and equal models give equal
bytes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_model, save_file

from nmt_core import config, files
from nmt_core.decoding.translator import Translator, TranslatorConfig
from nmt_core.errors import BundleError, ConfigError
from nmt_core.models.architectures import build_model
from nmt_core.models.settings import read_model_config
from nmt_core.models.weights import own_tensors
from nmt_core.text import load_tokenizer
from nmt_core.vocabulary import Vocabulary

FORMAT = 2
"""Counts up when a program that knows the old number could not read the new one."""

MANIFEST = "manifest.json"


class Mismatch(NamedTuple):
    """A line that the model no longer translates as it did when it was exported."""

    source: str
    expected: str
    got: str


def write_bundle(
    folder: Path,
    *,
    translator: Translator,
    model_config: Mapping[str, Any],
    card: str,
    canaries: Sequence[str],
) -> None:
    """Seal a translator into a folder, which replaces one of that name.

    Args:
        folder: where to.
        translator: model, tokenizers, vocabularies and how to search.
        model_config: settings the model was built from, as :func:`read_model_config` reads them.
        card: what the model is, in Markdown.
        canaries: source lines whose translations are kept, to tell later that nothing has changed.

    Raises:
        BundleError: if what was written does not translate the canaries as ``translator`` does.
    """
    with files.whole_folder(folder) as part:
        weights = {n: w.cpu().contiguous() for n, w in own_tensors(translator.model).items()}
        save_file(weights, part / "model.safetensors")
        files.write_json(part / "model.json", dict(model_config))
        translator.source_tokenizer.save(part / "tokenizer" / "source")
        translator.target_tokenizer.save(part / "tokenizer" / "target")
        translator.source_vocabulary.save(part / "vocabulary" / "source.txt")
        translator.target_vocabulary.save(part / "vocabulary" / "target.txt")
        files.write_json(part / "decoding.json", translator.config.model_dump(mode="json"))
        files.write_json(part / "canaries.json", answers(translator, canaries))
        files.write_text(part / "README.md", card)
        files.write_json(part / MANIFEST, {"format": FORMAT, "files": contents(part)})
        device = next(translator.model.parameters()).device.type
        for mismatch in run_canaries(load_translator(part, device=device), part):
            raise BundleError(
                f"the exported model translates {mismatch.source!r} as {mismatch.got!r}, but the "
                f"model it came from as {mismatch.expected!r}; model_config is not what it was "
                f"built from, or a tokenizer does not come back as it was saved"
            )


def load_translator(folder: Path, *, device: str = "auto") -> Translator:
    """Verify an exported model and load it.

    Args:
        folder: what :func:`write_bundle` wrote.
        device: as torch names it; ``auto`` takes a GPU if there is one.

    Raises:
        BundleError: if it is incomplete, altered, or of another format.
        ConfigError: if it asks for what this program does not know, or the device is not there.
    """
    verify(folder)
    source_vocabulary = Vocabulary.load(folder / "vocabulary" / "source.txt")
    target_vocabulary = Vocabulary.load(folder / "vocabulary" / "target.txt")
    model = build_model(
        read_model_config(files.read_json(folder / "model.json")),
        source_size=len(source_vocabulary),
        target_size=len(target_vocabulary),
    )
    try:
        load_model(model, folder / "model.safetensors")
    except (RuntimeError, SafetensorError) as error:
        raise BundleError(
            f"the weights in {folder} do not fit its model.json; export it again ({error})"
        ) from None
    decoding = files.read_json(folder / "decoding.json")
    return Translator(
        model=model.to(find_device(device)),
        source_tokenizer=load_tokenizer(folder / "tokenizer" / "source"),
        target_tokenizer=load_tokenizer(folder / "tokenizer" / "target"),
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
        config=config.build(TranslatorConfig, decoding, at="decoding"),
    )


def verify(folder: Path, *, known: int | str = FORMAT) -> None:
    """Make sure that every file is what was exported, and that there is no other.

    Args:
        folder: what was exported.
        known: the format that can be read.

    Raises:
        BundleError: naming every file that is missing, altered or was added.
    """
    sealed, present = read_manifest(folder, known=known), contents(folder)
    problems = [f"{name} is missing" for name in sorted(sealed.keys() - present.keys())]
    problems += [f"{name} was added" for name in sorted(present.keys() - sealed.keys())]
    problems += [
        f"{name} was altered"
        for name in sorted(sealed.keys() & present.keys())
        if sealed[name] != present[name]
    ]
    if problems:
        raise BundleError(
            f"{folder} is not what was exported: {', '.join(problems)}; fetch or export it again"
        )


def run_canaries(translator: Translator, folder: Path) -> list[Mismatch]:
    """Translate the lines kept in ``folder`` again; return those that come out differently."""
    expected = files.read_json(folder / "canaries.json")
    got = answers(translator, [answer["source"] for answer in expected])
    return [
        Mismatch(old["source"], old["text"], new["text"])
        for old, new in zip(expected, got, strict=True)
        if old != new
    ]


def read_manifest(folder: Path, *, known: int | str = FORMAT) -> dict[str, Any]:
    """Return the digest and size of every file by its name, as they were exported.

    Raises:
        BundleError: if there is no manifest, or one of another format.
    """
    altered = BundleError(f"{folder / MANIFEST} was altered; fetch or export the model again")
    try:
        manifest = files.read_json(folder / MANIFEST)
    except (FileNotFoundError, NotADirectoryError):
        raise BundleError(
            f"{folder} is not an exported model, for it holds no {MANIFEST}; "
            f"name the folder that the export stage wrote"
        ) from None
    except ValueError:
        raise altered from None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise altered
    if manifest["format"] != known:
        raise BundleError(
            f"{folder} has format {manifest['format']!r}, but this program reads format {known!r}; "
            f"export the model again, or install the version of nmt that wrote it"
        )
    sealed = manifest.get("files")
    if not isinstance(sealed, dict):
        raise altered
    return sealed


def digest(folder: Path) -> str:
    """Return a digest of the manifest, which stands for all that was exported."""
    return files.sha256(folder / MANIFEST)


def contents(folder: Path) -> dict[str, Any]:
    """Return the digest and size of every file in ``folder`` but the manifest, by name."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        name: {"sha256": files.sha256(path), "bytes": path.stat().st_size}
        for path in paths
        if (name := path.relative_to(folder).as_posix()) != MANIFEST
    }


def answers(translator: Translator, lines: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the model makes of the lines, in a form that JSON keeps."""
    found = translator.search(lines, best=1)
    return [
        {"source": line, "ids": list(best.ids), "text": best.text}
        for line, [best] in zip(lines, found, strict=True)
    ]


def find_device(name: str) -> torch.device:
    """Return the device of that name.

    Raises:
        ConfigError: if it is not there.
    """
    try:
        device = torch.device(
            ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name
        )
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError):
        raise ConfigError(f"there is no device {name!r} here; use auto or cpu") from None

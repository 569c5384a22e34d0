"""An exported model: one sealed folder with all that translating needs.

::

    manifest.json           format, and the digest and size of every other file
    model.safetensors       weights, without copies of tied ones
    model.json              architecture and shape
    tokenizer/source, tokenizer/target
    vocabulary/source.txt, vocabulary/target.txt
    decoding.json           how to search
    golden.json           lines, and what the model made of them when it was exported
    README.md               the model card
    sbom.cdx.json           which packages made it, of which version and licence

A file that is missing, altered or was added is refused by name before anything else is read, and
so is all that is neither a file nor a folder of the manifest. Nothing in it is executed, unpickled
or fetched, nothing is written, and equal models give equal bytes.

The seal is against accidents, not against people: whoever alters a file and writes its digest into
the manifest is believed. Who needs to know where a model is from compares :func:`digest`, which
``nmt verify`` shows, with what the maker published, such as ``bundle_sha256`` in a registry. A
folder made by an enemy still runs nothing, and takes no more memory than its files and the bounds
of its settings allow.
"""

import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from nmt_core import config, files
from nmt_core.compute import find_device
from nmt_core.config import Config
from nmt_core.decoding.translator import Translator, TranslatorConfig
from nmt_core.errors import BundleError
from nmt_core.models.architectures import build_model
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.settings import Seq2SeqConfig, read_model_config
from nmt_core.models.weights import compare_shapes, load_own_tensors, own_tensors
from nmt_core.text import load_tokenizer
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import Vocabulary

FORMAT = 3
"""Counts up when a program that knows the old number could not read the new one."""

MANIFEST = "manifest.json"


class Sealed(Config):
    """What the manifest says of a file."""

    sha256: str
    """Its digest, in hexadecimal."""
    bytes: int
    """Its size."""


class Answer(Config):
    """What the model made of a line when it was exported."""

    source: str
    """The line."""
    ids: tuple[int, ...]
    """The numbers of its translation's tokens."""
    text: str
    """The translation."""


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
    bill: Mapping[str, Any],
    golden_sentences: Sequence[str],
) -> None:
    """Seal a translator into a folder, which replaces one of that name.

    Args:
        folder: where to.
        translator: model, both sides and how to search.
        model_config: settings the model was built from, as :func:`read_model_config` reads them.
        card: what the model is, in Markdown.
        bill: which packages made it, as CycloneDX.
        golden_sentences: source lines whose translations are kept, to tell later that nothing has
            changed.

    Raises:
        BundleError: if what was written does not translate the golden sentences as ``translator``
            does.
    """
    with files.whole_folder(folder) as part:
        weights = {n: w.cpu().contiguous() for n, w in own_tensors(translator.model).items()}
        save_file(weights, part / "model.safetensors")
        files.write_json(part / "model.json", dict(model_config))
        for name, side in (("source", translator.source), ("target", translator.target)):
            side.tokenizer.save(part / "tokenizer" / name)
            side.vocabulary.save(part / "vocabulary" / f"{name}.txt")
        files.write_json(part / "decoding.json", translator.config.model_dump(mode="json"))
        kept = [
            answer.model_dump(mode="json")
            for answer in translate_golden(translator, golden_sentences)
        ]
        files.write_json(part / "golden.json", kept)
        files.write_text(part / "README.md", card)
        files.write_json(part / "sbom.cdx.json", dict(bill))
        files.write_json(part / MANIFEST, {"format": FORMAT, "files": list_contents(part)})
        device = next(translator.model.parameters()).device.type
        for mismatch in check_golden(load_translator(part, device=device), part):
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
    verify_bundle(folder)
    with explain_unreadable(folder / "model.json"):
        settings = read_model_config(files.read_json(folder / "model.json"))
    with explain_unreadable(folder / "decoding.json"):
        decoding = files.read_json(folder / "decoding.json")
        translating = config.build(TranslatorConfig, decoding, at="decoding")
    source, target = _load_side(folder, "source"), _load_side(folder, "target")
    model = _load_weights(folder, settings, len(source.vocabulary), len(target.vocabulary))
    return Translator(
        model=model.to(find_device(device)), source=source, target=target, config=translating
    )


def _load_side(folder: Path, name: str) -> Side:
    with explain_unreadable(path := folder / "vocabulary" / f"{name}.txt"):
        vocabulary = Vocabulary.load(path)
    with explain_unreadable(path := folder / "tokenizer" / name):
        return Side(load_tokenizer(path), vocabulary)


def _load_weights(
    folder: Path, settings: Seq2SeqConfig, source_size: int, target_size: int
) -> Seq2Seq[Any, Any]:
    build = partial(build_model, settings, source_size=source_size, target_size=target_size)
    path = folder / "model.safetensors"
    with explain_unreadable(path), safe_open(path, "pt") as file:
        stored = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118 - no mapping
    if wrong := compare_shapes(build, stored):
        raise BundleError(
            f"the weights in {folder} do not fit its model.json; export it again ({wrong})"
        )
    model = build()
    load_own_tensors(model, load_file(path))
    return model


@contextmanager
def explain_unreadable(path: Path) -> Iterator[None]:
    """Tell in a sentence if the block cannot make sense of what is sealed at ``path``.

    Its digest is right, so it is no accident: it was sealed like that, or by another program.

    Raises:
        BundleError: naming it.
    """
    try:
        yield
    except RecursionError:
        raise BundleError(f"{path} is nested too deeply; export the model again") from None
    except (
        *(ValueError, TypeError, LookupError, AttributeError),  # another shape than we write
        *(RuntimeError, OSError, SafetensorError),  # what libraries say of bytes they cannot read
    ) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise BundleError(f"{path} cannot be read ({reason}); export the model again") from None


def verify_bundle(folder: Path, *, known: int | str = FORMAT) -> None:
    """Make sure that every file is what was exported, and that there is no other.

    Args:
        folder: what was exported.
        known: the format that can be read.

    Raises:
        BundleError: naming every file that is missing, altered or was added.
    """
    sealed = read_manifest(folder, known=known)
    with explain_unreadable(folder):
        present, others = list_contents(folder), _others(folder, sealed)
    problems = [f"{name} is missing" for name in sorted(sealed.keys() - {*present, *others})]
    problems += [f"{name} was added" for name in sorted(present.keys() - sealed.keys())]
    problems += [f"{name} is {what}" for name, what in sorted(others.items())]
    problems += [
        f"{name} was altered"
        for name in sorted(sealed.keys() & present.keys())
        if sealed[name] != present[name]
    ]
    if problems:
        raise BundleError(
            f"{folder} is not what was exported: {', '.join(problems)}; fetch or export it again"
        )


def check_golden(translator: Translator, folder: Path) -> list[Mismatch]:
    """Translate the lines kept in ``folder`` again; return those that come out differently.

    Raises:
        BundleError: if it keeps none, which would prove nothing.
    """
    path = folder / "golden.json"
    with explain_unreadable(path):
        expected = TypeAdapter(list[Answer]).validate_json(path.read_bytes())
    if not expected:
        raise BundleError(f"{path} holds no line to translate again; export the model again")
    got = translate_golden(translator, [answer.source for answer in expected])
    return [
        Mismatch(old.source, old.text, new.text)
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
        if not stat.S_ISREG((folder / MANIFEST).lstat().st_mode):
            raise BundleError(f"{folder / MANIFEST} is no file; cp -rL makes files of links")
        manifest = files.read_json(folder / MANIFEST)
    except (FileNotFoundError, NotADirectoryError):
        raise BundleError(
            f"{folder} is not an exported model, for it holds no {MANIFEST}; "
            f"name the folder that the export stage wrote"
        ) from None
    except (ValueError, RecursionError):
        raise altered from None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise altered
    if manifest["format"] != known:
        raise BundleError(
            f"{folder} has format {manifest['format']!r}, but this program reads format {known!r}; "
            f"export the model again, or install the version of nmt that wrote it"
        )
    try:
        sealed = TypeAdapter(dict[str, Sealed]).validate_python(manifest.get("files"))
    except ValueError:
        raise altered from None
    return {name: entry.model_dump() for name, entry in sealed.items()}


def digest_bundle(folder: Path) -> str:
    """Return a digest of the manifest, which stands for all that was exported."""
    return files.sha256(folder / MANIFEST)


def list_contents(folder: Path) -> dict[str, Any]:
    """Return the digest and size of every file in ``folder`` but the manifest, by name.

    Links are not followed; they are no files.
    """
    paths = sorted(path for path in folder.rglob("*") if stat.S_ISREG(path.lstat().st_mode))
    return {
        name: {"sha256": files.sha256(path), "bytes": path.stat().st_size}
        for path in paths
        if (name := path.relative_to(folder).as_posix()) != MANIFEST
    }


def _others(folder: Path, sealed: Mapping[str, Any]) -> dict[str, str]:
    """Say what is in ``folder`` that is neither a file nor a folder of a sealed file."""
    known = {parent.as_posix() for name in sealed for parent in PurePosixPath(name).parents}
    found = {}
    for path in folder.rglob("*"):
        name, mode = path.relative_to(folder).as_posix(), path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[name] = "a link (cp -rL makes files of links)"
        elif stat.S_ISDIR(mode) and name not in known:
            found[name] = "a folder that was added"
        elif not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            found[name] = "neither a file nor a folder"
    return found


def translate_golden(translator: Translator, lines: Sequence[str]) -> list[Answer]:
    """Return what the model makes of the lines."""
    found = translator.search(lines, n_best=1)
    return [
        Answer(source=line, ids=best.ids, text=best.text)
        for line, [best] in zip(lines, found, strict=True)
    ]

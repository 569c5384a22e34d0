"""A sealed folder: a manifest with the digest of every file, and nothing else in it.

A file that is missing, altered or was added is refused by name before anything else is read, and
so is all that is neither a file nor a folder of the manifest.

The seal is against accidents, not against people: whoever alters a file and writes its digest into
the manifest is believed. Who needs to know where a folder is from compares :func:`digest_bundle`,
which ``nmt verify`` shows, with what the maker published, such as ``bundle_sha256`` in a registry.
"""

import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import TypeAdapter

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError, ConfigError

FORMAT = 3
"""Counts up when a program that knows the old number could not read the new one."""

LANGUAGE_MODEL = "language model 1"
"""The same of language models, which translators may start from."""

MANIFEST = "manifest.json"

MOST_MANIFEST_BYTES = 10_000_000
"""Of a manifest; those that are written have a few thousand."""


MADE_BY = {
    "translator": "the export stage",
    "language model": "nmt learn",
    "classifier": "nmt learn-classifier",
    "aligner": "nmt align --learn",
}
"""What writes each kind of model."""


class Sealed(Config):
    """What the manifest says of a file."""

    sha256: str
    """Its digest, in hexadecimal."""
    bytes: int
    """Its size."""


UNREADABLE: tuple[type[BaseException], ...] = (
    *(ValueError, TypeError, LookupError, AttributeError),  # another shape than we write
    *(RuntimeError, OSError),  # what libraries say of bytes they cannot read
)


@contextmanager
def explain_unreadable(path: Path, *also: type[BaseException]) -> Iterator[None]:
    """Tell in a sentence if the block cannot make sense of what is sealed at ``path``.

    Its digest is right, so it is no accident: it was sealed like that, or by another program.

    Args:
        path: what is read.
        also: what a library raises of its own on bytes that it cannot read.

    Raises:
        BundleError: naming it.
    """
    try:
        yield
    except RecursionError:
        raise BundleError(f"{path} is nested too deeply; export the model again") from None
    except UNREADABLE + also as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise BundleError(f"{path} cannot be read ({reason}); export the model again") from None


def read_format(folder: Path) -> int | str:
    """Return the format of what is sealed: a number of a translator, words of anything else.

    Raises:
        BundleError: if there is no manifest.
    """
    found = _read_manifest(folder)["format"]
    return found if isinstance(found, int | str) else str(found)


def read_manifest(folder: Path, *, known: int | str = FORMAT) -> dict[str, Any]:
    """Return the digest and size of every file by its name, as they were exported.

    Raises:
        BundleError: if there is no manifest, or one of another format.
    """
    manifest = _read_manifest(folder)
    kind, wanted = _name_kind(manifest["format"]), _name_kind(known)
    if kind != wanted and kind in MADE_BY:
        raise BundleError(
            f"{folder} holds a {kind}, and a {wanted} is wanted; name a folder that "
            f"{MADE_BY[wanted]} wrote"
        )
    if manifest["format"] != known:
        raise BundleError(
            f"{folder} has format {manifest['format']!r}, but this program reads format {known!r}; "
            f"export the model again, or install the version of nmt that wrote it"
        )
    try:
        sealed = TypeAdapter(dict[str, Sealed]).validate_python(manifest.get("files"))
    except ValueError:
        raise _altered(folder) from None
    return {name: entry.model_dump() for name, entry in sealed.items()}


def _name_kind(found: object) -> str:
    """Return what has this format: a translator's is a number, others say their name, too."""
    return found.rpartition(" ")[0] if isinstance(found, str) else "translator"


def _find_manifest(folder: Path) -> Path:
    """Return the manifest of a folder, which can be opened without waiting for a writer."""
    path = folder / MANIFEST
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        raise BundleError(
            f"{folder} is not an exported model, for it holds no {MANIFEST}; "
            f"name the folder that the export stage, or the command that learns it, wrote"
        ) from None
    if not stat.S_ISREG(found.st_mode):
        raise BundleError(f"{path} is no file; cp -rL makes files of links")
    if found.st_size > MOST_MANIFEST_BYTES:
        raise _altered(folder)
    return path


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = _find_manifest(folder)
    try:
        manifest = files.read_json(path)
    except (ValueError, RecursionError):
        raise _altered(folder) from None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise _altered(folder)
    return manifest


def _altered(folder: Path) -> BundleError:
    return BundleError(f"{folder / MANIFEST} was altered; fetch or export the model again")


def require_replaceable(folder: Path, *, known: str) -> None:
    """Refuse a folder that must not give way to a model, before that is learnt.

    Nothing, an empty folder and an older model of the same kind may.

    Args:
        folder: where the model is to be written.
        known: its format.

    Raises:
        ConfigError: naming what would be lost.
    """
    place, kind = folder.resolve(), _kind(known)
    if Path.cwd().is_relative_to(place):
        raise ConfigError(
            f"{folder} is the folder you are in, or one above, which would be replaced; name "
            f"another one, such as {folder / kind.replace(' ', '-')}"
        )
    if not place.exists():
        return
    if not place.is_dir():
        raise ConfigError(f"{folder} is no folder, but a file; name a folder for the {kind}")
    others = {path.name for path in place.iterdir()}
    with suppress(BundleError):
        manifest = _read_manifest(place)
        own, sealed = _kind(str(manifest["format"])) == kind, manifest.get("files")
        if own and isinstance(sealed, dict):
            present = (path.relative_to(place) for path in place.rglob("*") if not path.is_dir())
            others = {path.as_posix() for path in present} - {MANIFEST, *sealed}
    if others:
        raise ConfigError(
            f"{folder} holds {min(others)}, which belongs to no {kind} and would be lost; name a "
            f"new folder, an empty one, or an older {kind} to replace"
        )


def _kind(known: str) -> str:
    """Return a format without its number."""
    return known.rpartition(" ")[0]


def digest_bundle(folder: Path) -> str:
    """Return a digest of the manifest, which stands for all that was exported.

    Raises:
        BundleError: if there is no manifest.
    """
    return files.sha256(_find_manifest(folder))


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

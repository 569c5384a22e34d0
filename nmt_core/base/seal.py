"""Sealed folders: a manifest with the digest of every file, and no other files.

A file that is missing, altered or was added is refused by name before anything else is read, and
so are links, devices and other folders.

The seal is against accidents, not against people: a file that is altered together with its digest
in the manifest is accepted. To know the origin of a folder, compare ``digest_bundle``, which
``nmt verify`` shows, with the digest that its maker published, such as ``bundle_sha256`` in a
registry.
"""

import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from nmt_core.base import files
from nmt_core.base.errors import BundleError, ConfigError

FORMAT = 3
"""Counts up when programs of the old number cannot read the new format."""

LANGUAGE_MODEL = "language model 1"
"""The format of language models."""

MANIFEST = "manifest.json"

MOST_MANIFEST_BYTES = 10_000_000
"""Maximum size of a manifest; written ones have a few thousand bytes."""

UNREADABLE: tuple[type[BaseException], ...] = (
    *(ValueError, TypeError, LookupError, AttributeError),  # another shape than we write
    *(RuntimeError, OSError),  # what libraries say of bytes they cannot read
)


@contextmanager
def explain_unreadable(path: Path, *also: type[BaseException]) -> Iterator[None]:
    """Report in a sentence that the block cannot read the sealed content at ``path``.

    Its digest is right, so it was sealed like that, or by another program. A library may raise
    errors of its own, ``also``.

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
    """Return the format of a sealed folder: a number for a translator, words for other models.

    Raises:
        BundleError: if there is no manifest.
    """
    named = _read_manifest(folder)["format"]
    return named if isinstance(named, int | str) else str(named)


def read_manifest(folder: Path, *, known: int | str = FORMAT) -> dict[str, Any]:
    """Return the digest and size of every file by its name, as they were exported.

    Raises:
        BundleError: if there is no manifest, or one of another format.
    """
    manifest = _read_manifest(folder)
    kind, wanted = _name_kind(manifest["format"]), _name_kind(known)
    if kind != wanted:
        raise BundleError(f"{folder} holds a {kind}; name the folder of a {wanted}")
    if manifest["format"] != known:
        raise BundleError(
            f"{folder} has format {manifest['format']!r}, but this program reads format {known!r}; "
            f"export the model again, or install the version of nmt that wrote it"
        )
    sealed = manifest.get("files")
    if not isinstance(sealed, dict) or not all(map(_is_seal, sealed.values())):
        raise _altered(folder)
    return sealed


def _is_seal(entry: object) -> bool:
    """Tell whether a value is the digest of a file, in hexadecimal, and its size."""
    if not isinstance(entry, dict) or entry.keys() != {"sha256", "bytes"}:
        return False
    return isinstance(entry["sha256"], str) and type(entry["bytes"]) is int


def _name_kind(named: object) -> str:
    """Return the kind of model of a format: a number, or words that begin with a name."""
    return named.rpartition(" ")[0] if isinstance(named, str) else "translator"


def _find_manifest(folder: Path) -> Path:
    """Return the manifest of a folder, a regular file that can be opened without waiting."""
    path = folder / MANIFEST
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        raise BundleError(
            f"{folder} is not an exported model, for it holds no {MANIFEST}; "
            f"name the folder that the export stage, or the command that learns it, wrote"
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise BundleError(f"{path} is no file; cp -rL makes files of links")
    if status.st_size > MOST_MANIFEST_BYTES:
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
    """Refuse a folder that a model of a format must not replace, before the model is learnt.

    A missing or empty folder and an older model of the same kind may be replaced.

    Raises:
        ConfigError: if other content would be lost.
    """
    kind = _name_kind(known)
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    with suppress(BundleError):
        manifest = _read_manifest(folder)
        present = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()}
        if _name_kind(manifest["format"]) == kind and present <= {MANIFEST, *manifest["files"]}:
            return
    raise ConfigError(
        f"{folder} holds other things than one {kind}, which would be lost; name a new folder, an "
        f"empty one, or an older {kind} to replace"
    )


def digest_bundle(folder: Path) -> str:
    """Return a digest of the manifest, which identifies the whole bundle.

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


def _find_others(folder: Path, sealed: Mapping[str, Any]) -> dict[str, str]:
    """Say what is wrong with entries of ``folder`` that are no files, by name."""
    folders = {parent.as_posix() for name in sealed for parent in PurePosixPath(name).parents}
    others = {}
    for path in folder.rglob("*"):
        name, mode = path.relative_to(folder).as_posix(), path.lstat().st_mode
        if stat.S_ISLNK(mode):
            others[name] = "is a link (cp -rL makes files of links)"
        elif stat.S_ISDIR(mode) and name not in folders:
            others[name] = "is a folder that was added"
        elif not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            others[name] = "is neither a file nor a folder"
    return others


def verify_bundle(folder: Path, *, known: int | str = FORMAT) -> None:
    """Make sure that every file is as it was exported, and that there is no other.

    Raises:
        BundleError: naming every file that is missing, altered or was added.
    """
    sealed = read_manifest(folder, known=known)
    with explain_unreadable(folder):
        present, others = list_contents(folder), _find_others(folder, sealed)
    for name in sealed.keys() | present.keys():
        if name not in present:
            others.setdefault(name, "is missing")
        elif name not in sealed:
            others[name] = "was added"
        elif sealed[name] != present[name]:
            others[name] = "was altered"
    if problems := [f"{name} {problem}" for name, problem in sorted(others.items())]:
        raise BundleError(
            f"{folder} is not what was exported: {', '.join(problems)}; fetch or export it again"
        )

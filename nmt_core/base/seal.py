"""Sealed folders: a manifest lists the digest of every file, and no other file is accepted.

Verification fails before anything else is read. It names every file that is missing, altered or was
added, and every link, device and unexpected folder.

The seal detects accidents, not attacks: a file that is altered together with its digest in the
manifest is accepted. To check the origin of a folder, compare ``digest_bundle``, which ``nmt
verify`` prints, with a published digest, such as ``bundle_sha256`` in a registry.
"""

import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from nmt_core.base import files
from nmt_core.base.errors import BundleError, ConfigError

FORMAT = 3
"""Format of translators; incremented when older programs cannot read the new format."""

LANGUAGE_MODEL = "language model 1"
"""The format of language models."""

MANIFEST = "manifest.json"

MAX_MANIFEST_BYTES = 10_000_000
"""Maximum size of a manifest; real manifests have a few thousand bytes."""

IRREGULAR_ENTRIES = {
    stat.S_IFLNK: "is a link (copy the model with cp -rL)",
    stat.S_IFDIR: "is a folder that was added",
}
"""Problems of entries that are not regular files, by their type."""

UNREADABLE_ERRORS: tuple[type[BaseException], ...] = (
    *(ValueError, TypeError, LookupError, AttributeError),  # another structure than we write
    *(RuntimeError, OSError),  # raised by libraries for invalid bytes
)


@contextmanager
def explain_unreadable(path: Path, *errors: type[BaseException]) -> Iterator[None]:
    """Turn errors of reading the sealed content at ``path`` in the block into a BundleError.

    Content with the right digest can be invalid if it was sealed so, or by another program.
    ``errors`` are further errors that the library of its format raises.

    Raises:
        BundleError: if the content cannot be read.
    """
    try:
        yield
    except RecursionError:
        raise BundleError(f"{path} is nested too deeply; export the model again") from None
    except UNREADABLE_ERRORS + errors as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise BundleError(f"{path} cannot be read ({reason}); export the model again") from None


def read_manifest(folder: Path, *, expected: int | str | None = FORMAT) -> dict[str, Any]:
    """Return the ``format`` of a folder, and the digest and size of its ``files``, by name.

    Raises:
        BundleError: if the manifest is missing or invalid, or the format is not ``expected``; None
            accepts any format.
    """
    path = _find_manifest(folder)
    try:
        manifest = files.read_json(path)
    except (ValueError, RecursionError):
        raise _altered(folder) from None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise _altered(folder)
    if expected is not None and manifest["format"] != expected:
        kind, expected_kind = _name_kind(manifest["format"]), _name_kind(expected)
        if kind != expected_kind:
            raise BundleError(f"{folder} contains a {kind}; name the folder of a {expected_kind}")
        raise BundleError(
            f"{folder} has format {manifest['format']!r}, but this program reads format "
            f"{expected!r}; export the model again, or install the version of nmt that wrote it"
        )
    sealed = manifest.get("files")
    if not isinstance(sealed, dict) or not all(
        isinstance(each, dict) and each.keys() == {"sha256", "bytes"} for each in sealed.values()
    ):
        raise _altered(folder)
    return manifest


def _name_kind(model_format: object) -> str:
    """Return the kind of model of a format, such as "aligner" of "aligner 1"."""
    return model_format.rpartition(" ")[0] if isinstance(model_format, str) else "translator"


def _find_manifest(folder: Path) -> Path:
    """Return the path of a folder's manifest, which is a regular file of a sensible size."""
    path = folder / MANIFEST
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        raise BundleError(
            f"{folder} is not an exported model: {MANIFEST} is missing; name the folder that the "
            f"export stage, or the command that trains the model, wrote"
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise BundleError(f"{path} is not a regular file; copy the model with cp -rL")
    if status.st_size > MAX_MANIFEST_BYTES:
        raise _altered(folder)
    return path


def _altered(folder: Path) -> BundleError:
    return BundleError(f"{folder / MANIFEST} was altered; fetch or export the model again")


def require_replaceable(folder: Path, *, by: str) -> None:
    """Check, before training, that a model of the format ``by`` may replace a folder.

    It may replace a missing or empty folder and an older model of the same kind.

    Raises:
        ConfigError: if other content would be lost.
    """
    kind = _name_kind(by)
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    with suppress(BundleError):
        manifest = read_manifest(folder, expected=None)
        present = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()}
        if _name_kind(manifest["format"]) == kind and present <= {MANIFEST, *manifest["files"]}:
            return
    raise ConfigError(
        f"{folder} contains other files than one {kind}, which would be lost; name a new folder, "
        f"an empty folder, or an older {kind} to replace"
    )


def digest_bundle(folder: Path) -> str:
    """Return the SHA-256 digest of the manifest, which identifies the whole bundle.

    Raises:
        BundleError: if the manifest is missing.
    """
    return files.sha256(_find_manifest(folder))


def list_contents(folder: Path) -> dict[str, Any]:
    """Return the digest and size of every regular file except the manifest, by relative path."""
    paths = sorted(path for path in folder.rglob("*") if stat.S_ISREG(path.lstat().st_mode))
    return {
        name: {"sha256": files.sha256(path), "bytes": path.stat().st_size}
        for path in paths
        if (name := path.relative_to(folder).as_posix()) != MANIFEST
    }


def verify_bundle(folder: Path, *, expected: int | str = FORMAT) -> None:
    """Raise a ``BundleError`` that names every file that is missing, altered or was added."""
    sealed = read_manifest(folder, expected=expected)["files"]
    folders = {parent.as_posix() for name in sealed for parent in PurePosixPath(name).parents}
    problems = {}
    with explain_unreadable(folder):
        present = list_contents(folder)
        for path in folder.rglob("*"):
            name, kind = path.relative_to(folder).as_posix(), stat.S_IFMT(path.lstat().st_mode)
            if kind != stat.S_IFREG and not (kind == stat.S_IFDIR and name in folders):
                problems[name] = IRREGULAR_ENTRIES.get(kind, "is neither a file nor a folder")
    for name in sealed.keys() | present.keys():
        if name not in present:
            problems.setdefault(name, "is missing")
        elif sealed.get(name) != present[name]:
            problems[name] = "was altered" if name in sealed else "was added"
    if listed := [f"{name} {problem}" for name, problem in sorted(problems.items())]:
        raise BundleError(
            f"{folder} differs from the export: {', '.join(listed)}; download or export it again"
        )

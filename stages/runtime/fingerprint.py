"""Fingerprints of trainings, and digests of the files that stages hand on."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from stages import paths
from stages.runtime.code_digests import digest_code


def compute_fingerprint(
    settings: Any, stage: str, *, budget: Any, pipeline: Path = paths.PIPELINE
) -> str:
    """Return a digest of a training's settings, data and code, a hyphen, and one of its budget.

    Checkpoints are kept under it: a changed setting, changed data or code start a new training; an
    unchanged one continues. Trainings that differ in their budget alone share the part before the
    hyphen.

    Args:
        settings: all but the budget, as JSON holds them.
        stage: its dependencies in dvc.yaml are the data; the code is what it runs now.
        budget: as JSON holds it.
        pipeline: dvc.yaml.
    """
    entry = yaml.safe_load(pipeline.read_text(encoding="utf-8"))["stages"][stage]
    data = [place for place in entry["deps"] if paths.CODE not in Path(place).parents]
    course = hash_json([settings, hash_files(data), digest_code([stage])])
    return f"{course[:16]}-{hash_json(budget)[:8]}"


def hash_files(places: Iterable[str]) -> dict[str, str]:
    """Return a digest of every file at and below the given paths."""
    return {path.as_posix(): files.sha256(path) for path in sorted(find_files(places))}


def find_files(places: Iterable[str]) -> Iterator[Path]:
    """Yield the files at and below the given places."""
    for root in map(Path, places):
        inside = root.rglob("*") if root.is_dir() else [root]
        yield from filter(Path.is_file, inside)


def hash_json(document: Any) -> str:
    """Return a digest of a JSON value."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


DIGESTS = "digests.json"


def write_digests(folder: Path) -> None:
    """Write the digest of each file of a folder into it, as the last file."""
    digests = {path.name: files.sha256(path) for path in sorted(folder.iterdir())}
    files.write_json(folder / DIGESTS, digests)


def check_digests(folder: Path, *, stage: str) -> None:
    """Make sure that each file of a folder is as its stage has written it.

    Raises:
        NmtError: naming the first that is missing or was altered, and the stage that makes it.
    """
    for name, digest in files.read_json(folder / DIGESTS).items():
        path = folder / name
        if not path.is_file() or files.sha256(path) != digest:
            reason = "was altered since it was written" if path.is_file() else "is missing"
            raise NmtError(f"{path} {reason}; the {stage} stage makes it: make repro")

"""What makes one training the same training as another: its settings, data and code."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from nmt_core import files
from nmt_core.config import Config
from stages import paths


def fingerprint(settings: Iterable[Config], stage: str, *, pipeline: Path = paths.PIPELINE) -> str:
    """Return a digest of a stage's settings and of all that dvc.yaml says it depends on.

    Checkpoints are kept under it: whoever changes a setting, the data or the code starts anew, and
    who changes nothing continues.
    """
    entry = yaml.safe_load(pipeline.read_text(encoding="utf-8"))["stages"][stage]
    contents = {path.as_posix(): files.sha256(path) for path in sorted(every_file(entry["deps"]))}
    document = json.dumps(
        [*(section.model_dump(mode="json") for section in settings), contents], sort_keys=True
    )
    return hashlib.sha256(document.encode()).hexdigest()[:16]


def every_file(places: Iterable[str]) -> Iterator[Path]:
    """Yield the files at and below the given places, leaving Python's caches out."""
    for place in map(Path, places):
        found = place.rglob("*") if place.is_dir() else [place]
        yield from (path for path in found if path.is_file() and "__pycache__" not in path.parts)

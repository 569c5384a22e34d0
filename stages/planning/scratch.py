"""Scratch projects: the real stages on a part of the text, in a folder to be thrown away."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from nmt_core.base import config, files
from nmt_core.base.errors import CorpusError, NmtError
from nmt_core.base.random import make_generator
from stages import paths
from stages.runtime.usage import Recorded, Usage
from stages.tracking.journal import Entry

LINKED = (Path("stages"), Path("nmt_core"), paths.PIPELINE, paths.VECTORS, paths.INITIAL_MODEL)
"""Code, of which a fingerprint is made, and what the stages read beside the corpus."""

OF_RUNS = ("DVC_", "NMT_", "MLFLOW_TRACKING", "MLFLOW_RUN", "MLFLOW_REGISTRY", "TORCHELASTIC")
"""How variables begin that would tie a calibration to a run, or to a server."""

SEED = 1
"""Draws the part of the text; nothing but a prediction depends on it."""


def count_pairs(corpus: Path) -> dict[str, int]:
    """Return how many pairs each split of a corpus has.

    Raises:
        CorpusError: if there is no corpus, or a split of it is empty.
    """
    try:
        found: dict[str, int] = files.read_json(corpus / "corpus.json")["pairs"]
    except (OSError, ValueError, KeyError, TypeError):
        found = {}
    if missing := [split for split in paths.SPLITS if not found.get(split)]:
        raise CorpusError(
            f"{corpus} holds no {' and no '.join(missing)} pairs, without which nothing can be "
            f"predicted; bring more text, or a greater share of it (download.split): "
            f"dvc repro download"
        )
    return found


def draw_rows(total: int, count: int, split: str) -> list[int]:
    """Return ``count`` of ``total`` line numbers in order; a smaller draw is part of a larger."""
    drawn = make_generator(SEED, "planning", split).permutation(total)[:count]
    return [int(row) for row in np.sort(drawn)]


def write_sample(corpus: Path, folder: Path, counts: Mapping[str, int]) -> None:
    """Write so many pairs of some splits to a folder, and link what it lacks of the corpus."""
    pairs = count_pairs(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(corpus.iterdir()):
        here, split = folder / path.name, path.name.partition(".")[0]
        if split in counts:
            here.unlink(missing_ok=True)
        if split in counts and counts[split] < pairs[split]:
            rows = set(draw_rows(pairs[split], counts[split], split))
            kept = (line for row, line in enumerate(files.read_lines(path)) if row in rows)
            files.write_lines(here, kept)
        elif not here.exists():
            here.symlink_to(path.absolute())


@dataclass(frozen=True)
class Scratch:
    """A folder in which stages find all that they need."""

    folder: Path
    settings: Mapping[str, Any]
    """What params.yaml holds."""

    @classmethod
    def make(
        cls, folder: Path, settings: Mapping[str, Any], counts: Mapping[str, int]
    ) -> "Scratch":
        """Make the folder, with the code and so many pairs of some splits of the corpus."""
        write_sample(paths.CORPUS, folder / paths.CORPUS, counts)
        (folder / paths.METRICS).mkdir()
        for place in (*LINKED, paths.METRICS / "download.json"):
            if place.exists():
                (folder / place).symlink_to(place.absolute())
        if paths.MLFLOW.exists():  # or a run has to make one, too
            shutil.copy(paths.MLFLOW, folder / paths.MLFLOW.name)
        return cls(folder, settings)

    def run(self, stage: str, changes: Mapping[str, Any]) -> Usage:
        """Run a stage with some settings changed; return what it took.

        Raises:
            NmtError: if it fails, saying why.
        """
        settings = change_settings(self.settings, changes)
        files.write_text(self.folder / paths.PARAMS, yaml.safe_dump(settings, allow_unicode=True))
        own = {name: text for name, text in os.environ.items() if not name.startswith(OF_RUNS)}
        own["MLFLOW_TRACKING_URI"] = f"sqlite:///{(self.folder / paths.MLFLOW.name).absolute()}"
        log, used = self.folder / "log.txt", self.folder / paths.USAGE / f"{stage}.json"
        used.unlink(missing_ok=True)
        with (
            log.open("wb") as said,
            subprocess.Popen(
                [sys.executable, "-u", "-m", f"stages.{stage}"],
                cwd=self.folder,
                env=own,
                stdout=said,
                stderr=said,
            ) as process,
        ):
            try:
                process.wait()
            except BaseException:
                process.terminate()
                raise
        if process.returncode or not used.exists():
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise NmtError(
                f"the {stage} stage fails on a part of the text, so that nothing can be predicted: "
                f"{lines[-1] if lines else f'exit code {process.returncode}'}"
            )
        return config.build(Recorded, files.read_json(used), at=str(used))

    def read_journal(self) -> list[Entry]:
        """Return what the only training here was told to remember."""
        [journal] = self.folder.glob("runs/*/journal.jsonl")
        return [json.loads(line) for line in files.read_lines(journal)]

    def count_kept_bytes(self, stage: str) -> int:
        """Return the bytes of what DVC keeps of a stage, in its cache, too."""
        entry = yaml.safe_load(paths.PIPELINE.read_text(encoding="utf-8"))["stages"][stage]
        return sum(measure_folder(self.folder / place) for place in entry["outs"])


def measure_folder(folder: Path) -> int:
    """Return the bytes of all files below a folder, or of a file; links count nothing."""
    if folder.is_file():
        return folder.stat().st_size
    inside = (Path(place) / name for place, _, names in os.walk(folder) for name in names)
    return sum(path.stat().st_size for path in inside if not path.is_symlink())


def change_settings(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with other values at some dotted places."""
    changed = deepcopy(dict(settings))
    for place, value in changes.items():
        *parents, last = place.split(".")
        section = changed
        for name in parents:
            section = section[name]
        section[last] = value
    return changed

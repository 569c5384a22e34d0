"""Scratch projects: the real stages on a part of the text, in a folder to be thrown away."""

import json
import os
import shutil
import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import accumulate
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

LINKED = (
    *(Path("stages"), Path("nmt_core"), paths.PIPELINE),
    *(paths.WEIGHTS, paths.TAGS, paths.MONOLINGUAL, paths.VECTORS, paths.INITIAL_MODEL),
)
"""Code, which fingerprints need, and inputs of the stages beside the corpus."""

OF_RUNS = ("DVC_", "NMT_", "MLFLOW_TRACKING", "MLFLOW_RUN", "MLFLOW_REGISTRY", "TORCHELASTIC")
"""Prefixes of variables that would tie a calibration to a run or to a server."""

DESCRIBED = "corpus.json"
"""In the folder of a corpus: what it holds."""

SEED = 1
"""Draws the part of the text; nothing but a prediction depends on it."""


def count_pairs(corpus: Path) -> dict[str, int]:
    """Count the pairs of each split of a corpus.

    Raises:
        CorpusError: if there is no corpus, or a split of it is empty.
    """
    try:
        counts: dict[str, int] = files.read_json(corpus / "corpus.json")["pairs"]
    except (OSError, ValueError, KeyError, TypeError):
        counts = {}
    if missing := [split for split in paths.SPLITS if not counts.get(split)]:
        raise CorpusError(
            f"{corpus} holds no {' and no '.join(missing)} pairs, without which nothing can be "
            f"predicted; bring more text, or a greater share of it (download.split)"
        )
    return counts


def draw_rows(total: int, count: int, split: str) -> list[int]:
    """Return ``count`` of ``total`` line numbers in order; a smaller draw is part of a larger."""
    drawn = make_generator(SEED, "planning", split).permutation(total)[:count]
    return [int(row) for row in np.sort(drawn)]


def write_sample(corpus: Path, folder: Path, counts: Mapping[str, int]) -> None:
    """Write a sample of some splits to a folder, and link the rest of the corpus."""
    pairs = count_pairs(corpus)
    rows = {
        split: draw_rows(pairs[split], count, split)
        for split, count in counts.items()
        if count < pairs[split]
    }
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(corpus.iterdir()):
        target, split = folder / path.name, path.name.partition(".")[0]
        if split in counts:
            target.unlink(missing_ok=True)
        if path.name == DESCRIBED:
            before = files.read_json(target if target.exists() else path)
            files.write_json(target, describe_sample(files.read_json(path), before, counts, rows))
        elif split in rows:
            chosen = set(rows[split])
            sampled = (line for row, line in enumerate(files.read_lines(path)) if row in chosen)
            files.write_lines(target, sampled)
        elif not target.exists():
            target.symlink_to(path.absolute())


def describe_sample(
    whole: dict[str, Any],
    before: dict[str, Any],
    counts: Mapping[str, int],
    rows: Mapping[str, list[int]],
) -> dict[str, Any]:
    """Return the description of the sample of a corpus.

    Args:
        whole: the description of all of it.
        before: that of the sample before.
        counts: pairs of the splits that are drawn anew.
        rows: those drawn, of the splits that are not taken whole.
    """
    corpora = [dict(corpus) for corpus in before["corpora"]]
    for split in counts:
        sizes = [corpus[split] for corpus in whole["corpora"]]
        ends = list(accumulate(sizes))
        taken = Counter(bisect_right(ends, row) for row in rows.get(split, ()))
        for place, corpus in enumerate(corpora):
            corpus[split] = taken[place] if split in rows else sizes[place]
    return whole | {"corpora": corpora}


@dataclass(frozen=True)
class Scratch:
    """A scratch project with all inputs of the stages."""

    folder: Path
    settings: Mapping[str, Any]
    """The content of params.yaml."""

    @classmethod
    def make(
        cls, folder: Path, settings: Mapping[str, Any], counts: Mapping[str, int]
    ) -> "Scratch":
        """Make the folder, with the code and a sample of some splits of the corpus."""
        write_sample(paths.CORPUS, folder / paths.CORPUS, counts)
        (folder / paths.REPORTS).mkdir()
        for path in (*LINKED, paths.REPORTS / "download.json"):
            if path.exists():
                (folder / path).symlink_to(path.absolute())
        if paths.MLFLOW.exists():  # or a run has to make one, too
            shutil.copy(paths.MLFLOW, folder / paths.MLFLOW.name)
        return cls(folder, settings)

    def run(self, stage: str, changes: Mapping[str, Any]) -> Usage:
        """Run a stage with some settings changed; return its usage.

        Raises:
            NmtError: if it fails, with the reason.
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
        """Return the journal of the only training here."""
        journals = self.folder.glob("runs/*/journal.jsonl")
        journal = min(journals, key=lambda path: len(path.parent.name))  # others add their own
        return [json.loads(line) for line in files.read_lines(journal)]

    def count_kept_bytes(self, stage: str) -> int:
        """Return the bytes of a stage's outputs, which DVC's cache keeps, too."""
        entry = yaml.safe_load(paths.PIPELINE.read_text(encoding="utf-8"))["stages"][stage]
        return sum(measure_folder(self.folder / out) for out in entry["outs"])


def measure_folder(folder: Path) -> int:
    """Return the bytes of all files below a folder, or of a file; links count nothing."""
    if folder.is_file():
        return folder.stat().st_size
    inside = (Path(parent) / name for parent, _, names in os.walk(folder) for name in names)
    return sum(path.stat().st_size for path in inside if not path.is_symlink())


def change_settings(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with other values at some dotted places."""
    changed = deepcopy(dict(settings))
    for path, value in changes.items():
        *parents, last = path.split(".")
        section = changed
        for name in parents:
            section = section[name]
        section[last] = value
    return changed

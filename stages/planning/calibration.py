"""Calibration: train on a sample of the text for some seconds, and extrapolate to all of it."""

import json
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from rich.console import Console

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from stages import paths
from stages.configure.compose import apply_changes
from stages.planning.scratch import prepare_folder, run_in
from stages.runtime.reliability import CONFIDENCE_SENTENCES

STAGES = ("tokenize", "vocabulary", "embeddings", "shard", "train")
"""Stages that are measured; evaluation and export translate, as validations do."""

SAMPLE = {"train": 10_000, "validation": 128, "test": 128}
"""Maximum number of sampled pairs of each split."""

SECONDS = 60.0
"""Longest calibration wanted; a quarter of it goes to updates."""

MARGIN = 1.5
"""Factor by which the time of the stages other than training may differ, each way."""

SEARCHED = 0.3
"""Minimum share of search time that a trained model needs; the calibrated one hardly learns, so
its searches run to their length limits."""

BUSY = 0.5
"""Share of this machine's processor time below which other programs are mentioned."""


class Range(NamedTuple):
    """A figure between its lowest and highest value."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """Geometric mean."""
        return float((self.low * self.high) ** 0.5)


class Calibration(NamedTuple):
    """Measurements on this machine; tokens are target tokens."""

    others: Range
    """Seconds of all stages except download and training, on the whole text."""
    start_seconds: float
    """Training time outside updates and validations."""
    validation_seconds: Range
    """Time of one validation and its checkpoint."""
    tokens_per_second: Range
    """From the slowest to the fastest measurement."""
    tokens_per_update: float
    tokens_per_pass: float
    memory_bytes: int
    """Peak of a training process."""
    share: float
    """Share of the spent processor time that the calibration used."""

    @property
    def load(self) -> str:
        """Note on other programs; empty on a quiet machine."""
        taken = f"other programs take {1 - self.share:.0%} of this machine's processor time"
        return taken if self.share < BUSY else ""


def count_pairs(corpus: Path) -> dict[str, int]:
    """Count the pairs of each split.

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


def calibrate(settings: dict[str, Any], seconds: float = SECONDS) -> Calibration:
    """Run the stages up to training on a sample, in a temporary folder.

    Updates take a quarter of ``seconds``, at least 6; starting the stages takes about 15 more.

    Raises:
        CorpusError: if there is no corpus.
        NmtError: if a stage fails.
    """
    pairs = count_pairs(paths.CORPUS)
    sizes = {split: min(pairs[split], most) for split, most in SAMPLE.items()}
    scale = pairs["train"] / sizes["train"]
    validated = min(settings["train"]["training"]["validation_sentences"], pairs["validation"])
    compared = min(settings["export"]["engine_sentences"], pairs["validation"])
    updating = max(6.0, min(seconds, SECONDS) / 4)  # validations are 5 seconds apart
    changes = [
        "workers.dask=null",
        f"workers.chunk_lines={max(1, int(settings['workers']['chunk_lines'] / scale))}",
        f"train.budget={{steps:null,epochs:null,tokens:null,seconds:{updating}}}",
        "train.training.validate_every=1000000000",
        f"train.training.validation_sentences={min(validated, sizes['validation'])}",
        "train.schedule.learning_rate=1e-9",
    ]
    Console(stderr=True).print("calibrating: training on a sample for less than a minute")
    paths.RUNS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="plan-", dir=paths.RUNS) as name:
        folder = Path(name)
        prepare_folder(folder, apply_changes(settings, changes), sizes)
        began, _ = time.monotonic(), psutil.cpu_percent()
        usages = {stage: run_in(folder, stage) for stage in STAGES}
        spent = psutil.cpu_percent() / 100 * (psutil.cpu_count() or 1) * (time.monotonic() - began)
        points = read_validations(folder)
        shards = files.read_json(folder / paths.REPORTS / "shard.json")
    speeds = [(b[1] - a[1]) / max(b[2] - a[2], 1e-9) for a, b in pairwise(points)]
    speeds = speeds[1:] or speeds  # the first updates are slower
    steps, tokens, updating, ended = points[-1]
    took = ended - points[0][3]
    validation = max(0.0, took - updating) / (len(points) - 1)
    validation *= validated / min(validated, sizes["validation"])
    start = max(0.0, usages["train"].seconds - took)
    translated = pairs["test"] + settings["evaluate"]["behaviour"]["lines"]
    translated += min(pairs["validation"], CONFIDENCE_SENTENCES)
    translated += compared * len(settings["export"]["engines"])
    searches = translated * validation / validated
    fixed = 2 * start + scale * sum(usages[name].seconds for name in STAGES[:-1])
    return Calibration(
        others=Range((fixed + SEARCHED * searches) / MARGIN, (fixed + searches) * MARGIN),
        start_seconds=start,
        validation_seconds=Range(SEARCHED * validation, validation),
        tokens_per_second=Range(min(speeds), max(speeds)),
        tokens_per_update=tokens / steps,
        tokens_per_pass=scale * (shards["train_target_tokens"] + shards["train_pairs"]),
        memory_bytes=usages["train"].memory_bytes,
        share=min(1.0, sum(used.processor_seconds for used in usages.values()) / max(spent, 1e-9)),
    )


def read_validations(folder: Path) -> list[tuple[int, int, float, float]]:
    """Return updates, target tokens, seconds of updates and the clock at start and validations."""
    [journal] = folder.glob("runs/*/journal.jsonl")
    entries = [json.loads(line) for line in files.read_lines(journal)]
    points = [(0, 0, 0.0, entries[0]["milliseconds"] / 1000)]
    for entry in entries:
        if "validation/loss" in (values := entry.get("values", {})):
            tokens, seconds = values["train/target_tokens"], values["train/seconds"]
            points.append((entry["step"], tokens, seconds, entry["milliseconds"] / 1000))
    return points

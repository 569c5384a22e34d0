"""Calibration: short runs of the real stages on this machine; nothing is predicted here."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from nmt_core.base import files
from nmt_core.base.parallel.jobs import WorkersConfig, count_processes
from stages import paths
from stages.params import SECTIONS, TrainParams
from stages.planning.scratch import Scratch, count_pairs, measure_folder, write_sample
from stages.runtime.reliability import CONFIDENCE_SENTENCES
from stages.runtime.usage import Usage
from stages.tokenize import make_jobs
from stages.tracking.journal import Entry

STAGES = [name for name in SECTIONS if name not in ("download", "workers", "promotion")]
"""All stages but the first, which fetches the text."""

DATA_STAGES = STAGES[: STAGES.index("train")]

PAIRS = 20_000
"""Of train, that are read at most; half as many, too, where there are more."""

SENTENCES = (8, 128)
"""Sentences to translate: few, for the fixed costs, and some, for the cost of each."""

VALIDATION_SENTENCES = 256
"""That a validation translates at most."""

SHORT = {
    "train.budget": {"seconds": 10.0},
    "train.training.validate_every": 10**9,
    "train.schedule.learning_rate": 1e-9,
}
"""Settings of a training that validates after five seconds of updates, and at its end.

Its model stays as it was drawn and ends hardly any sentence of itself, so that searches go to their
limits, and take as long as they ever do."""


@dataclass(frozen=True)
class Sample:
    """Usage of a stage for a part of its work."""

    items: int
    """Pairs of train, or sentences that are translated."""
    usage: Usage
    disk_bytes: int
    """That it wrote, and that DVC copies."""


@dataclass(frozen=True)
class Training:
    """Speed of a short training."""

    start_seconds: float
    """Without updates and validations."""
    validation_seconds: float
    """Of a validation of all its sentences, each translated to its limit, and its checkpoint."""
    tokens_per_second: float
    """Target tokens, as below, while updates are made."""
    tokens_per_update: float
    tokens_per_pass: float
    """Over the whole text."""


@dataclass(frozen=True)
class Calibration:
    """Measurements of this machine."""

    samples: Mapping[str, Sequence[Sample]]
    """By stage, the smallest part first; of training there is one."""
    whole: Mapping[str, int]
    """Items of the whole, by stage but for training."""
    training: Training
    processes: int
    """That share the work of the data stages."""
    share: float
    """Of the processor time that this machine spent meanwhile; other programs took the rest."""


def calibrate(
    settings: Mapping[str, Any],
    train: TrainParams,
    workers: WorkersConfig,
    folder: Path,
    seconds: float = math.inf,
) -> Calibration:
    """Run every stage but the first on parts of the text, in a folder to be thrown away.

    Each stage runs once at least; it runs again, to tell its start from its work, while there is
    time left of the given seconds.

    Raises:
        CorpusError: if there is no corpus.
        NmtError: if a stage fails.
    """
    pairs, say = count_pairs(paths.CORPUS), Console(stderr=True).print
    began, _ = time.monotonic(), psutil.cpu_percent()
    jobs = make_jobs(paths.CORPUS, paths.TOKENIZER, workers.chunk_lines)
    processes = max(1, count_processes(jobs, workers))
    compared = min(pairs["validation"], settings["export"]["engine_sentences"])
    whole = dict.fromkeys(DATA_STAGES, pairs["train"])
    whole |= {"evaluate": pairs["test"], "export": compared}
    samples: dict[str, list[Sample]] = {name: [] for name in STAGES}
    for size in [PAIRS // 2, PAIRS] if pairs["train"] > PAIRS else [pairs["train"]]:
        if samples["shard"] and time.monotonic() - began > seconds / 4:
            break
        say(f"{', '.join(DATA_STAGES)}: {size:,} pairs")
        lines = max(1, workers.chunk_lines * size // pairs["train"])  # a process has its share
        shared = {"processes": processes, "dask": None, "chunk_lines": lines}
        own = {**settings, "workers": shared}
        scratch = Scratch.make(folder / f"{size}-pairs", own, {"train": size})
        for stage in DATA_STAGES:
            samples[stage].append(run_sample(scratch, stage, size))
    size = samples[DATA_STAGES[0]][-1].items
    say("train: some seconds of updates")
    sample, training = measure_training(scratch, train, pairs["train"] / size)
    samples["train"].append(sample)
    say("evaluate, export: a few sentences")
    counts_of_sentences = SENTENCES if time.monotonic() - began < seconds / 2 else SENTENCES[1:]
    for stage in ("evaluate", "export"):
        for sentences in sorted({min(whole[stage], count) for count in counts_of_sentences}):
            counts = {"test": sentences, "validation": 0 if stage == "evaluate" else compared}
            write_sample(paths.CORPUS, scratch.folder / paths.CORPUS, counts)
            changes: dict[str, Any] = {"export.engine_sentences": sentences}
            changes |= {"evaluate.behaviour.lines": 0}
            changes |= {"export.glossary": None}  # no scratch project has it
            samples[stage].append(run_sample(scratch, stage, sentences, changes))
    again = settings["evaluate"]["behaviour"]["lines"] + min(
        pairs["validation"], CONFIDENCE_SENTENCES
    )
    whole["evaluate"] += again  # translated beside the test set
    used = sum(measured.usage.processor_seconds for each in samples.values() for measured in each)
    spent = psutil.cpu_percent() / 100 * (psutil.cpu_count() or 1) * (time.monotonic() - began)
    return Calibration(samples, whole, training, processes, min(1.0, used / max(spent, 1e-9)))


def run_sample(
    scratch: Scratch, stage: str, items: int, changes: Mapping[str, Any] | None = None
) -> Sample:
    """Run a stage in a scratch project."""
    before = measure_folder(scratch.folder)
    usage = scratch.run(stage, changes or {})
    written = max(0, measure_folder(scratch.folder) - before)
    return Sample(items, usage, written + scratch.count_kept_bytes(stage))


def measure_training(
    scratch: Scratch, params: TrainParams, times: float
) -> tuple[Sample, Training]:
    """Train for some seconds on shards; the whole text is ``times`` as large."""
    wanted = params.training.validation_sentences
    sentences = min(wanted, VALIDATION_SENTENCES)
    changes = {**SHORT, "train.training.validation_sentences": sentences}
    sample = run_sample(scratch, "train", sentences, changes)
    points = read_validations(scratch.read_journal())
    if points[1:] == points[-1:]:  # one checkpoint, of which a longer training keeps two
        again = measure_folder(scratch.folder / paths.CHECKPOINTS)
        sample = replace(sample, disk_bytes=sample.disk_bytes + again)
    (_, tokens_before, seconds_before, began), (steps, tokens, seconds, ended) = points[-2:]
    updating = seconds - seconds_before
    validating = max(0.0, ended - began - updating)
    outside = sample.usage.seconds - seconds
    read = files.read_json(scratch.folder / paths.REPORTS / "shard.json")
    return sample, Training(
        start_seconds=max(0.0, outside - validating * (len(points) - 1)),
        validation_seconds=validating * wanted / sentences,
        tokens_per_second=(tokens - tokens_before) / max(updating, 1e-9),
        tokens_per_update=tokens / steps,
        tokens_per_pass=times * (read["train_target_tokens"] + read["train_pairs"]),  # their ends
    )


def read_validations(journal: Sequence[Entry]) -> list[tuple[int, int, float, float]]:
    """Return where a training began and where it was when it had validated.

    That is updates, target tokens, seconds of updates, and seconds since 1970.
    """
    points = [(0, 0, 0.0, journal[0]["milliseconds"] / 1000)]
    for entry in journal:
        if "validation/loss" in (values := entry.get("values", {})):
            tokens, seconds = values["train/target_tokens"], values["train/seconds"]
            points.append((entry["step"], tokens, seconds, entry["milliseconds"] / 1000))
    return points

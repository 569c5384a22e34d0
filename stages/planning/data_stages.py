"""What the data stages take, from raw text to shards, for one or two parts of the text."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

from nmt_core.base.errors import NmtError
from nmt_core.base.parallel.jobs import WorkersConfig
from stages import paths
from stages.params import SECTIONS
from stages.planning.costs import Cost
from stages.planning.measuring import measure_folder
from stages.planning.sampling import write_sample
from stages.planning.scratch import Scratch

PAIRS = 20_000
"""Of train, that are read at most; half as many, too, where there are more."""

STAGES = tuple(takewhile(lambda stage: stage != "train", list(SECTIONS)[1:]))
"""Those between download and training."""


@dataclass(frozen=True)
class Sample:
    """What a stage took for some of what it has to do."""

    items: int
    """Pairs of train, of a data stage; sentences, of one that translates."""
    cost: Cost
    memory_bytes: int
    """At most, of the largest of its processes."""
    disk_bytes: int
    """That it wrote, and that DVC copies."""


@dataclass
class DataStages:
    """What was measured, by stage, the smallest part first."""

    samples: dict[str, list[Sample]] = field(default_factory=lambda: {s: [] for s in STAGES})
    """A tokenizer's learning is not in them where ``learning`` has it."""
    learning: list[Sample] = field(default_factory=list)
    """What it took apart, as it does not grow with the text; none where the whole was read."""
    left: Scratch | None = None
    """What they made of the larger part."""


def choose_sizes(pairs: int) -> list[int]:
    """Return of how many pairs the parts are, the smallest first: all of them where they are few.

    What is measured is then what is predicted; otherwise the second size says how it grows.
    """
    return [pairs] if pairs <= PAIRS else [PAIRS // 2, PAIRS]


def share_workers(workers: WorkersConfig, *, part: float, processes: int) -> dict[str, Any]:
    """Return settings by which so many processes share a part of the work as they do the whole.

    Args:
        workers: of the whole.
        part: share of the pairs, from 0 to 1.
        processes: that share the whole.
    """
    return {
        "processes": max(1, processes),
        "dask": None,
        "chunk_lines": max(1, round(workers.chunk_lines * part)),
    }


def measure_data_stages(
    folder: Path,
    settings: Mapping[str, Any],
    workers: WorkersConfig,
    *,
    pairs: int,
    processes: int,
    say: Callable[[str], object],
) -> DataStages:
    """Run the stages on parts of the text.

    Args:
        folder: takes a project for each.
        settings: what params.yaml holds.
        workers: of these.
        pairs: of train, in all.
        processes: that share the work on all of them.
        say: is told what is measured.

    Raises:
        NmtError: if a stage fails.
    """
    found = DataStages()
    sizes = choose_sizes(pairs)
    learns = len(sizes) > 1 and settings["tokenize"]["kind"] == "sentencepiece"
    tokenizer: Path | None = None
    for size in reversed(sizes):
        say(f"{', '.join(STAGES)}: {size:,} pairs")
        shared = share_workers(workers, part=size / pairs, processes=processes)
        own = {**settings, "workers": shared}
        scratch = _make(folder / f"data-{size}", own, size)
        if learns:
            taught = _make(folder / f"learnt-{size}", own, size)
            with suppress(*([NmtError] if tokenizer else [])):  # too little text for its pieces
                found.learning.insert(0, run_sample(taught, "tokenize", size))
            tokenizer = tokenizer or taught.folder / paths.TOKENIZER
            scratch.link_as(paths.INITIAL_MODEL / "tokenizer", tokenizer)
        for stage in STAGES:
            changes = {"tokenize.kind": "initial_model"} if learns and stage == "tokenize" else {}
            found.samples[stage].insert(0, run_sample(scratch, stage, size, changes))
        found.left = found.left or scratch
    if learns:
        found.learning = [*_subtract(found.learning, found.samples["tokenize"])]
    return found


def run_sample(
    scratch: Scratch, stage: str, items: int, changes: Mapping[str, Any] | None = None
) -> Sample:
    """Run a stage on what lies in a scratch project."""
    before = measure_folder(scratch.folder)
    measured = scratch.run(stage, changes)
    written = measure_folder(scratch.folder) - before
    kept = sum(measure_folder(scratch.folder / place) for place in list_outputs(stage))
    return Sample(items, measured.cost, measured.memory_bytes, written + kept)


def list_outputs(stage: str) -> list[str]:
    """Return what DVC keeps of a stage, in its cache, beside what lies in the project."""
    entry = yaml.safe_load(paths.PIPELINE.read_text(encoding="utf-8"))["stages"][stage]
    return [str(place) for place in entry["outs"]]


def _make(folder: Path, settings: Mapping[str, Any], size: int) -> Scratch:
    scratch = Scratch.make(folder, settings)
    write_sample(paths.CORPUS, folder / paths.CORPUS, {"train": size})
    scratch.link(paths.VECTORS, paths.METRICS / "download.json")
    if paths.INITIAL_MODEL.exists():
        for path in paths.INITIAL_MODEL.iterdir():
            scratch.link(path)
    return scratch


def _subtract(learnt: list[Sample], applied: list[Sample]) -> Iterator[Sample]:
    """Yield what learning took beyond cutting the same text."""
    cut = {sample.items: sample for sample in applied}
    for one in learnt:
        yield Sample(one.items, one.cost - cut[one.items].cost, one.memory_bytes, 0)

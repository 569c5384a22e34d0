"""Of what there is too little: a budget for the text, memory, or room on the disk."""

import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from nmt_core.base.progress import format_duration
from nmt_core.training.schedule import CosineRestarts, InverseSquareRoot
from stages.params import TrainParams
from stages.planning.prediction import Plan, PredictedTraining
from stages.planning.words import describe_bytes


@dataclass(frozen=True)
class Room:
    """What this machine has left now."""

    memory_bytes: int
    disk_bytes: int

    @classmethod
    def find(cls, folder: Path = Path()) -> "Room":
        """Return the memory that programs may have, and the free bytes of a folder's disk."""
        return cls(psutil.virtual_memory().available, shutil.disk_usage(folder).free)


def find_shortages(
    plan: Plan, params: TrainParams, room: Room, *, chosen: bool = False
) -> list[str]:
    """Return a sentence for each thing of which there is too little.

    A budget is too small for its text where not all of that is read once: pairs that nobody reads
    teach nothing, and the time would be better spent on a smaller model (``conf/auto.yaml``). It is
    too small for its schedule where the learning rate does not come to the end of its first rise,
    or first cycle. ``chosen`` tells that the model is the one that MODEL=auto chooses, which is
    then no advice.
    """
    return [*_of_budget(plan.training, params, chosen=chosen), *_of_machine(plan, room)]


def _of_budget(training: PredictedTraining, params: TrainParams, *, chosen: bool) -> Iterator[str]:
    more = f"raise train.budget.{training.limit}"
    fitting = "" if chosen else ", or let MODEL=auto choose a model that fits"
    if training.passes < 1:
        pass_seconds = training.tokens_per_pass / training.tokens_per_second
        read = math.floor(100 * training.passes)
        yield (
            f"the budget is too small for the text, of which it reads {read} %: one "
            f"pass takes {training.tokens_per_pass:,} target tokens, "
            f"{format_duration(pass_seconds)} of updates; {more}{fitting}"
        )
    needed = count_needed(params)
    if training.updates < needed:
        yield (
            f"the budget is too small for train.schedule, which begins with {needed:,} updates, "
            f"of {training.updates:,} in all; {more}, or shorten that"
        )


def count_needed(params: TrainParams) -> int:
    """Return how many updates a schedule takes that does not follow the budget, at least."""
    match params.schedule:
        case InverseSquareRoot(warmup_steps=steps) | CosineRestarts(first_steps=steps):
            return steps
    return 0


def _of_machine(plan: Plan, room: Room) -> Iterator[str]:
    largest = max(plan.stages, key=lambda name: plan.stages[name].memory_bytes)
    needed = plan.stages[largest].memory_bytes
    if needed > room.memory_bytes:
        yield (
            f"memory is too small: {largest} needs {describe_bytes(needed)}, of which "
            f"{describe_bytes(room.memory_bytes)} are free; end other programs, or lower the "
            f"sizes of that stage"
        )
    if plan.total.disk_bytes > room.disk_bytes:
        yield (
            f"the disk is too small: the run writes {describe_bytes(plan.total.disk_bytes)}, and "
            f"{describe_bytes(room.disk_bytes)} are free; make room"
        )

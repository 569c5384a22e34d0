"""Shortages: a budget too small for the text, memory, or disk space."""

import math
from collections.abc import Iterator

from nmt_core.base.progress import format_duration
from nmt_core.training.schedule import CosineRestarts, InverseSquareRoot
from stages.params import TrainParams
from stages.planning.prediction import Plan


def find_shortages(
    plan: Plan, params: TrainParams, *, memory: int, disk: int, chosen: bool
) -> Iterator[str]:
    """Yield a sentence for each shortage.

    A budget is too small for its text if not all of it is read once: unread pairs teach nothing,
    and the time would be better spent on a smaller model (``conf/auto.yaml``). It is too small for
    its schedule if the learning rate does not reach the end of its first rise, or first cycle.
    ``memory`` and ``disk`` are free bytes. ``chosen`` means that MODEL=auto has chosen the model,
    so that it is no advice.
    """
    training = plan.training
    more = f"raise train.budget.{training.limit}"
    fitting = "" if chosen else ", or let MODEL=auto choose a model that fits"
    if (passes := training.passes.middle) < 1:
        pass_seconds = training.tokens_per_pass / training.tokens_per_second.middle
        yield (
            f"the budget is too small for the text, of which it reads about "
            f"{math.floor(100 * passes)} %: one pass takes {training.tokens_per_pass:,} target "
            f"tokens, {format_duration(pass_seconds)} of updates; {more}{fitting}"
        )
    match params.schedule:
        case InverseSquareRoot(warmup_steps=steps) | CosineRestarts(first_steps=steps):
            if (updates := training.updates.middle) < steps:
                yield (
                    f"the budget is too small for train.schedule, which begins with {steps:,} "
                    f"updates, of {updates:,.0f} in all; {more}, or shorten that"
                )
    largest = max(plan.stages, key=lambda name: plan.stages[name].memory_bytes)
    held, written = plan.total.memory_bytes, plan.total.disk_bytes
    if held > memory:
        yield (
            f"memory may be too small: {largest} needs up to {held / 1e9:.2f} GB, of which "
            f"{memory / 1e9:.2f} are free; end other programs, or lower the sizes of that stage"
        )
    if written > disk:
        yield (
            f"the disk may be too small: the run writes up to {written / 1e9:.2f} GB, and "
            f"{disk / 1e9:.2f} are free; make room"
        )

"""Predict the time of a run from a calibration, and warn of shortages."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from nmt_core.base.progress import format_duration
from nmt_core.training.schedule import CosineRestarts, InverseSquareRoot
from stages.params import TrainParams
from stages.planning.calibration import Calibration, Range

GROWTH = 1.6
"""Maximum factor by which the memory of a training grows after its first seconds."""


class Plan(NamedTuple):
    """Predicted training; an upper limit, because patience may end it earlier."""

    seconds: Range
    updates: Range
    limit: str
    """The limit of the budget that is reached first."""
    passes: Range
    memory_bytes: float


def predict(calibration: Calibration, params: TrainParams) -> Plan:
    """Predict a training at the slowest and the fastest measured speed."""
    a_pass, each = calibration.tokens_per_pass, calibration.tokens_per_update
    budget, seconds, updates = params.budget, [], []
    validations = reversed(calibration.validation_seconds)
    for speed, validation in zip(calibration.tokens_per_second, validations, strict=True):
        limits = {
            "steps": budget.steps,
            "epochs": budget.epochs and budget.epochs * a_pass / each,
            "tokens": budget.tokens and budget.tokens / each,
            "seconds": budget.seconds and budget.seconds * speed / each,
        }
        count, limit = min((most, name) for name, most in limits.items() if most is not None)
        updates.append(max(1, math.ceil(count - 1e-9)))
        every = min(params.training.validate_every, budget.validation_seconds * speed / each)
        validating = math.ceil(updates[-1] / every) * validation
        seconds.append(calibration.start_seconds + updates[-1] * each / speed + validating)
    return Plan(
        seconds=Range(*reversed(seconds)),
        updates=Range(*updates),
        limit=limit,
        passes=Range(*(count * each / a_pass for count in updates)),
        memory_bytes=params.compute.processes * calibration.memory_bytes * GROWTH,
    )


def describe_plan(plan: Plan, calibration: Calibration) -> str:
    """Return the lines that ``make plan`` prints."""
    return (
        f"training: {describe(plan.seconds, format_duration)}, "
        f"{describe(calibration.tokens_per_second)} target tokens a second, "
        f"up to {plan.memory_bytes / 2**30:.2g} GiB of memory\n"
        f"updates: {describe(plan.updates)} of about {calibration.tokens_per_update:,.0f} target "
        f"tokens, {describe(plan.passes, '{:.2g}'.format)} passes over the text\n"
        f"other stages: {describe(calibration.others, format_duration)}"
    )


def describe(figure: Range, show: Callable[[float], str] = "{:,.0f}".format) -> str:
    """Return a range in words, each end to two digits, or one figure if it is known exactly."""
    if figure.low == figure.high:
        return show(figure.low)
    low, high = (show(float(f"{end:.2g}")) for end in figure)
    return low if low == high else f"{low} to {high}"


def find_shortages(
    plan: Plan, calibration: Calibration, params: TrainParams, *, memory: int, chosen: bool
) -> Iterator[str]:
    """Yield a sentence for each shortage, and one if the machine is busy.

    A budget is too small if it does not read all text once, or if the learning rate does not reach
    the end of its warm-up or first cycle. ``memory`` is the number of free bytes; ``chosen`` means
    that MODEL=auto has chosen the model, so that it is not advised.
    """
    more = f"raise train.budget.{plan.limit}"
    if (passes := plan.passes.middle) < 1:
        a_pass = round(calibration.tokens_per_pass)
        seconds = format_duration(a_pass / calibration.tokens_per_second.middle)
        fitting = "" if chosen else ", or let MODEL=auto choose a model that fits"
        yield (
            f"the budget is too small for the text, of which it reads about "
            f"{math.floor(100 * passes)} %: one pass takes {a_pass:,} target tokens, {seconds} of "
            f"updates; {more}{fitting}"
        )
    match params.schedule:
        case InverseSquareRoot(warmup_steps=steps) | CosineRestarts(first_steps=steps):
            if (updates := plan.updates.middle) < steps:
                yield (
                    f"the budget is too small for train.schedule, which begins with {steps:,} "
                    f"updates, of {updates:,.0f} in all; {more}, or shorten that"
                )
    if plan.memory_bytes > memory:
        yield (
            f"memory may be too small: training needs up to {plan.memory_bytes / 1e9:.2f} GB, of "
            f"which {memory / 1e9:.2f} are free; end other programs, or lower its sizes"
        )
    if calibration.load:
        yield calibration.load

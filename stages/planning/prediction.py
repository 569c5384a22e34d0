"""Predict ranges of a run's time and memory from a calibration."""

import math
from collections.abc import Sequence

from nmt_core.base.config import Config
from stages.params import TrainParams
from stages.planning.calibration import DATA_STAGES, STAGES, Calibration
from stages.planning.updates import expect_updates

MARGIN = 1.3
"""Factor between two runs of the same work."""

BEYOND = 2.0
"""Factor of extrapolation from a part of the text to the whole."""

GROWTH = 1.6
"""Factor by which the memory of a training grows at most after its first seconds."""

SEARCHED = 0.3
"""Least share of a search's time to its limits that a search to the ends of sentences takes."""


class Range(Config):
    """A figure that is not known exactly, from its lowest to its highest value."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def middle(self) -> float:
        """As many times more than the lowest as the highest is more."""
        return float((self.low * self.high) ** 0.5)


class Prediction(Config):
    """Predicted usage of a stage."""

    seconds: Range
    """By the clock."""
    memory_bytes: float
    """At most, of all of its processes side by side, each as large as the largest."""
    disk_bytes: float
    """At most, in the project and in DVC's cache."""


class PredictedTraining(Config):
    """Steps and tokens of a training's budget, at most: patience may end it before."""

    updates: Range
    passes: Range
    """Over the training text."""
    limit: str
    """The limit of the budget that is reached first."""
    tokens_per_update: float
    """Target tokens, as below."""
    tokens_per_second: Range
    """While updates are made."""
    tokens_per_pass: int
    first_validation: Range
    """Seconds after the start."""


class Plan(Config):
    """Predicted usage of a run."""

    settings: str
    """Digest of the settings that it is of."""
    stages: dict[str, Prediction]
    """Of all stages but the first, which has run."""
    training: PredictedTraining

    @property
    def total(self) -> Prediction:
        """All stages, one after the other."""
        each = list(self.stages.values())
        ends = {end: sum(getattr(stage.seconds, end) for stage in each) for end in ("low", "high")}
        return Prediction(
            seconds=Range(**ends),
            memory_bytes=max(stage.memory_bytes for stage in each),
            disk_bytes=sum(stage.disk_bytes for stage in each),
        )


def predict(calibration: Calibration, params: TrainParams, *, settings: str) -> Plan:
    """Predict all stages but the first on the whole text; ``settings`` is a digest."""
    taken, training = predict_training(calibration, params)
    stages = {
        name: taken if name == "train" else predict_stage(name, calibration) for name in STAGES
    }
    return Plan(settings=settings, stages=stages, training=training)


def fit_line(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Return a and b of the line a + b n through the first value and the last, neither below 0.

    For a single size it goes through 0, so that more work is never predicted to take as long.
    """
    last, rise, run = values[-1], values[-1] - values[0], sizes[-1] - sizes[0]
    each = min(max(0.0, rise / run) if run else math.inf, last / sizes[-1])
    return last - each * sizes[-1], each


def predict_stage(name: str, calibration: Calibration) -> Prediction:
    """Predict a stage other than training; its seconds grow as its processor seconds do.

    The clock also counts other programs, now more and now less. The memory of a stage that
    translates is that of a batch, for any number of sentences.
    """
    samples, items = calibration.samples[name], calibration.whole[name]
    sizes, searches = [sample.items for sample in samples], name not in DATA_STAGES
    factor = BEYOND if items > sizes[-1] and not searches else MARGIN
    used = [sample.usage.processor_seconds for sample in samples]
    slowness = sum(sample.usage.seconds for sample in samples) / max(sum(used), 1e-9)
    reached = sizes[-1] if searches else items
    processes = 1 if searches else calibration.processes
    start, each = fit_line(sizes, [slowness * seconds for seconds in used])
    memory, more = fit_line(sizes, [sample.usage.memory_bytes for sample in samples])
    disk, more_disk = fit_line(sizes, [sample.disk_bytes for sample in samples])
    least = start + each * items * (SEARCHED if searches else 1.0)
    return Prediction(
        seconds=Range(low=least * calibration.share / factor, high=(start + each * items) * factor),
        memory_bytes=(memory + more * reached) * processes * factor,
        disk_bytes=(disk + more_disk * reached) * factor,
    )


def predict_training(
    calibration: Calibration, params: TrainParams
) -> tuple[Prediction, PredictedTraining]:
    """Predict a training and its budget, at its slowest and at its fastest."""
    measured, quick = calibration.training, calibration.share / MARGIN
    [sample] = calibration.samples["train"]
    each, a_pass = measured.tokens_per_update, measured.tokens_per_pass
    speed = Range(
        low=measured.tokens_per_second / MARGIN,
        high=measured.tokens_per_second / quick,
    )
    slow, fast = (
        expect_updates(params, tokens_per_update=each, tokens_per_pass=a_pass, speed=rate)
        for rate in (speed.low, speed.high)
    )
    start, validation = measured.start_seconds, measured.validation_seconds
    least = quick * (start + SEARCHED * validation * len(slow.validations))
    most = MARGIN * (start + validation * len(fast.validations))
    taken = Prediction(
        seconds=Range(
            low=least + fast.updates * each / speed.high,
            high=most + slow.updates * each / speed.low,
        ),
        memory_bytes=params.compute.processes * sample.usage.memory_bytes * GROWTH,
        disk_bytes=sample.disk_bytes * MARGIN,
    )
    return taken, PredictedTraining(
        updates=Range(low=slow.updates, high=fast.updates),
        passes=Range(low=slow.updates * each / a_pass, high=fast.updates * each / a_pass),
        limit=slow.limit,
        tokens_per_update=each,
        tokens_per_second=speed,
        tokens_per_pass=round(a_pass),
        first_validation=Range(
            low=quick * start + fast.validations[0] * each / speed.high,
            high=MARGIN * start + slow.validations[0] * each / speed.low,
        ),
    )

"""What training takes: to begin and end, for an update, and for a validation."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from stages import paths
from stages.params import TrainParams
from stages.planning.costs import Cost, Logarithm, fit_logarithm
from stages.planning.lengths import Lengths
from stages.planning.measuring import Measurement, measure_folder
from stages.planning.scratch import Scratch
from stages.tracking.journal import Entry

FIRST_STEPS = 3
"""Updates of the run that is there for its beginning and its end."""

SECONDS, MOST_SECONDS = 10.0, 30.0
"""Of the updates whose speed is measured."""

LEAST_STEPS = 40
"""Updates from which can be seen how memory grows, where they take no longer than that."""

POINTS = 4
"""Of the curve in that run; what is before the first counts nothing, for it is slower."""

MOST_STEPS = 2000

NAMES = (SPEED, LOSS) = ("train/tokens_per_second", "validation/loss")
"""By which entries of a journal are known: points of the curve, and a validation."""

INPUTS = (Path("data"), paths.METRICS)
"""What stages before have left."""

SENTENCES = 192
"""That validation translates at most: three batches."""

STILL = 1e-9
"""The learning rate. A model that stays as it was drawn hardly ever ends a sentence of itself, so
that searches go to their limits: what they take is then known by the number of steps."""


@dataclass(frozen=True)
class Training:
    """What was measured."""

    start: Cost
    """Of a training without updates and validations."""
    token: Cost
    """Of a target token that is trained on."""
    loss: Cost
    """Of a validation and its checkpoint, but for the translations."""
    sentence: Cost
    """Of a validation sentence, translated to its limit."""
    sentences: int
    """That each validation translates."""
    memory: Logarithm
    """Of the largest process, in bytes, by updates."""
    disk_bytes: int
    """Of the trained model and what else stays for good."""
    checkpoint_bytes: int
    """Of a checkpoint with its best model."""

    @property
    def speed(self) -> float:
        """Target tokens a second, while updates are made."""
        return 1 / max(self.token.seconds, 1e-12)


@dataclass(frozen=True)
class Curve:
    """The points of a training, and what came after the last."""

    times: list[float]
    """When each came, in seconds since 1970."""
    tokens: list[float]
    """Target tokens since the point before."""
    validated: float
    """When the only validation had ended."""
    saved: float
    """When its checkpoint was written."""


def measure_training(
    scratch: Scratch, params: TrainParams, lengths: Lengths
) -> tuple[Training, Scratch]:
    """Train twice for a short time, with a model that stays as it was drawn.

    Args:
        scratch: a project with shards.
        params: how is trained.
        lengths: of the pairs in the shards.

    Returns:
        What was measured, and the project with the model.

    Raises:
        NmtError: if training fails.
    """
    begun = scratch.beside("begun", *INPUTS)
    short = begun.run("train", choose_changes(FIRST_STEPS, points=FIRST_STEPS, sentences=1))
    first = read_curve(begun.read_journal())
    update = short.between(first.times[0], first.times[-1]) * (1 / (FIRST_STEPS - 1))
    sentences = min(params.training.validation_sentences, SENTENCES)
    going = scratch.beside("going", *INPUTS)
    steps = choose_steps(update.seconds)
    changes = choose_changes(steps, points=POINTS, sentences=sentences)
    long = going.run("train", changes, tracked=False)
    curve = read_curve(going.read_journal())
    token = long.between(curve.times[0], curve.times[-1]) * (1 / sum(curve.tokens[1:]))
    translated = long.between(curve.times[-1], curve.validated)
    translated -= short.between(first.times[-1], first.validated)
    loss = short.between(first.times[-1], first.saved)
    checkpoints = measure_folder(going.folder / "checkpoints")
    measured = Training(
        start=short.cost - loss - token * sum(first.tokens),
        token=token,
        loss=loss,
        sentence=translated * (1 / sentences),
        sentences=min(params.training.validation_sentences, lengths.validation_pairs),
        memory=fit_memory(curve.times, steps, long),
        disk_bytes=measure_folder(going.folder / paths.TRAINED),
        checkpoint_bytes=checkpoints,
    )
    return measured, going


def fit_memory(times: Sequence[float], steps: int, measured: Measurement) -> Logarithm:
    """Return how memory grows with updates, which at the last point were ``steps``.

    At that point it is as much as was ever held, the validation after it included.
    """
    held = [measured.memory_at(time) for time in times]
    held[-1] = max(held[-1], float(measured.memory_bytes))
    return fit_logarithm([steps * (n + 1) / len(times) for n in range(len(times))], held)


def choose_steps(update_seconds: float) -> int:
    """Return how many updates to measure, as many between any two points."""
    seconds = max(SECONDS, min(LEAST_STEPS * update_seconds, MOST_SECONDS))
    each = round(seconds / max(update_seconds, 1e-9) / POINTS)
    return POINTS * min(max(1, each), MOST_STEPS // POINTS)


def choose_changes(steps: int, *, points: int, sentences: int) -> dict[str, Any]:
    """Return settings of a training of so many updates, which validates once, at its end.

    Args:
        steps: updates, a multiple of ``points``.
        points: of the training curve.
        sentences: that validation translates.
    """
    return {
        "train.budget": {"steps": steps},
        "train.schedule.learning_rate": STILL,
        "train.training.validate_every": steps,
        "train.training.log_every": steps // points,
        "train.training.validation_sentences": sentences,
    }


def read_curve(journal: Sequence[Entry]) -> Curve:
    """Return what a journal says of when a training was how far."""
    of = {name: [entry for entry in journal if name in entry.get("values", {})] for name in NAMES}
    seconds = [0.0, *(entry["values"]["train/seconds"] for entry in of[SPEED])]
    [validated], [ended] = of[LOSS], [entry for entry in journal if entry["kind"] == "end"]
    return Curve(
        times=[entry["milliseconds"] / 1000 for entry in of[SPEED]],
        tokens=[
            entry["values"][SPEED] * (until - since)
            for entry, (since, until) in zip(of[SPEED], pairwise(seconds), strict=True)
        ],
        validated=validated["milliseconds"] / 1000,
        saved=ended["milliseconds"] / 1000,
    )

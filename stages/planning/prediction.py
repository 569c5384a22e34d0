"""What a run takes, from what was measured: functions of numbers alone."""

from collections.abc import Mapping, Sequence

from nmt_core.base.config import Config
from stages.params import ExportParams, TokenizeParams, TrainParams
from stages.planning.calibration import Calibration
from stages.planning.costs import Cost, fit_cost, fit_line, fit_power
from stages.planning.data_stages import Sample
from stages.planning.lengths import Lengths, share_lost
from stages.planning.training import Training
from stages.planning.updates import Expected, expect_updates, list_validations

CHECKPOINTS = 2
"""That training keeps, each with its best model."""

TRANSLATING = {"evaluate": "test", "export": "validation"}
"""Which split a stage translates."""


class Prediction(Config):
    """What a stage will take."""

    seconds: float
    """By the clock."""
    processor_seconds: float
    memory_bytes: int
    """At most, of all of its processes side by side, each as large as the largest."""
    disk_bytes: int
    """In the project and, of what DVC keeps, in its cache."""


class PredictedTraining(Config):
    """What a training's budget comes to, at most: patience may end it before."""

    updates: int
    target_tokens: int
    passes: float
    """Over the training text."""
    limit: str
    """Which limit of the budget is reached first."""
    tokens_per_second: float
    """Target tokens, while updates are made."""
    tokens_per_pass: int
    validations: int


class Plan(Config):
    """What a run was predicted to take."""

    settings: str
    """Digest of the settings that it is of."""
    stages: dict[str, Prediction]
    """Of all stages but the first, which has run."""
    training: PredictedTraining

    @property
    def total(self) -> Prediction:
        """All stages, one after the other."""
        each = self.stages.values()
        return Prediction(
            seconds=sum(one.seconds for one in each),
            processor_seconds=sum(one.processor_seconds for one in each),
            memory_bytes=max(one.memory_bytes for one in each),
            disk_bytes=sum(one.disk_bytes for one in each),
        )


def predict(calibration: Calibration, sections: Mapping[str, Config], *, settings: str) -> Plan:
    """Return what all stages but the first take on the whole text.

    Args:
        calibration: what parts of it took.
        sections: all settings.
        settings: their digest.
    """
    tokenize, train, export = (sections[name] for name in ("tokenize", "train", "export"))
    assert isinstance(tokenize, TokenizeParams)
    assert isinstance(train, TrainParams)
    assert isinstance(export, ExportParams)
    pairs, stages = calibration.pairs["train"], {}
    for stage, samples in calibration.stages.items():
        if split := TRANSLATING.get(stage):
            most = export.engine_sentences if stage == "export" else calibration.pairs[split]
            items = min(calibration.pairs[split], most)
            translated = predict_stage(samples, items, cores=calibration.cores)
            held = max(sample.memory_bytes for sample in samples)  # a batch, however many there are
            stages[stage] = translated.model_copy(update={"memory_bytes": held})
        else:
            stages[stage] = predict_stage(samples, pairs, processes=calibration.processes)
    if calibration.learning:
        lines = count_learnt_pairs(tokenize, pairs)
        stages["tokenize"] = add_learning(stages["tokenize"], calibration.learning, lines)
    lengths, speed = calibration.lengths, calibration.training.speed
    epoch = lengths.epoch.grown(pairs / lengths.read)
    expected = expect_updates(train.budget, epoch, speed)
    stages["train"] = predict_training(calibration.training, train, expected, lengths)
    return Plan(
        settings=settings,
        stages={name: stages[name] for name in sections if name in stages},
        training=PredictedTraining(
            **vars(expected),
            tokens_per_second=speed,
            tokens_per_pass=round(epoch.target_tokens),
            validations=len(foresee_validations(train, expected, speed)),
        ),
    )


def predict_stage(
    samples: Sequence[Sample], items: int, *, processes: int = 1, cores: int = 1
) -> Prediction:
    """Return what a stage takes that grows along a line with what it has to do.

    Args:
        samples: what it took for less.
        items: what there is to do.
        processes: that share it.
        cores: on which each of them computes.
    """
    sizes = [sample.items for sample in samples]

    def at_all(values: list[float]) -> float:
        return fit_line(sizes, values).at(items)

    clock, processor = fit_cost(sizes, [one.cost for one in samples], cores=processes * cores)
    return Prediction(
        seconds=clock.at(items),
        processor_seconds=processor.at(items),
        memory_bytes=round(processes * at_all([float(one.memory_bytes) for one in samples])),
        disk_bytes=round(at_all([float(one.disk_bytes) for one in samples])),
    )


def count_learnt_pairs(params: TokenizeParams, pairs: int) -> int:
    """Return of how many pairs SentencePiece reads at least one side."""
    most = params.subwords.max_lines
    return min(pairs, max(1, most // 2) if params.subwords.joint else most)


def add_learning(applied: Prediction, learning: Sequence[Sample], pairs: int) -> Prediction:
    """Return what a stage takes that also learns a tokenizer, from so many pairs."""
    sizes = [sample.items for sample in learning]

    total = sum((one.cost for one in learning), Cost())
    learnt = fit_power(sizes, [one.cost.processor_seconds for one in learning]).at(pairs)
    slowness = total.seconds / max(total.processor_seconds, 1e-9)
    memory = fit_line(sizes, [float(one.memory_bytes) for one in learning]).at(pairs)
    return Prediction(
        seconds=applied.seconds + learnt * slowness,
        processor_seconds=applied.processor_seconds + learnt,
        memory_bytes=max(applied.memory_bytes, round(memory)),
        disk_bytes=applied.disk_bytes,
    )


def foresee_validations(params: TrainParams, expected: Expected, speed: float) -> list[int]:
    """Return after which updates is validated, at a speed in target tokens a second."""
    every = params.training.validate_every
    return list_validations(expected, every, params.budget, tokens_per_second=speed)


def predict_training(
    measured: Training, params: TrainParams, expected: Expected, lengths: Lengths
) -> Prediction:
    """Return what a training takes: its beginning and end, its updates, and its validations."""
    validations = foresee_validations(params, expected, measured.speed)
    found = lengths.greedy_share
    lost = [share_lost(updates) for updates in validations]
    sentences = measured.sentences * sum(one + (1 - one) * found for one in lost)
    cost: Cost = (
        measured.start
        + measured.token * expected.target_tokens
        + measured.loss * len(validations)
        + measured.sentence * sentences
    )
    kept = min(len(validations), CHECKPOINTS) * measured.checkpoint_bytes
    return Prediction(
        seconds=cost.seconds,
        processor_seconds=cost.processor_seconds,
        memory_bytes=round(params.compute.processes * measured.memory.at(expected.updates)),
        disk_bytes=2 * measured.disk_bytes + kept,
    )

"""The run of an evaluation: settings of search and export with their scores, below a training."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nmt_core.base import files
from nmt_core.training.progress import CurvePoint, Point
from stages import paths
from stages.configure.sections import read_settings
from stages.params import TrainParams, load
from stages.reporting.evaluation import Evaluation, flatten
from stages.runtime.fingerprint import hash_json
from stages.tracking.journal import PARENT, Journal
from stages.tracking.run_metadata import (
    DVC_EXPERIMENT,
    UP_TO_TRAINING,
    describe_dataset,
    describe_run,
    read_public_params,
    read_public_settings,
)
from stages.tracking.tracker import MlflowTracker, open_tracker

SECTIONS = ("evaluate", "export")
"""Sections of params.yaml that distinguish evaluations of one training."""


def name_evaluation(training: str, settings: Mapping[str, Any]) -> str:
    """Return the fingerprint of an evaluation.

    Args:
        training: fingerprint of the training.
        settings: content of params.yaml.
    """
    return f"{training}-{hash_json([settings[name] for name in SECTIONS])[:8]}"


def is_experiment() -> bool:
    """Tell whether ``dvc exp run`` runs this stage."""
    return DVC_EXPERIMENT in os.environ


@contextmanager
def open_evaluation(training: str) -> Iterator[MlflowTracker]:
    """Open the run of the current evaluation, or continue it; ``training`` is the fingerprint."""
    fingerprint = name_evaluation(training, read_settings())
    name = os.environ.get(DVC_EXPERIMENT, f"evaluation {fingerprint[-8:]}")
    tags = {"mlflow.runName": name, PARENT: training}
    with open_tracker(fingerprint, experiment=paths.EXPERIMENT, tags=tags) as tracker:
        tracker.params(read_public_settings(*SECTIONS))
        yield tracker


@contextmanager
def open_training(training: str) -> Iterator[MlflowTracker]:
    """Open the run of a training again."""
    if not Journal(training).path.exists():
        restore_journal(training)
    with open_tracker(training, experiment=paths.EXPERIMENT) as tracker:
        yield tracker


def record_inputs(tracker: MlflowTracker) -> None:
    """Record the text and the settings of a training."""
    for split in ("train", "validation"):
        tracker.dataset(describe_dataset(split))
    tracker.params(read_public_settings(*UP_TO_TRAINING))
    tracker.text("params.yaml", read_public_params())


def restore_journal(training: str) -> None:
    """Write the journal of a pulled training from the record of its model.

    MLflow has no point twice: those of the machine that trained have the same values.
    """
    record = files.read_json(paths.TRAINED / "training.json")
    tags = describe_run(load(TrainParams, "train"))
    with open_tracker(training, experiment=paths.EXPERIMENT, enabled=False, tags=tags) as tracker:
        record_inputs(tracker)
        for point in map(CurvePoint.model_validate, record["curve"]):
            rates = {"train/loss": point.loss, "train/learning_rate": point.learning_rate}
            tracker.metrics(rates, step=point.step)
        for validated in map(Point.model_validate, record["history"]):
            tracker.metrics(validated.measures(), step=validated.step)


def show_scores(training: str, scores: Mapping[str, float]) -> None:
    """Show scores of an evaluation in the run of its training, too.

    Those of an experiment are shown if the training has no others.
    """
    with open_training(training) as tracker:
        if not is_experiment() or all(Journal(training).last(name) is None for name in scores):
            tracker.metrics(scores, step=0)


def list_numbers(evaluation: Evaluation) -> dict[str, float]:
    """Return the numbers of an evaluation under the names by which MLflow shows them."""
    values = evaluation.dump()
    numbers = {name: value for name, value in values.items() if isinstance(value, int | float)}
    if novel := evaluation.novel:
        parts = {"sentences": novel.sentences, **flatten(novel.scores)}
        numbers |= {f"novel_{name}": value for name, value in parts.items()}
    model = evaluation.confidence.model
    if model and (reliability := model.reliability):
        numbers["confidence_area"] = reliability.area
        numbers["confidence_calibration_error"] = reliability.error
    return {f"test_{name}": value for name, value in numbers.items()}

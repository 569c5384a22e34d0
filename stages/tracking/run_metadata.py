"""Metadata of trainings and evaluations in MLflow: names, settings, digests and scores."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

import yaml

from nmt_core.base import files
from nmt_core.corpora.fetch.address import redact_url
from stages import paths
from stages.configure.sections import read_settings
from stages.params import SECTIONS, DownloadParams, TrainParams, load
from stages.reporting.evaluation import Evaluation
from stages.runtime.fingerprint import hash_json
from stages.runtime.git import COMMIT, collect_provenance
from stages.tracking.journal import PARENT, Journal
from stages.tracking.tracker import MlflowTracker, open_tracker

DVC_EXPERIMENT = "DVC_EXP_NAME"
"""Environment variable with the name of the experiment, which ``dvc exp run`` sets."""

COMPARISON_VARIABLE = "NMT_COMPARISON"
"""Environment variable with the fingerprint of the comparison, for its experiments."""

UP_TO_TRAINING = tuple(takewhile(lambda name: name != "evaluate", SECTIONS))
"""Sections of params.yaml that affect a trained model."""


def describe_run(params: TrainParams) -> dict[str, str]:
    """Return the tags of a training's run: its name, its languages and a digest of its text."""
    languages = load(DownloadParams, "download").languages
    pair = f"{languages.source}-{languages.target}"
    corpus = files.read_json(paths.CORPUS / "corpus.json")
    facts = [
        f"{pair} {params.model.architecture}",
        f"{corpus['pairs']['train']:,} pairs",
        *(f"{n:,} {unit}" for unit, n in params.budget.model_dump(exclude_none=True).items()),
        f"seed {params.seed}",
        collect_provenance().get(COMMIT, "")[:7],
    ]
    comparison = os.environ.get(COMPARISON_VARIABLE)
    return {
        "languages": pair,
        "text_sha256": hash_json(corpus["sha256"]),
        "mlflow.runName": os.environ.get(DVC_EXPERIMENT) or ", ".join(filter(None, facts)),
        **({PARENT: comparison} if comparison else {}),
        "mlflow.source.name": "stages.train",
        "mlflow.source.type": "LOCAL",
    }


def read_public_settings(*sections: str) -> dict[str, object]:
    """Return sections of params.yaml by dotted name, without secrets in URLs."""
    document = _public(read_settings())
    return dict(_flat({section: document[section] for section in sections}))


def read_public_params() -> str:
    """Return all settings as YAML, without secrets in URLs."""
    document = _public(read_settings())
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _public(value: Any) -> Any:
    match value:
        case dict():
            return {name: _public(inner) for name, inner in value.items()}
        case list():
            return [_public(inner) for inner in value]
        case str() if value.startswith(("http://", "https://")) and {"@", "?"} & {*value}:
            return redact_url(value)
    return value


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


EVALUATION_SECTIONS = ("evaluate", "export")
"""Sections of params.yaml that distinguish evaluations of one training."""


def name_evaluation(training: str, settings: Mapping[str, Any]) -> str:
    """Return the fingerprint of an evaluation, from its training's fingerprint and all settings."""
    return f"{training}-{hash_json([settings[name] for name in EVALUATION_SECTIONS])[:8]}"


def is_experiment() -> bool:
    """Tell whether ``dvc exp run`` runs this stage."""
    return DVC_EXPERIMENT in os.environ


@contextmanager
def open_evaluation(training: str) -> Iterator[MlflowTracker]:
    """Open or continue the run of the current evaluation; ``training`` is a fingerprint."""
    fingerprint = name_evaluation(training, read_settings())
    name = os.environ.get(DVC_EXPERIMENT, f"evaluation {fingerprint[-8:]}")
    tags = {"mlflow.runName": name, PARENT: training}
    with open_tracker(fingerprint, tags=tags) as tracker:
        tracker.params(read_public_settings(*EVALUATION_SECTIONS))
        yield tracker


def record_inputs(tracker: MlflowTracker) -> None:
    """Record the settings that affect a training."""
    tracker.params(read_public_settings(*UP_TO_TRAINING))
    tracker.text("params.yaml", read_public_params())


def show_scores(training: str, scores: Mapping[str, float]) -> None:
    """Record scores of an evaluation in the run of its training, too.

    Scores of an experiment are recorded only if the training has no scores yet.
    """
    with open_tracker(training) as tracker:
        if not is_experiment() or all(Journal(training).last(name) is None for name in scores):
            tracker.metrics(scores, step=0)


def list_numbers(evaluation: Evaluation) -> dict[str, float]:
    """Return the numbers of an evaluation by their names in MLflow."""
    values = evaluation.dump()
    numbers = {name: value for name, value in values.items() if isinstance(value, int | float)}
    model = evaluation.confidence.model
    if model and (reliability := model.reliability):
        numbers["confidence_area"] = reliability.area
        numbers["confidence_calibration_error"] = reliability.error
    return {f"test_{name}": value for name, value in numbers.items()}

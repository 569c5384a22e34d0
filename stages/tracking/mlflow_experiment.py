"""The project's experiment in MLflow, its list of runs, and the address of that list."""

import json
import logging
from pathlib import Path

from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import (
    MLFLOW_EXPERIMENT_PRIMARY_METRIC_GREATER_IS_BETTER,
    MLFLOW_EXPERIMENT_PRIMARY_METRIC_NAME,
)

from nmt_core.base import files
from nmt_core.evaluation.registered import DEFAULT_METRICS, METRICS
from stages import paths

FINGERPRINT = "nmt.fingerprint"
"""The tag that identifies a run."""

LEADING = DEFAULT_METRICS[0]
"""The metric that models are judged by."""

LIST = "scores"
"""The name of the view in which MLflow lists runs with their scores."""

COLUMNS = {
    "attributes.`Run Name`": 480,
    **{f"metrics.`test_{name}`": 100 for name in DEFAULT_METRICS},
    "metrics.`test_perplexity`": 130,
    f"metrics.`validation/{LEADING}`": 130,
    "attributes.`Models`": 200,
}
"""The first columns of the list, by MLflow's names, with their widths in pixels."""

TAGS = {
    "mlflow.experimentKind": "custom_model_development",
    MLFLOW_EXPERIMENT_PRIMARY_METRIC_NAME: f"test_{LEADING}",
    MLFLOW_EXPERIMENT_PRIMARY_METRIC_GREATER_IS_BETTER: str(METRICS.load(LEADING).higher_is_better),
    f"mlflow.sharedViewState.{LIST}": json.dumps(
        {"selectedColumns": [*COLUMNS], "columnOrder": [*COLUMNS], "columnWidths": COLUMNS}
    ),
}
"""Tags of the experiment: its purpose, its main metric, and the list of runs."""


RUNS_A_REQUEST = 1000

SQLITE = "sqlite:///"

for _name, _level in {
    "alembic": logging.WARNING,
    "mlflow": logging.WARNING,
    "urllib3.connectionpool": logging.ERROR,  # warns before it tries again; we warn once
}.items():
    logging.getLogger(_name).setLevel(_level)


def open_client(uri: str) -> MlflowClient:
    """Return a client of MLflow; if its database is a file, it is complete.

    MLflow takes seconds to make its tables, and a stage does not wait for that at its end: tables
    that are left incomplete would break all later runs.
    """
    if uri.startswith(SQLITE):
        path = Path(uri.removeprefix(SQLITE))
        with files.locked(path.with_name(f"{path.name}.lock")):
            if not path.exists():
                with files.whole_file(path) as part:
                    MlflowClient(f"{SQLITE}{part}").search_experiments()
    return MlflowClient(uri)


def open_experiment(client: MlflowClient, name: str) -> str:
    """Return the number of an experiment, made if need be, that is shown as ``TAGS`` say.

    A database of ours keeps its files beside itself.
    """
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        local = client.tracking_uri.startswith(SQLITE)
        artifacts = str(paths.MLFLOW_FILES.resolve()) if local else None
        try:
            return client.create_experiment(name, artifact_location=artifacts, tags=TAGS)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        return open_experiment(client, name)  # which another run has made at the same moment
    for tag, value in TAGS.items():
        if experiment.tags.get(tag) != value:
            client.set_experiment_tag(experiment.experiment_id, tag, value)
    return experiment.experiment_id


def locate_page(server: str, *, uri: str) -> str:
    """Return the address at which a server's pages list the runs that MLflow has at a URI."""
    experiment = open_experiment(open_client(uri), paths.EXPERIMENT)
    return (
        f"{server}/#/experiments/{experiment}/runs"
        f"?viewStateShareKey={LIST}&workflowType=machine_learning"
    )


def list_fingerprints(uri: str) -> set[str]:
    """Return the fingerprints of the runs in MLflow at a URI."""
    client = open_client(uri)
    experiment = open_experiment(client, paths.EXPERIMENT)
    fingerprints: set[str] = set()
    page = None
    while page != "":
        runs = client.search_runs([experiment], max_results=RUNS_A_REQUEST, page_token=page)
        fingerprints |= {run.data.tags.get(FINGERPRINT, "") for run in runs}
        page = runs.token or ""
    return fingerprints

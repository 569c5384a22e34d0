"""Runs in MLflow and in the journal."""

from mlflow import MlflowClient
from mlflow.entities import Run

from stages import paths
from stages.tracking.journal import Journal
from stages.tracking.tracker import open_tracker


def runs(client: MlflowClient) -> list[Run]:
    experiment = client.get_experiment_by_name(paths.EXPERIMENT)
    return client.search_runs([experiment.experiment_id]) if experiment else []


def only_run(client: MlflowClient) -> Run:
    [run] = runs(client)
    return run


def said(caplog) -> list[str]:
    return [record.message for record in caplog.records if record.name == "stages.tracking.tracker"]


def points(client: MlflowClient, name: str) -> list[tuple[int, float]]:
    return [
        (point.step, point.value)
        for run in runs(client)
        for point in client.get_metric_history(run.info.run_id, name)
    ]


def journaled(name: str) -> list[tuple[int, float]]:
    entries, _ = Journal("f").read()
    return [
        (entry["step"], entry["values"][name])
        for entry in entries
        if entry["kind"] == "metrics" and name in entry["values"]
    ]


def train(first: int, last: int) -> None:
    with open_tracker("f") as tracker:
        tracker.params({"model.width": 512, "model.kind": "transformer", "train.seed": None})
        for step in range(first, last + 1):
            tracker.metrics({"train/loss": 1 / step, "train/norm": step}, step=step)

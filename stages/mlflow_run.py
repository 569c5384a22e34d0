"""A run in MLflow, brought up to date with the entries of its journal.

This and ``stages.registry_model`` are the only files that import mlflow. It takes more than a
second, so ``stages.tracking`` imports this one late, in its thread.
"""

import hashlib
import json
import logging
import warnings
from importlib import metadata
from pathlib import Path

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, Run
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

import nmt_core
from nmt_core import bundle, files
from stages import paths
from stages.journal import BUNDLE_DIGEST, COMPARISON, Entry

FINGERPRINT = "nmt.fingerprint"
"""The tag by which a run is found again."""

METRICS_A_REQUEST = 1000
PARAMS_A_REQUEST = 100

MODEL_CODE = Path(__file__).with_name("registry_model.py")
MODEL_REQUIREMENTS = (
    "jaxtyping",
    "mlflow",
    "numpy",
    "pydantic",
    "safetensors",
    "sentencepiece",
    "spacy",
    "torch",
)
"""What a server of the model installs, in the versions of this environment."""

for _name, _level in {
    "alembic": logging.WARNING,
    "mlflow": logging.WARNING,
    "urllib3.connectionpool": logging.ERROR,  # warns before it tries again; we warn once
}.items():
    logging.getLogger(_name).setLevel(_level)


class MlflowRun:
    """A run in MLflow, and what MLflow knows of it already."""

    def __init__(self, fingerprint: str, entries: list[Entry], *, uri: str) -> None:
        [first, *_] = headers = _of("run", entries)
        warnings.filterwarnings("ignore", module="mlflow", category=UserWarning)
        self._uri = uri
        self._client = client = MlflowClient(uri)
        name = headers[-1]["experiment"]
        experiment = client.get_experiment_by_name(name)
        number = experiment.experiment_id if experiment else _new_experiment(client, name, uri)
        self._experiment = number
        found = self._found(fingerprint)
        run = (
            found[0]
            if found
            else client.create_run(
                number,
                start_time=first["milliseconds"],
                tags={FINGERPRINT: fingerprint},
                run_name=fingerprint[:12],
            )
        )
        self._id = run.info.run_id
        self._status = run.info.status
        self._tags = dict(run.data.tags)
        self._params = dict(run.data.params)
        self._points = {
            (name, point.step, repr(point.value))
            for name in run.data.metrics
            for point in client.get_metric_history(self._id, name)
        }

    def send(self, entries: list[Entry]) -> int:
        """Tell MLflow what it does not know yet; return how many points that were."""
        self._send_tags(entries)
        self._send_params(entries)
        points = self._send_metrics(entries)
        for entry in entries:
            if entry["kind"] == "artifact":
                self._send_files(entry)
            elif entry["kind"] == "model":
                self._send_model(Path(entry["path"]), entry["name"], entry.get("tags", {}))
        self._send_status(entries)
        return points

    def _send_tags(self, entries: list[Entry]) -> None:
        for entry in _of("run", entries)[-1:]:
            for name, value in entry["tags"].items():
                self._tag(name, value)
            for parent in self._found(entry["tags"].get(COMPARISON, "")):
                self._tag(MLFLOW_PARENT_RUN_ID, parent.info.run_id)

    def _found(self, fingerprint: str) -> list[Run]:
        query = f"tags.`{FINGERPRINT}` = '{fingerprint}'"
        return list(self._client.search_runs([self._experiment], query)) if fingerprint else []

    def _send_params(self, entries: list[Entry]) -> None:
        """Send settings; one that has changed, say of an evaluation, is a tag: MLflow's stay."""
        values: dict[str, object] = {}
        for entry in _of("params", entries):
            values |= entry["values"]
        texts = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in values.items()
        }
        fresh = [Param(name, text) for name, text in texts.items() if name not in self._params]
        for start in range(0, len(fresh), PARAMS_A_REQUEST):
            self._client.log_batch(self._id, params=fresh[start : start + PARAMS_A_REQUEST])
        self._params = texts | self._params
        for name, text in texts.items():
            if text != self._tags.get(name, self._params[name]):
                self._tag(name, text)

    def _send_metrics(self, entries: list[Entry]) -> int:
        """Send points, but none that a resumed run has measured before, to the same value."""
        fresh: dict[tuple[str, int, str], Metric] = {}
        for entry in _of("metrics", entries):
            for name, value in entry["values"].items():
                point = (name, entry["step"], repr(value))
                if point not in self._points:
                    metric = Metric(name, value, entry["milliseconds"], entry["step"])
                    fresh.setdefault(point, metric)
        points = list(fresh.values())
        for start in range(0, len(points), METRICS_A_REQUEST):
            self._client.log_batch(self._id, metrics=points[start : start + METRICS_A_REQUEST])
        self._points |= fresh.keys()
        return len(points)

    def _send_files(self, entry: Entry) -> None:
        """Send a file or a folder unless MLflow has it with the same bytes, or it is gone."""
        path = Path(entry["path"])
        if not path.exists():
            return
        digest = _digest(path)
        tag = f"nmt.artifact.{path.name}"
        if self._tags.get(tag) == digest:
            return
        if path.is_dir():
            self._client.log_artifacts(self._id, str(path), path.name)
        else:
            self._client.log_artifact(self._id, str(path))
        self._tag(tag, digest)

    def _send_model(self, folder: Path, name: str, tags: dict[str, str]) -> None:
        """Register an exported model unless MLflow has it, or another one lies there by now."""
        sealed = tags.get(BUNDLE_DIGEST)
        if not (folder / bundle.MANIFEST).exists() or sealed != bundle.digest(folder):
            return
        query = f"name = '{name}' and tags.{BUNDLE_DIGEST} = '{sealed}'"
        if self._client.search_model_versions(query):
            return
        mlflow.set_tracking_uri(self._uri)
        with mlflow.start_run(run_id=self._id):
            mlflow.pyfunc.log_model(
                name=name,
                python_model=str(MODEL_CODE),
                artifacts={"bundle": str(folder)},
                code_paths=[str(Path(nmt_core.__file__).parent)],
                pip_requirements=_requirements(),
                input_example=(["Ein Haus steht am Fluss."], {"beam": 0}),
                registered_model_name=name,
                tags=tags,
            )
        self._status = "FINISHED"  # as start_run leaves it

    def _send_status(self, entries: list[Entry]) -> None:
        turns = [entry for entry in entries if entry["kind"] in ("run", "end")]
        status = turns[-1].get("status", "RUNNING") if turns else self._status
        if status == self._status:
            return
        if status == "RUNNING":
            self._client.update_run(self._id, status)
        else:
            self._client.set_terminated(self._id, status, turns[-1]["milliseconds"])
        self._status = status

    def _tag(self, name: str, value: str) -> None:
        if self._tags.get(name) != value:
            self._client.set_tag(self._id, name, value)
            self._tags[name] = value


def _new_experiment(client: MlflowClient, name: str, uri: str) -> str:
    """Make an experiment, whose files a database of the project keeps beside itself."""
    here = str(paths.MLFLOW_FILES.resolve()) if uri.startswith("sqlite:") else None
    return client.create_experiment(name, artifact_location=here)


def _of(kind: str, entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry["kind"] == kind]


def _digest(path: Path) -> str:
    """Return a digest of a file, or of all files below a folder with their names."""
    if path.is_file():
        return files.sha256(path)
    inside = sorted(file for file in path.rglob("*") if file.is_file())
    listing = [f"{file.relative_to(path)} {files.sha256(file)}" for file in inside]
    return hashlib.sha256("\n".join(listing).encode()).hexdigest()


def _requirements() -> list[str]:
    """Return what the model imports, in our versions, without marks of a local build."""
    versions = {name: metadata.version(name).split("+")[0] for name in MODEL_REQUIREMENTS}
    return [f"{name}=={version}" for name, version in versions.items()]

"""A run in MLflow, updated from the entries of its journal.

Importing mlflow takes more than a second, so ``stages.tracking.tracker`` imports this module late,
in its thread.
"""

import hashlib
import json
import logging
import re
import tomllib
import warnings
from importlib import metadata
from itertools import chain
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile

import mlflow
import psutil
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID, MLFLOW_USER

import nmt_core
from nmt_core.base import files, seal
from nmt_core.base.languages import read_languages
from nmt_core.search.engine import find_program
from nmt_core.translation.loading import DIRECTIONS, list_engines
from stages import paths
from stages.tracking.journal import (
    BUNDLE_DIGEST,
    DESCRIPTION_CHARACTERS,
    PARENT,
    Entry,
    Journal,
)

FINGERPRINT = "nmt.fingerprint"
"""The tag with the fingerprint that identifies a run."""

SQLITE = "sqlite:///"

for _name, _level in {
    "alembic": logging.WARNING,
    "mlflow": logging.WARNING,
    "urllib3.connectionpool": logging.ERROR,  # warns before it tries again; we warn once
}.items():
    logging.getLogger(_name).setLevel(_level)

SENT = "mlflow.nmt.sent."
"""Prefix of hidden tags with the digests of files that MLflow has."""

METRICS_A_REQUEST = 1000
PARAMS_A_REQUEST = 100

MODEL_CODE = Path(__file__).with_name("served_model.py")
PYPROJECT = Path(nmt_core.__file__).parents[1] / "pyproject.toml"
"""The metadata of the project, installed or not."""


class MlflowRun:
    """A run in MLflow, and the entries that MLflow already has."""

    def __init__(self, journal: Journal, entries: list[Entry], *, uri: str) -> None:
        warnings.filterwarnings("ignore", module="mlflow", category=UserWarning)
        self._journal = journal
        self._uri = uri
        self._client = open_client(uri)
        headers = _of("run", entries)
        self._experiment = open_experiment(self._client, headers[-1]["experiment"])
        run = self._open_run(headers[0]["milliseconds"])
        self._id = run.info.run_id
        self._status = run.info.status
        self._tags = dict(run.data.tags)
        self._params = dict(run.data.params)
        self._moments = {
            (name, point.step, repr(point.value), point.timestamp)
            for name in run.data.metrics
            for point in self._client.get_metric_history(self._id, name)
        }
        self._points = {moment[:3] for moment in self._moments}
        self._last: dict[tuple[str, int], str] = {}

    def send(self, entries: list[Entry]) -> int:
        """Send missing entries to MLflow; return the number of points sent."""
        self._send_tags(entries)
        self._send_params(entries)
        points = self._send_metrics(entries)
        self._send_files(entries)
        for entry in _of("model", entries):
            self._send_model(Path(entry["path"]), entry["name"], entry.get("tags", {}))
        self._send_status(entries)
        return points

    def _open_run(self, milliseconds: int) -> Run:
        """Return the run of the journal's fingerprint; the oldest, if two machines made one."""
        fingerprint = self._journal.fingerprint
        if not self._find_runs(FINGERPRINT, fingerprint):
            self._client.create_run(
                self._experiment,
                start_time=milliseconds,
                tags={FINGERPRINT: fingerprint, MLFLOW_USER: psutil.Process().username()},
                run_name=fingerprint[:12],
            )
        runs = self._find_runs(FINGERPRINT, fingerprint)
        return min(runs, key=lambda run: (run.info.start_time, run.info.run_id))

    def _find_runs(self, tag: str, value: str) -> list[Run]:
        return list(self._client.search_runs([self._experiment], f"tags.`{tag}` = '{value}'"))

    def _send_tags(self, entries: list[Entry]) -> None:
        """Send tags, and nest runs below their parents, in whichever order they are sent.

        Each stage that opens the run adds tags; for equal names, the last value counts.
        """
        opened = _of("run", entries)
        if not opened:
            return
        tags = {name: value for entry in opened for name, value in entry["tags"].items()}
        for name, value in tags.items():
            self._tag(name, value)
        if parent_fingerprint := tags.get(PARENT):
            for parent in self._find_runs(FINGERPRINT, parent_fingerprint):
                self._tag(MLFLOW_PARENT_RUN_ID, parent.info.run_id)
        for child in self._find_runs(PARENT, self._journal.fingerprint):
            if child.data.tags.get(MLFLOW_PARENT_RUN_ID) != self._id:
                self._client.set_tag(child.info.run_id, MLFLOW_PARENT_RUN_ID, self._id)

    def _send_params(self, entries: list[Entry]) -> None:
        """Send the first value of each setting, because MLflow's parameters cannot change."""
        fresh: dict[str, str] = {}
        for entry in _of("params", entries):
            for name, value in entry["values"].items():
                if name not in self._params:
                    fresh.setdefault(name, value if isinstance(value, str) else json.dumps(value))
        params = [Param(*setting) for setting in fresh.items()]
        for start in range(0, len(params), PARAMS_A_REQUEST):
            self._client.log_batch(self._id, params=params[start : start + PARAMS_A_REQUEST])
        self._params |= fresh

    def _send_metrics(self, entries: list[Entry]) -> int:
        """Send new points; return their number.

        Repeated values of a resumed run are not new; a value that returns after another one is.
        """
        points = [
            Metric(name, value, entry["milliseconds"], entry["step"])
            for entry in _of("metrics", entries)
            for name, value in entry["values"].items()
            if self._is_fresh(name, entry["step"], repr(value), entry["milliseconds"])
        ]
        for start in range(0, len(points), METRICS_A_REQUEST):
            self._client.log_batch(self._id, metrics=points[start : start + METRICS_A_REQUEST])
        return len(points)

    def _is_fresh(self, name: str, step: int, value: str, milliseconds: int) -> bool:
        """Tell whether MLflow lacks a point, and remember it; points come in journal order."""
        point, before = (name, step, value), self._last.get((name, step))
        is_known = point in self._points
        if before is not None:
            is_known = before == value or (*point, milliseconds) in self._moments
        self._last[name, step] = value
        self._points.add(point)
        self._moments.add((*point, milliseconds))
        return not is_known

    def _send_files(self, entries: list[Entry]) -> None:
        """Send the last file, folder or text of each name, unless MLflow has it."""
        file_entries = [entry for entry in entries if entry["kind"] in ("artifact", "text")]
        for entry in {entry["name"]: entry for entry in file_entries}.values():
            content = {name: value for name, value in entry.items() if name != "milliseconds"}
            digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
            if self._tags.get(SENT + entry["name"]) == digest:
                continue
            if entry["kind"] == "text":
                self._client.log_text(self._id, entry["text"], entry["name"])
            else:
                self._send_artifact(self._journal.folder / entry["path"], entry["name"])
            self._tag(SENT + entry["name"], digest)

    def _send_artifact(self, path: Path, name: str) -> None:
        if path.is_dir():
            self._client.log_artifacts(self._id, str(path), name)
        else:
            folder = PurePosixPath(name).parent
            self._client.log_artifact(
                self._id, str(path), None if folder.name == "" else str(folder)
            )

    def _send_model(self, folder: Path, name: str, tags: dict[str, str]) -> None:
        """Register an exported model unless MLflow has it, or the folder has changed since."""
        sealed = tags.get(BUNDLE_DIGEST)
        if not (folder / seal.MANIFEST).exists() or sealed != seal.digest_bundle(folder):
            return
        versions = self._client.search_model_versions(f"name = '{name}'")
        if any(version.tags.get(BUNDLE_DIGEST) == sealed for version in versions):
            return
        mlflow.set_tracking_uri(self._uri)
        with mlflow.start_run(run_id=self._id), TemporaryDirectory() as scratch:
            logged = mlflow.pyfunc.log_model(
                name=name,
                python_model=str(MODEL_CODE),
                artifacts={"bundle": str(folder)},
                code_paths=[str(_pack_library(Path(scratch)))],
                pip_requirements=list_requirements(folder),
                input_example=(["Ein Haus steht am Fluss."], _make_params(folder)),
                registered_model_name=name,
                tags=tags,
            )
        version = str(logged.registered_model_version)
        card = (folder / "README.md").read_text(encoding="utf-8")
        for_people = re.sub(r"\A---\n.*?\n---\n+", "", card, flags=re.DOTALL)
        self._client.update_model_version(name, version, for_people[:DESCRIPTION_CHARACTERS])
        self._status = "FINISHED"  # as start_run leaves it

    def _send_status(self, entries: list[Entry]) -> None:
        status_entries = [entry for entry in entries if entry["kind"] in ("run", "end")]
        status = status_entries[-1].get("status", "RUNNING") if status_entries else self._status
        if status == self._status:
            return
        if status == "RUNNING":
            self._client.update_run(self._id, status)
        else:
            self._client.set_terminated(self._id, status, status_entries[-1]["milliseconds"])
        self._status = status

    def _tag(self, name: str, value: str) -> None:
        if self._tags.get(name) != value:
            self._client.set_tag(self._id, name, value)
            self._tags[name] = value


def _of(kind: str, entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry["kind"] == kind]


def _pack_library(folder: Path) -> Path:
    """Return a zip file of the library, because MLflow would upload each of its files."""
    library = Path(nmt_core.__file__).parent
    packed = folder / f"{library.name}.zip"
    with ZipFile(packed, "w", ZIP_DEFLATED, strict_timestamps=False) as archive:
        for file in sorted(library.rglob("*.py")):
            archive.write(file, file.relative_to(library.parent))
    return packed


def _make_params(folder: Path) -> dict[str, int | str]:
    """Return an example of the parameters of a request; several directions need a target."""
    params: dict[str, int | str] = {"beam_size": 0, "source": "", "target": ""}
    if (path := folder / DIRECTIONS).exists():
        params["target"] = read_languages(files.read_json(path)[0]["languages"]).target
    return params


def list_requirements(folder: Path) -> list[str]:
    """Return the requirements of an exported model, pinned to the installed versions.

    The project's extras list them. PyTorch is required only if the export has no other engine.
    """
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    programs = (find_program(engine).package for engine in list_engines(folder) or ["torch"])
    kinds = (files.read_json(path)["kind"] for path in folder.glob("tokenizer/*/tokenizer.json"))
    used = {"translate", "glossary", *programs, *kinds}
    extras = (lines for extra, lines in project["optional-dependencies"].items() if extra in used)
    names = {
        re.split(r"[^\w.-]", line, maxsplit=1)[0]
        for line in chain(project["dependencies"], *extras)
    }
    return [f"{name}=={metadata.version(name).partition('+')[0]}" for name in sorted(names)]


def open_client(uri: str) -> MlflowClient:
    """Return a client of MLflow; create a missing database file with all tables first.

    Creating tables takes seconds, and a stage does not wait for them at its end. Incomplete tables
    would break all later runs.
    """
    if uri.startswith(SQLITE):
        path = Path(uri.removeprefix(SQLITE))
        with files.locked(path.with_name(f"{path.name}.lock")):
            if not path.exists():
                with files.whole_file(path) as part:
                    MlflowClient(f"{SQLITE}{part}").search_experiments()
    return MlflowClient(uri)


def open_experiment(client: MlflowClient, name: str) -> str:
    """Return the id of an experiment; create it if it is missing.

    With a SQLite database, artifacts are stored in this checkout.
    """
    experiment = client.get_experiment_by_name(name)
    if experiment is not None:
        return str(experiment.experiment_id)
    local = client.tracking_uri.startswith(SQLITE)
    artifacts = str(paths.MLFLOW_FILES.resolve()) if local else None
    try:
        return str(client.create_experiment(name, artifact_location=artifacts))
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    return open_experiment(client, name)  # another run created it first

"""Tell MLflow what a run measured, without ever making the run wait or fail for it.

Everything is first appended to a journal, ``runs/<fingerprint>/journal.jsonl``, one entry a line::

    {"kind": "run", "experiment": "nmt", "tags": {"git_commit": "..."}, "milliseconds": ...}
    {"kind": "params", "values": {"model.width": 512}, "milliseconds": ...}
    {"kind": "metrics", "values": {"train/loss": 4.2}, "step": 100, "milliseconds": ...}
    {"kind": "artifact", "path": "reports/curves.png", "milliseconds": ...}
    {"kind": "model", "path": "models/export", "name": "nmt-de-en", "tags": {...}, ...}
    {"kind": "end", "status": "FINISHED", "milliseconds": ...}

A thread reads it from the first line on, brings MLflow up to date, and follows what is added. After
its first error it warns once and leaves MLflow alone; whoever opens the run next makes up for it,
and so does ``python -m stages.tracking sync``. A run is found by its fingerprint, so a resumed
training and the stages after it continue the same one.

This file imports no mlflow, which takes more than a second: the thread does, in ``mlflow_run``.
"""

import logging
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_core import files
from nmt_core.errors import NmtError
from stages import paths
from stages.journal import COMPARISON, Journal

if TYPE_CHECKING:
    from stages.mlflow_run import MlflowRun

LOGGER = logging.getLogger(__name__)

CLOSE_SECONDS = 10.0
"""How long a stage waits at its end for MLflow to catch up."""

MODEL_SECONDS = 600.0
"""The same when a model is on its way, which may be gigabytes."""

ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "4",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""Unless the user has set them; MLflow's own defaults wait four minutes for a dead server."""


COMPARISON_VARIABLE = "NMT_COMPARISON"
"""In the environment of a comparison's experiments: its fingerprint."""

EXPERIMENT_TAGS = {"mlflow.runName": "DVC_EXP_NAME", COMPARISON: COMPARISON_VARIABLE}
"""What MLflow calls the run of an experiment and shows it below, by what the environment says."""


class TrackingError(NmtError):
    """MLflow did not take what is in a journal."""


class MlflowTracker:
    """Implements ``nmt_core.tracking.Tracker``: remembers in a journal, forwards to MLflow."""

    def __init__(self, journal: Journal, follower: "_Follower | None") -> None:
        self._journal = journal
        self._follower = follower
        self._patience_seconds = CLOSE_SECONDS
        self._unwarned = threading.Lock()

    def params(self, values: Mapping[str, object]) -> None:
        """Remember settings, flat, by dotted name."""
        self._note("params", values=dict(values))

    def metrics(self, values: Mapping[str, float], *, step: int) -> None:
        """Remember numbers measured at an optimizer step."""
        numbers = {name: float(value) for name, value in values.items()}
        self._note("metrics", values=numbers, step=step)

    def artifact(self, path: Path) -> None:
        """Remember a file or a folder, which must stay as it is until the run is closed."""
        self._note("artifact", path=str(path))

    def model(self, folder: Path, *, name: str, tags: Mapping[str, str]) -> None:
        """Remember an exported model, as a new version of ``name`` unless one holds it.

        ``tags`` describe the version; their ``bundle_sha256`` says which export it was to be.
        """
        self._patience_seconds = MODEL_SECONDS
        self._note("model", path=str(folder), name=name, tags=dict(tags))

    def close(self, status: str) -> None:
        """End the run with one of MLflow's words, and wait a little for MLflow to know."""
        self._note("end", status=status)
        if self._follower is not None:
            self._follower.finish(self._patience_seconds)

    def _note(self, kind: str, **content: Any) -> None:
        try:
            self._journal.append(kind, **content)
        except OSError as error:
            if self._unwarned.acquire(blocking=False):
                LOGGER.warning("%s is not written, the run goes on: %s", self._journal.path, error)
        if self._follower is not None:
            self._follower.wake()


@contextmanager
def open_tracker(
    fingerprint: str,
    *,
    experiment: str,
    enabled: bool = True,
    tags: Mapping[str, str] | None = None,
) -> Iterator[MlflowTracker]:
    """Open the run of a fingerprint, or continue it.

    Args:
        fingerprint: what the run is known by, here and in MLflow; names a folder.
        experiment: name under which MLflow shows it, made if need be.
        enabled: whether to forward to MLflow; the journal is always kept.
        tags: what else to say about the run, beside what it is made from.
    """
    journal = Journal(fingerprint)
    follower = _Follower(journal) if enabled else None
    tracker = MlflowTracker(journal, follower)
    tracker._note("run", experiment=experiment, tags=_provenance() | dict(tags or {}))  # noqa: SLF001 - same module
    if follower is not None:
        follower.start()
    status = "KILLED"
    try:
        yield tracker
        status = "FINISHED"
    except Exception:
        status = "FAILED"
        raise
    finally:
        tracker.close(status)


class _Follower(threading.Thread):
    """Keeps MLflow up to date with a journal, until it is finished or MLflow fails."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(name="mlflow", daemon=True)
        self._journal = journal
        self._uri = tracking_uri()
        self._news = threading.Event()
        self._finished = False
        self._unwarned = threading.Lock()

    def wake(self) -> None:
        """Say that the journal has grown."""
        self._news.set()

    def finish(self, patience_seconds: float) -> None:
        """End with the journal as it is now."""
        self._finished = True
        self.wake()
        self.join(patience_seconds)
        if self.is_alive():
            self._warn(f"no answer for {patience_seconds:.0f} seconds")

    def run(self) -> None:
        try:
            self._follow()
        except Exception as error:  # noqa: BLE001 - a tracker may break nothing
            self._warn(_reason(error))

    def _follow(self) -> None:
        run, offset, _ = _bring_up_to_date(self._journal, self._uri)
        finished = False
        while not finished:
            self._news.wait()
            self._news.clear()
            finished = self._finished
            entries, offset = self._journal.read(offset)
            run.send(entries)

    def _warn(self, reason: str) -> None:
        if self._unwarned.acquire(blocking=False):
            LOGGER.warning(
                "MLflow at %s is left alone (%s); all is in %s, and is sent by: "
                "python -m stages.tracking sync",
                self._uri,
                reason,
                self._journal.path,
            )


def _bring_up_to_date(journal: Journal, uri: str) -> tuple["MlflowRun", int, int]:
    """Return the run, how far the journal was read, and how many points MLflow had not known."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from stages.mlflow_run import MlflowRun  # noqa: PLC0415 - takes more than a second

    entries, offset = journal.read()
    run = MlflowRun(journal.fingerprint, entries, uri=uri)
    return run, offset, run.send(entries)


def tracking_uri() -> str:
    """Return where MLflow is: at MLFLOW_TRACKING_URI, or in a database file of the project."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{paths.MLFLOW.resolve()}"


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _provenance() -> dict[str, str]:
    """Return the tags that say what a run was made from."""
    sources = {"dvc_lock_sha256": paths.LOCK, "params_sha256": paths.PARAMS}
    tags = {name: files.sha256(path) for name, path in sources.items() if path.exists()}
    tags |= {tag: os.environ[name] for tag, name in EXPERIMENT_TAGS.items() if name in os.environ}
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return tags
    others = [f":!{path}" for path in sources.values()]
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *others)
    return tags | {"git_commit": f"{commit}-dirty" if changed else commit}


def _git(*arguments: str) -> str | None:
    """Return what git says, or nothing without git or a repository."""
    try:
        answer = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def _journals() -> None:
    """What runs have told MLflow, and what they could not."""


@app.command()
def sync(
    fingerprints: Annotated[
        list[str] | None, typer.Argument(help="Runs to bring up to date; all without any.")
    ] = None,
) -> None:
    """Send to MLflow what is in the journals and not there yet; again does no harm."""
    known = sorted(path.parent.name for path in paths.RUNS.glob("*/journal.jsonl"))
    for fingerprint in fingerprints or known:
        journal = Journal(fingerprint)
        if not journal.path.exists():
            typer.echo(f"error: there is no {journal.path}", err=True)
            raise typer.Exit(1)
        try:
            points = send(journal)
        except TrackingError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(1) from None
        typer.echo(f"{journal.path}: {points} points were missing in MLflow")


def send(journal: Journal) -> int:
    """Bring MLflow up to date with a journal; return how many points were missing.

    Raises:
        TrackingError: if MLflow cannot be reached, or does not do as it is told.
    """
    uri = tracking_uri()
    try:
        _, _, points = _bring_up_to_date(journal, uri)
    except Exception as error:  # noqa: BLE001 - whatever a remote service may raise
        raise TrackingError(f"MLflow at {uri}: {_reason(error)}") from None
    return points


if __name__ == "__main__":
    app()

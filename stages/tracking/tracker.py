"""Track a run in MLflow; the run neither waits for MLflow nor fails because of it.

Entries are first appended to a journal, ``runs/<fingerprint>/journal.jsonl``, one per line::

    {"kind": "run", "experiment": "nmt", "tags": {"languages": "de-en"}, "milliseconds": ...}
    {"kind": "params", "values": {"train.model.width": 512}, "milliseconds": ...}
    {"kind": "metrics", "values": {"train/loss": 4.2}, "step": 100, "milliseconds": ...}
    {"kind": "text", "name": "params.yaml", "text": "download: ...", "milliseconds": ...}
    {"kind": "artifact", "name": "plots/curve.png", "path": "artifacts/<digest>/curve.png", ...}
    {"kind": "model", "path": "models/export", "name": "nmt-de-en", "tags": {...}, ...}
    {"kind": "end", "status": "FINISHED", "milliseconds": ...}

A thread reads the journal from the first line, sends what MLflow lacks, and then sends new entries
once a second. After an error it warns once, and starts from the first line when MLflow answers
again. ``make sync`` sends entries that no run has sent.

MLflow stores every point once: runs are found by fingerprint, so a resumed training and later
stages continue the same run; the sender holds the journal's lock; and a repeated point has the same
time, so that MLflow recognizes it.

Importing mlflow takes more than a second, so only the thread does, in ``mlflow_run``.
"""

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_core.base.errors import NmtError
from nmt_core.base.progress import Tracker
from nmt_core.corpora.fetch.address import redact, redact_url
from stages import paths
from stages.runtime.checkout import find_servers
from stages.runtime.git import collect_provenance
from stages.tracking.journal import Journal

if TYPE_CHECKING:
    from stages.tracking.mlflow_run import MlflowRun

LOGGER = logging.getLogger(__name__)

CLOSE_SECONDS = 10.0
"""Seconds that a stage waits at its end for MLflow to catch up."""

MODEL_SECONDS = 600.0
"""Seconds that a stage waits at its end for the upload of a model."""

SEND_SECONDS = 1.0
"""Seconds between two requests, so that they do not slow down a training."""

MAX_RETRY_SECONDS = 60.0
"""Longest pause between two attempts; every error doubles it."""

ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "4",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""Default environment variables; MLflow's own defaults wait four minutes for a dead server."""


class MlflowTracker(Tracker):
    """Records a run in a journal, which is sent to MLflow."""

    def __init__(self, journal: Journal, follower: "_Follower | None") -> None:
        self._journal = journal
        self._follower = follower
        self._patience_seconds = CLOSE_SECONDS
        self._unwarned = threading.Lock()

    def begin(self, tags: Mapping[str, str]) -> None:
        """Record the start of a run and its tags."""
        self._note("run", experiment=paths.EXPERIMENT, tags=dict(tags))

    def params(self, values: Mapping[str, object]) -> None:
        """Record settings by dotted name."""
        self._note("params", values=dict(values))

    def metrics(self, values: Mapping[str, float], *, step: int) -> None:
        """Record numbers measured at an optimizer step."""
        numbers = {name: float(value) for name, value in values.items()}
        self._note("metrics", values=numbers, step=step)

    def artifact(self, path: Path, *, under: str = "") -> None:
        """Record a copy of a file or folder; a missing path is ignored."""
        if path.exists():
            with self._ignore_disk_errors():
                kept_path = self._journal.keep(path)
                self._journal.append(
                    "artifact", name=(under / Path(path.name)).as_posix(), path=kept_path
                )

    def text(self, name: str, text: str) -> None:
        """Record a text as a file with a name."""
        self._note("text", name=name, text=text)

    def model(self, folder: Path, *, name: str, tags: Mapping[str, str]) -> None:
        """Record an exported model, as a version of ``name``, unless it is registered already.

        ``tags`` describe the version; their ``bundle_sha256`` identifies the export.
        """
        self._patience_seconds = MODEL_SECONDS
        self._note("model", path=str(folder), name=name, tags=dict(tags))

    def close(self, status: str) -> None:
        """End the run with one of MLflow's statuses, and wait some seconds for the transfer."""
        self._note("end", status=status)
        if self._follower is not None:
            self._follower.finish(self._patience_seconds)

    def _note(self, kind: str, **content: Any) -> None:
        with self._ignore_disk_errors():
            self._journal.append(kind, **content)

    @contextmanager
    def _ignore_disk_errors(self) -> Iterator[None]:
        """Warn once if the journal cannot be written, and continue."""
        try:
            yield
        except OSError as error:
            if self._unwarned.acquire(blocking=False):
                LOGGER.warning(
                    "%s is not written, the run continues: %s", self._journal.path, error
                )


@contextmanager
def open_tracker(
    fingerprint: str, *, enabled: bool = True, tags: Mapping[str, str] | None = None
) -> Iterator[MlflowTracker]:
    """Open or continue the run of a fingerprint, and yield its tracker.

    The journal is always written, and sent to MLflow if ``enabled``. ``tags`` are recorded with the
    provenance; None records neither.
    """
    journal = Journal(fingerprint)
    follower = _Follower(journal) if enabled else None
    tracker = MlflowTracker(journal, follower)
    tracker.begin({**collect_provenance(), **tags} if tags else {})
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
    """Sends a journal to MLflow until ``finish``, and retries after errors."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(name="mlflow", daemon=True)
        self._journal = journal
        self._uri = tracking_uri()
        self._finished = threading.Event()
        self._lost = threading.Lock()
        """Locked from an error until MLflow has all entries again."""

    def finish(self, patience_seconds: float) -> None:
        """Wait until the journal is sent, for at most a number of seconds."""
        self._finished.set()
        self.join(patience_seconds)
        if self.is_alive():
            self._warn(f"no answer for {patience_seconds:.0f} seconds")

    def run(self) -> None:
        """Send new entries until the end; after an error, start again from the first line."""
        run: MlflowRun | None = None
        offset, pause, finished = 0, SEND_SECONDS, False
        while not finished:
            finished = self._finished.wait(pause)
            try:
                if run is None:
                    run, offset, _ = _bring_up_to_date(self._journal, self._uri)
                    if self._lost.locked():
                        self._lost.release()
                        back = "MLflow at %s answers again and has all entries of %s"
                        LOGGER.warning(back, redact_url(self._uri), self._journal.path)
                with self._journal.held():
                    entries, offset = self._journal.read(offset)
                    run.send(entries)
                pause = SEND_SECONDS
            except Exception as error:  # noqa: BLE001 - a tracker may break nothing
                self._warn(summarize_error(error))
                run, pause = None, min(2 * pause, MAX_RETRY_SECONDS)

    def _warn(self, reason: str) -> None:
        if self._lost.acquire(blocking=False):
            LOGGER.warning(
                "MLflow at %s does not answer (%s); entries stay in %s until it answers again, or "
                "until: make sync",
                redact_url(self._uri),
                reason,
                self._journal.path,
            )


def _bring_up_to_date(journal: Journal, uri: str) -> tuple["MlflowRun", int, int]:
    """Send a journal; return the run, the offset of the next entry, and the count of new points."""
    set_defaults()
    from stages.tracking.mlflow_run import MlflowRun  # imports mlflow

    with journal.held():
        entries, offset = journal.read()
        run = MlflowRun(journal, entries, uri=uri)
        return run, offset, run.send(entries)


def set_defaults() -> None:
    """Set the variables of ``ENVIRONMENT`` that the user has not set; call it before mlflow."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)


def tracking_uri() -> str:
    """Return MLFLOW_TRACKING_URI, or the URI of the project's database file.

    It loads ``.env``, with addresses and passwords, into the environment first.
    """
    find_servers()
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{paths.MLFLOW.resolve()}"


def summarize_error(error: Exception) -> str:
    """Return a short error message without passwords."""
    return redact(f"{type(error).__name__}: {error}").splitlines()[0][:200]


def send(journal: Journal) -> int:
    """Send a journal to MLflow; return the number of points that were missing there.

    Raises:
        NmtError: if MLflow does not answer, or rejects a request.
    """
    uri = tracking_uri()
    try:
        _, _, points = _bring_up_to_date(journal, uri)
    except Exception as error:  # noqa: BLE001 - whatever a remote service may raise
        raise NmtError(f"MLflow at {redact_url(uri)}: {summarize_error(error)}") from None
    return points

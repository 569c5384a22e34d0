"""MLflow servers that do not answer, hang or fail and recover, and models registered there."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pkgutil import resolve_name

import pytest
from mlflow import MlflowClient
from typer.testing import CliRunner
from werkzeug.serving import make_server

from nmt_core.base import seal
from stages.tracking import tracker as tracking
from stages.tracking.__main__ import app as program
from stages.tracking.journal import BUNDLE_DIGEST
from stages.tracking.tracker import open_tracker
from tests.support.processes import wait_for
from tests.support.runs import journaled, only_run, points, said, train
from tests.support.tiny import LINES, export, tiny_translator

pytestmark = pytest.mark.usefixtures("quick_tracking")

DEAD = "http://127.0.0.1:9"


@pytest.fixture
def silent_server():
    """Accept connections and never answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("server", ["dead", "silent"])
def test_hanging_server_costs_no_time(server, silent_server, monkeypatch, caplog):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", DEAD if server == "dead" else silent_server)
    with open_tracker("f") as tracker:
        start = time.monotonic()
        for step in range(200):
            tracker.metrics({"train/loss": 1.0}, step=step)
        measured_seconds = time.monotonic() - start
    closed_seconds = time.monotonic() - start

    assert measured_seconds < 10  # MLflow's defaults would wait ten times as long, repeatedly
    assert closed_seconds < 60
    [warning] = said(caplog)
    assert "runs/f/journal.jsonl" in warning
    assert "make sync" in warning
    assert len(journaled("train/loss")) == 200


class Server:
    """MLflow over HTTP in this process, at one port through all outages."""

    def __init__(self) -> None:
        self.port = 0
        self.start()

    def start(self) -> None:
        self._serving = make_server(
            "127.0.0.1", self.port, resolve_name("mlflow.server:app"), threaded=True
        )
        self.port = self._serving.port
        self._thread = threading.Thread(target=self._serving.serve_forever)
        self._thread.start()

    def stop(self) -> None:
        self._serving.shutdown()
        self._thread.join()
        self._serving.server_close()

    @contextmanager
    def away(self, how: str) -> Iterator[None]:
        self.stop()
        with {"gone": nothing, "hanging": silent, "failing": failing}[how](self.port):
            yield
        self.start()


@contextmanager
def nothing(port: int) -> Iterator[None]:
    yield


@contextmanager
def silent(port: int) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", port)):
        yield


@contextmanager
def failing(port: int) -> Iterator[None]:
    def answer(_, start_response):
        start_response("500 Internal Server Error", [])
        return [b"out of order"]

    server = make_server("127.0.0.1", port, answer, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def server(project, empty_database, monkeypatch):
    shutil.copy(empty_database, project / "mlflow.db")
    monkeypatch.setenv("_MLFLOW_SERVER_FILE_STORE", tracking.tracking_uri())
    monkeypatch.setenv("_MLFLOW_SERVER_ARTIFACT_ROOT", f"{project}/served")
    monkeypatch.setattr("mlflow.server.handlers._tracking_store", None)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "2")
    with warnings.catch_warnings(action="ignore"):  # Starlette's warning about MLflow's code
        resolve_name("mlflow.server.fastapi_app")
    server = Server()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{server.port}")
    yield server
    server.stop()


@pytest.mark.parametrize("how", ["gone", "hanging", "failing"])
def test_recovered_server_receives_everything_once(project, server, how, caplog):
    """Data is sent during the run, which never waits."""
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    waited = []

    def measure(tracker, steps):
        for step in steps:
            start = time.monotonic()
            tracker.metrics({"train/loss": 1 / step}, step=step)
            waited.append(time.monotonic() - start)

    with open_tracker("f") as tracker:
        measure(tracker, range(1, 21))
        assert wait_for(
            lambda: journaled("train/loss") == points(client, "train/loss"), seconds=120
        )
        with server.away(how):
            measure(tracker, range(21, 41))
            assert wait_for(lambda: said(caplog), seconds=120)
            measure(tracker, range(41, 61))
        assert wait_for(
            lambda: journaled("train/loss") == points(client, "train/loss"), seconds=120
        )
        measure(tracker, range(61, 81))

    assert journaled("train/loss") == points(client, "train/loss")
    assert len(journaled("train/loss")) == 80
    assert only_run(client).info.status == "FINISHED"
    lost, back = said(caplog)[::2], said(caplog)[1::2]  # more than one on a busy machine
    assert len(lost) == len(back)
    assert all("does not answer" in line for line in lost)
    assert all("answers again" in line for line in back)
    # the cost of a hanging server per request; a busy machine delays a few
    assert sorted(waited)[-5] < 2


def test_sync_after_an_outage_sends_each_point_once(database, monkeypatch, tmp_path):
    """MLflow lacks the middle of the run."""
    up = tracking.tracking_uri()
    train(1, 5)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", DEAD)
    train(6, 10)
    assert len(points(database, "train/loss")) == 5
    failed = CliRunner().invoke(program, ["sync"])
    monkeypatch.setenv("MLFLOW_TRACKING_URI", up)
    first = CliRunner().invoke(program, ["sync"])
    second = CliRunner().invoke(program, ["sync"])

    assert (failed.exit_code, first.exit_code, second.exit_code) == (1, 0, 0)
    assert str(failed.exception).startswith(f"MLflow at {DEAD}")
    assert first.stdout == "runs/f/journal.jsonl: sent 10 missing points to MLflow\n"
    assert second.stdout == "runs/f/journal.jsonl: sent 0 missing points to MLflow\n"
    assert journaled("train/loss") == points(database, "train/loss")


SERVED = """
import json, sys
from mlflow.pyfunc import load_model
lines = json.loads(sys.argv[1])
model = load_model("models:/nmt-de-en/1")
import nmt_core
found = [model.predict(lines), model.predict(lines, params={"beam_size": 1})]
print(json.dumps([*found, nmt_core.__file__]))
"""


def test_registered_model_translates_without_the_project(database, project, monkeypatch):
    """It includes the library, and uses the requested beam size."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracking.tracking_uri())
    translator = tiny_translator(seed=1)
    folder = export(project / "export", translator=translator)
    tags = {BUNDLE_DIGEST: seal.digest_bundle(folder), "bleu": "30.10"}
    with open_tracker("f") as tracker:
        tracker.model(folder, name="nmt-de-en", tags=tags)
    served = subprocess.run(
        [sys.executable, "-c", SERVED, json.dumps(LINES)],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )

    expected = [translator.translate(LINES), translator.translate(LINES, beam_size=1)]
    assert expected[0] != expected[1]
    *found, library = json.loads(served.stdout)
    assert expected == found
    assert "code/nmt_core.zip/" in library
    [version] = database.search_model_versions("name = 'nmt-de-en'")
    assert version.run_id == only_run(database).info.run_id
    assert version.tags == tags
    assert version.description == (folder / "README.md").read_text()


@pytest.mark.usefixtures("echo")
def test_unchanged_model_is_not_a_new_version(database, project, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracking.tracking_uri())
    folder = project / "export"
    folder.mkdir()
    card = f"---\nlicense: mit\n---\n\n# A card\n\n---\n{'long ' * 2000}"
    for weights in ("first", "first", "second"):
        (folder / seal.MANIFEST).write_text(weights)
        (folder / "README.md").write_text(card)
        with open_tracker("f") as tracker:
            tracker.model(folder, name="echo", tags={BUNDLE_DIGEST: seal.digest_bundle(folder)})

    versions = database.search_model_versions("name = 'echo'")
    assert len(versions) == 2
    for version in versions:  # the limit of MLflow's databases
        assert version.description.startswith("# A card\n\n---\nlong ")
        assert len(version.description) == 5000


@pytest.mark.usefixtures("echo")
def test_replaced_model_is_not_registered(database, project, monkeypatch):
    """MLflow did not answer, and another training has exported before it recovered."""
    up = tracking.tracking_uri()
    folder = project / "export"
    folder.mkdir()
    for run, uri in (("first", DEAD), ("second", up)):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        (folder / seal.MANIFEST).write_text(run)
        (folder / "README.md").touch()
        with open_tracker(run) as tracker:
            tracker.model(folder, name="echo", tags={BUNDLE_DIGEST: seal.digest_bundle(folder)})
    assert CliRunner().invoke(program, ["sync"]).exit_code == 0

    [version] = database.search_model_versions("name = 'echo'")
    assert version.tags == {BUNDLE_DIGEST: seal.digest_bundle(folder)}
    assert database.get_run(version.run_id).data.tags["nmt.fingerprint"] == "second"

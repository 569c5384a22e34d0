"""The real MLflow, in a SQLite file, and servers that are dead, silent or come back."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run
from typer.testing import CliRunner

from nmt_core import bundle
from stages import mlflow_run, tracking
from stages.journal import BUNDLE_DIGEST, Journal
from stages.tracking import open_tracker
from tests.unit.tiny import LINES, export, tiny_translator

pytestmark = pytest.mark.slow

DEAD = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    """An empty project, and an environment that is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for name, value in tracking.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory):
    """A database that was migrated once."""
    file = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{file}").search_experiments()
    return file


@pytest.fixture
def database(project, empty_database):
    (project / "mlflow.db").write_bytes(empty_database.read_bytes())
    return MlflowClient(tracking.tracking_uri())


def runs(client: MlflowClient) -> list[Run]:
    experiment = client.get_experiment_by_name("e")
    return client.search_runs([experiment.experiment_id]) if experiment else []


def only_run(client: MlflowClient) -> Run:
    [run] = runs(client)
    return run


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
    with open_tracker("f", experiment="e") as tracker:
        tracker.params({"model.width": 512, "model.kind": "transformer", "train.seed": None})
        for step in range(first, last + 1):
            tracker.metrics({"train/loss": 1 / step, "train/norm": step}, step=step)


def test_mlflow_knows_what_the_journal_knows(database, caplog):
    train(1, 50)

    run = only_run(database)
    assert run.info.status == "FINISHED"
    assert run.data.params == {
        "model.width": "512",
        "model.kind": "transformer",
        "train.seed": "null",
    }
    assert run.data.tags["nmt.fingerprint"] == "f"
    assert journaled("train/loss") == points(database, "train/loss")
    assert caplog.records == []


def test_the_first_run_makes_database_and_folder(project, caplog):
    train(1, 2)

    assert points(MlflowClient(tracking.tracking_uri()), "train/norm") == [(1, 1.0), (2, 2.0)]
    assert (project / "mlflow.db").exists()
    assert caplog.records == []


KILLED = """
import os
from stages.tracking import open_tracker
with open_tracker("f", experiment="e") as tracker:
    for step in range(1, 11):
        tracker.metrics({"train/loss": 1 / step}, step=step)
    os.kill(os.getpid(), 9)
"""


def test_a_killed_run_is_continued_and_repeats_no_point(database):
    """The steps after its last checkpoint come again, and what MLflow has missed is made up for."""
    environment = os.environ | {"PYTHONPATH": str(Path(tracking.__file__).parents[1])}
    killed = subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    train(8, 20)

    steps = list(range(1, 21))
    assert [(step, 1 / step) for step in steps] == points(database, "train/loss")
    assert only_run(database).info.status == "FINISHED"


def test_a_later_stage_may_measure_anew(database):
    """An evaluation with another beam: both scores are kept, and what the beam is now."""
    for beam, bleu in ((1, 20.0), (5, 21.5)):
        with open_tracker("f", experiment="e") as tracker:
            tracker.params({"evaluate.beam": beam})
            tracker.metrics({"test/bleu": bleu}, step=100)

    assert points(database, "test/bleu") == [(100, 20.0), (100, 21.5)]
    run = only_run(database)
    assert run.data.metrics["test/bleu"] == 21.5
    assert (run.data.params["evaluate.beam"], run.data.tags["evaluate.beam"]) == ("1", "5")


def test_a_run_that_failed_is_marked(database):
    with pytest.raises(ZeroDivisionError), open_tracker("f", experiment="e"):
        _ = 1 / 0

    assert only_run(database).info.status == "FAILED"


def test_files_are_kept_with_the_run(database, project):
    (project / "curves.txt").write_text("up and down")
    (project / "report").mkdir()
    (project / "report" / "page.txt").write_text("a page")
    with open_tracker("f", experiment="e") as tracker:
        tracker.artifact(project / "curves.txt")
        tracker.artifact(project / "report")
        tracker.artifact(project / "never written")

    kept = only_run(database).info.artifact_uri
    assert Path(kept, "curves.txt").read_text() == "up and down"
    assert Path(kept, "report", "page.txt").read_text() == "a page"


@pytest.fixture
def silent_server():
    """Takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("server", ["dead", "silent"])
def test_a_server_that_does_not_answer_costs_no_time(server, silent_server, monkeypatch, caplog):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", DEAD if server == "dead" else silent_server)
    with open_tracker("f", experiment="e") as tracker:
        start = time.monotonic()
        for step in range(200):
            tracker.metrics({"train/loss": 1.0}, step=step)
        measured_seconds = time.monotonic() - start
    closed_seconds = time.monotonic() - start

    assert measured_seconds < 1
    assert closed_seconds < 12
    [warning] = caplog.records
    assert "runs/f/journal.jsonl" in warning.getMessage()
    assert "python -m stages.tracking sync" in warning.getMessage()
    assert len(journaled("train/loss")) == 200


def test_a_server_that_dies_on_the_way_is_left_alone(database, monkeypatch, caplog):
    def log_batch(*_, **__):
        raise ConnectionError("the server is gone")

    with open_tracker("f", experiment="e") as tracker:
        tracker.metrics({"train/loss": 1.0}, step=1)
        assert wait_for(lambda: journaled("train/loss") == points(database, "train/loss"))
        with monkeypatch.context() as outage:
            outage.setattr(MlflowClient, "log_batch", log_batch)
            tracker.metrics({"train/loss": 0.5}, step=2)
            assert wait_for(lambda: caplog.records)
        tracker.metrics({"train/loss": 0.25}, step=3)

    [warning] = caplog.records
    assert "ConnectionError: the server is gone" in warning.getMessage()
    assert points(database, "train/loss") == [(1, 1.0)]
    CliRunner().invoke(tracking.app, ["sync"])
    assert journaled("train/loss") == points(database, "train/loss")


def wait_for(claim: Callable[[], object]) -> bool:
    end = time.monotonic() + 30
    while not claim() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(claim())


def test_sync_after_an_outage_sends_every_point_once(database, monkeypatch, tmp_path):
    """Of a run whose middle MLflow has missed."""
    up = tracking.tracking_uri()
    train(1, 5)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", DEAD)
    train(6, 10)
    assert len(points(database, "train/loss")) == 5
    failed = CliRunner().invoke(tracking.app, ["sync"])
    monkeypatch.setenv("MLFLOW_TRACKING_URI", up)
    first = CliRunner().invoke(tracking.app, ["sync"])
    second = CliRunner().invoke(tracking.app, ["sync", "f"])

    assert (failed.exit_code, first.exit_code, second.exit_code) == (1, 0, 0)
    assert f"error: MLflow at {DEAD}" in failed.stderr
    assert first.stdout == "runs/f/journal.jsonl: 10 points were missing in MLflow\n"
    assert second.stdout == "runs/f/journal.jsonl: 0 points were missing in MLflow\n"
    assert journaled("train/loss") == points(database, "train/loss")


def test_the_next_stage_makes_up_for_an_outage(database, monkeypatch):
    up = tracking.tracking_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", DEAD)
    train(1, 5)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", up)
    train(6, 10)

    assert journaled("train/loss") == points(database, "train/loss")


SERVED = """
import json, sys
from mlflow.pyfunc import load_model
lines = json.loads(sys.argv[1])
model = load_model("models:/nmt-de-en/1")
print(json.dumps([model.predict(lines), model.predict(lines, params={"beam": 1})]))
"""


def test_a_registered_model_translates_where_there_is_no_project(database, project, monkeypatch):
    """It brings the library along, and searches as wide as it is asked to."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracking.tracking_uri())
    translator = tiny_translator(seed=1)
    folder = export(project / "export", translator=translator)
    tags = {BUNDLE_DIGEST: bundle.digest(folder), "bleu": "30.10"}
    with open_tracker("f", experiment="e") as tracker:
        tracker.model(folder, name="nmt-de-en", tags=tags)
    served = subprocess.run(
        [sys.executable, "-c", SERVED, json.dumps(LINES)],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )

    expected = [translator.translate(LINES), translator.translate(LINES, beam=1)]
    assert expected[0] != expected[1]
    assert expected == json.loads(served.stdout)
    [version] = database.search_model_versions("name = 'nmt-de-en'")
    assert version.run_id == only_run(database).info.run_id
    assert version.tags == tags


ECHO = """
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel
class Echo(PythonModel):
    def predict(self, model_input: list[str], params=None) -> list[str]:
        return model_input
set_model(Echo())
"""


def test_an_unchanged_model_is_no_new_version(database, project, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracking.tracking_uri())
    monkeypatch.setattr(mlflow_run, "MODEL_CODE", project / "code.py")
    (project / "code.py").write_text(ECHO)
    folder = project / "export"
    folder.mkdir()
    for weights in ("first", "first", "second"):
        (folder / bundle.MANIFEST).write_text(weights)
        with open_tracker("f", experiment="e") as tracker:
            tracker.model(folder, name="echo", tags={BUNDLE_DIGEST: bundle.digest(folder)})

    assert len(database.search_model_versions("name = 'echo'")) == 2


def test_a_model_is_not_taken_for_the_one_that_lay_there_before(database, project, monkeypatch):
    """MLflow was away, and when it is back, another training has exported."""
    up = tracking.tracking_uri()
    monkeypatch.setattr(mlflow_run, "MODEL_CODE", project / "code.py")
    (project / "code.py").write_text(ECHO)
    folder = project / "export"
    folder.mkdir()
    for run, uri in (("first", DEAD), ("second", up)):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        (folder / bundle.MANIFEST).write_text(run)
        with open_tracker(run, experiment="e") as tracker:
            tracker.model(folder, name="echo", tags={BUNDLE_DIGEST: bundle.digest(folder)})
    assert CliRunner().invoke(tracking.app, ["sync", "first"]).exit_code == 0

    [version] = database.search_model_versions("name = 'echo'")
    assert version.tags == {BUNDLE_DIGEST: bundle.digest(folder)}
    assert database.get_run(version.run_id).data.tags["nmt.fingerprint"] == "second"

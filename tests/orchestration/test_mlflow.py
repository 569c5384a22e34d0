"""The real MLflow with a SQLite file: runs sent at once, later, or after a kill."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from mlflow import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID
from typer.testing import CliRunner

from stages import paths
from stages.configure import compose
from stages.tracking import tracker as tracking
from stages.tracking.__main__ import app as program
from stages.tracking.journal import PARENT, Journal
from stages.tracking.run_metadata import open_evaluation, show_scores
from stages.tracking.tracker import open_tracker, send
from tests.support.projects import PROJECT
from tests.support.runs import journaled, only_run, points, runs, train

pytestmark = pytest.mark.usefixtures("quick_tracking")

DEAD = "http://127.0.0.1:9"


def test_mlflow_receives_the_whole_journal(database, caplog):
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


def test_ui_requires_a_login(project, monkeypatch):
    started = []
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(os, "execv", lambda *command: started.append(command))
    with closing(socket.create_server(("127.0.0.1", 0))) as held:
        port = str(held.getsockname()[1])
        taken = CliRunner().invoke(program, ["ui", "--port", port])
    printed = CliRunner().invoke(program, ["ui", "--port", port]).output

    assert (taken.exit_code, len(started)) == (1, 1)
    [(python, [*command])] = started
    assert command[:4] == [python, "-m", "mlflow", "ui"]
    assert {"--app-name=nmt", f"--port={port}"} < {*command}
    assert f"http://127.0.0.1:{port}\n" in printed
    password = os.environ["MLFLOW_AUTH_ADMIN_PASSWORD"]
    assert printed.endswith(f"user admin, password {password}\n")
    assert oct((project / f"runs/login-{port}").stat().st_mode)[-3:] == "700"


def test_ui_prints_the_servers_address(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@mlflow.example")
    printed = CliRunner().invoke(program, ["ui"]).output

    assert "http://mlflow.example" in printed
    assert "secret" not in printed


def test_tags_for_programs_are_hidden(project, database):
    (project / "curve.png").write_bytes(b"drawn")
    with open_tracker("f", tags={"languages": "de-en"}) as tracker:
        tracker.artifact(Path("curve.png"), under="plots")

    tags = only_run(database).data.tags
    assert "mlflow.nmt.sent.plots/curve.png" in tags
    shown = {name for name in tags if not name.startswith("mlflow.")}
    assert shown == {"languages", "nmt.fingerprint"}


@pytest.fixture
def _patient(monkeypatch):
    """A run waits until the tables exist, which may take long on a busy machine."""
    monkeypatch.setattr(tracking, "CLOSE_SECONDS", 120.0)


@pytest.mark.usefixtures("_patient")
def test_first_run_creates_database_and_folder(project, caplog):
    train(1, 2)

    assert points(MlflowClient(tracking.tracking_uri()), "train/norm") == [(1, 1.0), (2, 2.0)]
    assert (project / "mlflow.db").exists()
    assert caplog.records == []


HALF = """
import os
from mlflow.store.db import utils
from stages.tracking.mlflow_run import open_client
utils._upgrade_db = lambda _: os.kill(os.getpid(), 9)
open_client("{uri}")
"""
"""End after some of the tables were created."""


@pytest.mark.usefixtures("_patient")
def test_kill_during_migration_leaves_no_database(project, caplog):
    assert python(HALF.format(uri=tracking.tracking_uri())).wait() == -signal.SIGKILL
    train(1, 2)

    assert points(MlflowClient(tracking.tracking_uri()), "train/norm") == [(1, 1.0), (2, 2.0)]
    assert caplog.records == []
    assert sorted(path.name for path in project.glob("*mlflow.db*")) == [
        "mlflow.db",
        "mlflow.db.lock",
    ]


KILLED = """
import os, time
from mlflow import MlflowClient
from stages.tracking import tracker as tracking
tracking.SEND_SECONDS = 0.01
sent = MlflowClient.log_batch
def log_batch(*arguments, **named):
    sent(*arguments, **named)
    {last_words}
MlflowClient.log_batch = log_batch
with tracking.open_tracker("f") as tracker:
    for step in range(1, 11):
        tracker.metrics({{"train/loss": 1 / step}}, step=step)
    {first_words}
"""
SELF_KILL = "os.kill(os.getpid(), 9)"


@pytest.mark.parametrize(
    ("first_words", "last_words"),
    [(SELF_KILL, "pass"), ("time.sleep(600)", SELF_KILL)],
    ids=["early", "late"],
)
def test_killed_run_continues_without_repeated_points(database, first_words, last_words):
    """The run is killed before MLflow receives anything, or before it is known that MLflow has it.

    The steps after the last checkpoint are recorded again, and missing points are sent.
    """
    code = KILLED.format(first_words=first_words, last_words=last_words)
    assert python(code).wait() == -signal.SIGKILL
    assert bool(points(database, "train/loss")) == (last_words == SELF_KILL)
    train(8, 20)

    steps = list(range(1, 21))
    assert [(step, 1 / step) for step in steps] == points(database, "train/loss")
    assert only_run(database).info.status == "FINISHED"


def python(code: str) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": str(Path(tracking.__file__).parents[2])}
    return subprocess.Popen([sys.executable, "-c", code], env=environment)


SYNC = "from stages.tracking.__main__ import app; app(['sync'])"


def test_concurrent_syncs_create_one_run(database, project, monkeypatch):
    """The training is unknown to MLflow and still running."""
    up = tracking.tracking_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", DEAD)
    train(1, 500)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", up)
    syncing = [python(SYNC) for _ in range(2)]
    with open_tracker("f") as tracker:
        for step in range(501, 601):
            tracker.metrics({"train/loss": 1 / step}, step=step)
            time.sleep(0.02)
        assert [0, 0] == [process.wait() for process in syncing]

    assert only_run(database).info.status == "FINISHED"
    assert [(step, 1 / step) for step in range(1, 601)] == points(database, "train/loss")


def test_returning_score_is_shown_again(database):
    """A tracker that sends everything again adds no point."""
    for bleu in (20.0, 21.5, 20.0, 20.0):
        with open_tracker("f") as tracker:
            tracker.metrics({"test_bleu": bleu}, step=100)

    assert only_run(database).data.metrics["test_bleu"] == 20.0
    assert points(database, "test_bleu") == [(100, 20.0), (100, 21.5), (100, 20.0)]
    assert send(Journal("f")) == 0


def evaluate(beam_size: int, bleu: float) -> None:
    """Track an evaluation like the stage."""
    settings = ["data=demo", "model=transformer", f"evaluate.beam.beam_size={beam_size}"]
    document = compose.compose_groups(settings, conf=PROJECT / "conf")
    paths.PARAMS.write_text(yaml.safe_dump(document))
    with open_evaluation("f") as tracker:
        tracker.metrics({"test_bleu": bleu}, step=0)
    show_scores("f", {"test_bleu": bleu})


def test_each_evaluation_is_its_own_run(database, monkeypatch):
    """The training shows the score of the last evaluation that was not an experiment."""
    tags = {"mlflow.runName": "rnn"}
    with open_tracker("f", tags=tags) as tracker:
        tracker.params({"train.seed": 1})
    evaluate(5, 20.0)
    with monkeypatch.context() as experiment:
        experiment.setenv("DVC_EXP_NAME", "greedy")
        evaluate(1, 19.0)
    evaluate(4, 21.0)
    found = runs(database)
    [training] = (run for run in found if "train.seed" in run.data.params)
    size, parent = "evaluate.beam.beam_size", training.info.run_id
    children = [run for run in found if run.data.tags.get(MLFLOW_PARENT_RUN_ID) == parent]
    shown = {run.data.params[size]: (run.data.metrics, run.info.run_name) for run in children}

    scores = {number: metrics["test_bleu"] for number, (metrics, _) in shown.items()}
    assert scores == {"5": 20.0, "1": 19.0, "4": 21.0}
    assert shown["1"][1] == "greedy"
    assert training.info.run_name == "rnn"
    assert training.data.params == {"train.seed": "1"}
    history = database.get_metric_history(training.info.run_id, "test_bleu")
    assert [point.value for point in history] == [20.0, 21.0]


def test_files_are_stored_with_the_run(database, project):
    (project / "curves.txt").write_text("up and down")
    (project / "report").mkdir()
    (project / "report" / "page.txt").write_text("a page")
    with open_tracker("f") as tracker:
        for under in ("", "plots"):
            tracker.artifact(project / "curves.txt", under=under)
            tracker.artifact(project / "report", under=under)

    kept = only_run(database).info.artifact_uri
    assert Path(kept).is_relative_to(paths.MLFLOW_FILES.resolve())
    for under in ("", "plots"):
        assert Path(kept, under, "curves.txt").read_text() == "up and down"
        assert Path(kept, under, "report", "page.txt").read_text() == "a page"


def test_last_file_of_a_name_is_sent_once(database, project, monkeypatch):
    """The file is sent even if another one has replaced it when MLflow answers again."""
    up = tracking.tracking_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", DEAD)
    file = project / "curves.txt"
    with open_tracker("f") as tracker:
        for content in ("first", "second"):
            file.write_text(content)
            tracker.artifact(file)
    file.write_text("of another training")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", up)
    send, sent = MlflowClient.log_artifact, []

    def log_artifact(client, run, path, folder):
        sent.append(path)
        send(client, run, path, folder)

    monkeypatch.setattr(MlflowClient, "log_artifact", log_artifact)
    for _ in range(2):
        assert CliRunner().invoke(program, ["sync"]).exit_code == 0

    assert Path(only_run(database).info.artifact_uri, "curves.txt").read_text() == "second"
    assert len(sent) == 1


def test_mlflow_shows_metadata_besides_numbers(database):
    """A continued training records it twice, and MLflow shows it once."""
    for _ in range(2):
        with open_tracker("f", tags={"mlflow.runName": "rnn de-en"}) as tracker:
            tracker.text("params.yaml", "train: {seed: 1}")

    run = only_run(database)
    assert Path(run.info.artifact_uri, "params.yaml").read_text() == "train: {seed: 1}"
    assert run.info.run_name == "rnn de-en"


def pipeline() -> None:
    """Record the entries of all stages, each of which opens the training's run again."""
    named = {"mlflow.runName": "de-en rnn", "mlflow.note.content": "To get it", PARENT: "p"}
    with open_tracker("p", tags={"mlflow.runName": "compare rnn"}):
        pass
    with open_tracker("f", tags=named | {"languages": "de-en"}) as tracker:
        tracker.params({"train.seed": 1})
        tracker.metrics({"train/loss": 0.5}, step=1)
    with open_tracker("f") as tracker:
        tracker.metrics({"test_bleu": 20.0}, step=1)
    with open_tracker("f", tags={"gate_outcome": "hold"}):
        pass


def everything(client: MlflowClient) -> dict[str, object]:
    """Return MLflow's data of all runs by fingerprint, without MLflow's own ids."""
    found = {run.info.run_id: run for run in runs(client)}
    names = {number: run.data.tags["nmt.fingerprint"] for number, run in found.items()}
    return {
        names[number]: (
            {name: names.get(value, value) for name, value in run.data.tags.items()},
            run.data.params,
            {name: points(client, name) for name in run.data.metrics},
            (run.info.run_name, run.info.status),
        )
        for number, run in found.items()
    }


def test_run_sent_later_equals_one_sent_at_once(database, project, empty_database, monkeypatch):
    pipeline()
    at_once = everything(database)
    shutil.rmtree(paths.RUNS)
    (project / "later.db").write_bytes(empty_database.read_bytes())
    monkeypatch.setenv("MLFLOW_TRACKING_URI", DEAD)
    pipeline()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{project / 'later.db'}")
    assert CliRunner().invoke(program, ["sync"]).exit_code == 0

    tags, *_, (name, _) = at_once["f"]
    assert (name, tags["mlflow.note.content"]) == ("de-en rnn", "To get it")
    assert tags[MLFLOW_PARENT_RUN_ID] == "p"
    assert everything(MlflowClient(tracking.tracking_uri())) == at_once


@pytest.mark.parametrize("order", [["child", "parent"], ["parent", "child"]])
def test_comparison_runs_are_below_the_comparison(database, monkeypatch, order):
    up = tracking.tracking_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", DEAD)
    for run, tags in (("parent", {}), ("child", {PARENT: "parent"}), ("other", {})):
        with open_tracker(run, tags=tags):
            pass
    monkeypatch.setenv("MLFLOW_TRACKING_URI", up)
    for run in (*order, "other"):
        send(Journal(run))

    found = {run.data.tags["nmt.fingerprint"]: run for run in runs(database)}
    parents = {name: run.data.tags.get(MLFLOW_PARENT_RUN_ID) for name, run in found.items()}
    assert parents == {"parent": None, "child": found["parent"].info.run_id, "other": None}

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stages import tracking
from stages.journal import Journal
from stages.tracking import open_tracker


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(fingerprint: str) -> list[dict]:
    entries, _ = Journal(fingerprint).read()
    for entry in entries:
        assert entry.pop("milliseconds") > 0
    return entries


def git(*arguments: str) -> str:
    identity = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_journal_holds_what_was_said(project):
    with open_tracker("f", experiment="e", enabled=False) as tracker:
        tracker.params({"model.width": 512, "model.kind": "transformer", "model.tied": True})
        tracker.metrics({"train/loss": 1}, step=3)
        tracker.artifact(project / "curves.png")
        tracker.model(project / "export", name="nmt-de-en", tags={"bleu": "30.10"})

    assert written("f") == [
        {"kind": "run", "experiment": "e", "tags": {}},
        {
            "kind": "params",
            "values": {"model.width": 512, "model.kind": "transformer", "model.tied": True},
        },
        {"kind": "metrics", "values": {"train/loss": 1.0}, "step": 3},
        {"kind": "artifact", "path": str(project / "curves.png")},
        {
            "kind": "model",
            "path": str(project / "export"),
            "name": "nmt-de-en",
            "tags": {"bleu": "30.10"},
        },
        {"kind": "end", "status": "FINISHED"},
    ]


@pytest.mark.parametrize(
    ("error", "status"),
    [(ValueError, "FAILED"), (KeyboardInterrupt, "KILLED"), (SystemExit, "KILLED")],
)
def test_the_way_a_run_ended_is_told(error, status):
    with pytest.raises(error), open_tracker("f", experiment="e", enabled=False):
        raise error

    assert status == written("f")[-1]["status"]


def test_entries_are_read_from_where_reading_stopped():
    journal = Journal("f")
    journal.append("metrics", step=1)
    _, offset = journal.read()
    journal.append("metrics", step=2)

    assert [entry["step"] for entry in journal.read(offset)[0]] == [2]


def test_an_entry_being_written_is_read_later():
    journal = Journal("f")
    journal.append("metrics", step=1)
    with journal.path.open("a") as file:
        file.write('{"kind": "metr')
        file.flush()
        entries, offset = journal.read()
        file.write('ics", "step": 2}\n')

    assert [entry["step"] for entry in entries] == [1]
    assert [entry["step"] for entry in journal.read(offset)[0]] == [2]


def test_a_torn_entry_costs_only_itself():
    journal = Journal("f")
    journal.append("metrics", step=1)
    with journal.path.open("a") as file:
        file.write('{"kind": "metr')
    journal.append("metrics", step=2)

    assert [entry["step"] for entry in journal.read()[0]] == [1, 2]


def test_numbers_that_are_none_survive_the_journal():
    Journal("f").append("metrics", values={"a": float("nan"), "b": float("inf")})

    assert str(written("f")[0]["values"]) == "{'a': nan, 'b': inf}"


def test_a_journal_that_cannot_be_written_stops_nobody(project, caplog):
    (project / "runs").write_text("not a folder")
    with open_tracker("f", experiment="e", enabled=False) as tracker:
        tracker.metrics({"train/loss": 1.0}, step=1)

    assert len(caplog.records) == 1
    assert "is not written, the run goes on" in caplog.text


def test_a_run_names_its_commit_and_its_files(project):
    git("init", "-q")
    (project / "dvc.lock").write_text("a lock\n")
    (project / "params.yaml").write_text("train: {}\n")
    (project / "code.py").write_text("1\n")
    git("add", "-A")
    git("commit", "-q", "-m", "Begin")
    commit = git("rev-parse", "HEAD")

    assert {"git_commit", "dvc_lock_sha256", "params_sha256"} == tracking._provenance().keys()
    assert commit == tracking._provenance()["git_commit"]

    (project / "dvc.lock").write_text("another lock\n")
    (project / "params.yaml").write_text("train: {seed: 2}\n")
    (project / "untracked.txt").write_text("\n")
    assert commit == tracking._provenance()["git_commit"]

    (project / "code.py").write_text("2\n")
    assert f"{commit}-dirty" == tracking._provenance()["git_commit"]


def test_the_tracker_imports_no_mlflow():
    """Every stage that tracks would wait for it."""
    code = "import sys, stages.tracking; print('mlflow' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(Path(tracking.__file__).parents[1])}
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )

    assert answer.stdout == "False\n"

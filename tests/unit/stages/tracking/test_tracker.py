import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from nmt_core.base.errors import NmtError
from stages.tracking import tracker
from stages.tracking.journal import Journal
from stages.tracking.tracker import open_tracker

pytestmark = pytest.mark.usefixtures("project")


def written(fingerprint: str) -> list[dict]:
    entries, _ = Journal(fingerprint).read()
    for entry in entries:
        assert entry.pop("milliseconds") > 0
    return entries


def test_the_journal_contains_all_entries(project):
    params = {"model.width": 512, "model.kind": "transformer", "model.tied": True}
    with open_tracker("f", enabled=False) as tracker:
        tracker.params(params)
        tracker.metrics({"train/loss": 1}, step=3)
        tracker.text("params.yaml", "train: {}")
        tracker.artifact(project / "never written")
        tracker.model(project / "export", name="nmt-de-en", tags={"bleu": "30.10"})

    model = {"path": str(project / "export"), "name": "nmt-de-en", "tags": {"bleu": "30.10"}}
    assert written("f") == [
        {"kind": "run", "experiment": "nmt", "tags": {}},
        {"kind": "params", "values": params},
        {"kind": "metrics", "values": {"train/loss": 1.0}, "step": 3},
        {"kind": "text", "name": "params.yaml", "text": "train: {}"},
        {"kind": "model", **model},
        {"kind": "end", "status": "FINISHED"},
    ]


@pytest.mark.parametrize(
    ("error", "status"),
    [(ValueError, "FAILED"), (KeyboardInterrupt, "KILLED"), (SystemExit, "KILLED")],
)
def test_the_end_of_a_run_is_recorded(error, status):
    with pytest.raises(error), open_tracker("f", enabled=False):
        raise error

    assert status == written("f")[-1]["status"]


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


def test_the_last_number_is_the_newest():
    journal = Journal("f")
    assert journal.last("train/seconds") is None
    for step, seconds in ((10, 1.0), (20, 2.0), (15, 1.75)):  # resumed from 10
        journal.append("metrics", values={"train/seconds": seconds}, step=step)
    journal.append("metrics", values={"train/loss": 3.0}, step=20)

    assert journal.last("train/seconds") == 1.75


def test_a_torn_entry_costs_only_itself():
    journal = Journal("f")
    journal.append("metrics", step=1)
    with journal.path.open("a") as file:
        file.write('{"kind": "metr')
    journal.append("metrics", step=2)

    assert [entry["step"] for entry in journal.read()[0]] == [1, 2]


def test_nan_and_infinity_survive_the_journal():
    Journal("f").append("metrics", values={"a": float("nan"), "b": float("inf")})

    assert str(written("f")[0]["values"]) == "{'a': nan, 'b': inf}"


def test_an_unwritable_journal_stops_no_training(project, caplog):
    (project / "runs").write_text("not a folder")
    with open_tracker("f", enabled=False) as tracker:
        tracker.metrics({"train/loss": 1.0}, step=1)

    assert len(caplog.records) == 1
    assert "is not written, the run continues" in caplog.text


def test_a_file_is_stored_unchanged(project):
    """Another training may write another file to the same place before MLflow is back."""
    (project / "plots").mkdir()
    picture = project / "plots" / "curve.png"
    journal = Journal("f")
    with open_tracker("f", enabled=False) as tracker:
        for content in ("first", "second", "first"):
            picture.write_text(content)
            tracker.artifact(picture, under="all")
            tracker.artifact(picture.parent)
    picture.unlink()

    entries = [entry for entry in written("f") if entry["kind"] == "artifact"]
    kept = [journal.folder / entry["path"] for entry in entries]
    assert ["all/curve.png", "plots"] * 3 == [entry["name"] for entry in entries]
    assert ["first", "second", "first"] == [path.read_text() for path in kept[::2]]
    assert ["first", "second", "first"] == [(path / "curve.png").read_text() for path in kept[1::2]]
    assert 4 == len(set(kept))


def test_files_of_the_same_content_keep_their_names(project):
    journal, names = Journal("f"), ["a.txt", "b.txt"]
    for name in names:
        (project / name).write_text("the same")
    kept = [journal.folder / journal.keep(project / name) for name in names]

    assert names == [path.name for path in kept]
    assert ["the same"] * 2 == [path.read_text() for path in kept]


def test_a_journal_has_one_owner():
    """Other threads and processes wait, because the lock belongs to the open file."""
    journal, inside = Journal("f"), []
    journal.append("run")

    def enter(number):
        with journal.held():
            inside.append(number)
            time.sleep(0.01)
            assert inside == [number]
            inside.remove(number)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(enter, range(8)))


def test_no_password_of_the_tracking_address_is_shown(monkeypatch, caplog):
    """Neither in our messages nor in MLflow's."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://anna:canary@127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    Journal("f").append("run", experiment="nmt", tags={})

    with pytest.raises(NmtError) as told:
        tracker.send(Journal("f"))
    with open_tracker("g"):
        pass

    assert str(told.value).startswith("MLflow at http://127.0.0.1:9: MlflowException: ")
    assert "MLflow at http://127.0.0.1:9 does not answer (MlflowException: " in caplog.text
    assert "canary" not in f"{told.value} {caplog.text}"

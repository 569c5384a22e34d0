"""Faults during trainings: killed processes, lost servers, a cancelled run, two runs at once.

Each must end in the right state within its time, and leave no process. The same run again continues
from the checkpoint and ends in the bytes of an undisturbed training.
"""

import json
import os
import re
import signal
from unittest.mock import patch

import pytest
from mlflow import MlflowClient

from tests.support.processes import read_command, wait_for
from tests.support.projects import LOG_EVERY, Untracked

STEPS, VALIDATE_EVERY = 700, 100
LATER = VALIDATE_EVERY + LOG_EVERY
"""A step after the first checkpoint."""

WATCH_SECONDS = 150
"""Three heartbeats of 30 seconds, and some time for the server."""

FLOW = "prefect.engine"
"""A word in the command of the process that runs a flow."""


@pytest.fixture(scope="module")
def prepared(fleet):
    """A clone in which all stages before a training of some seconds are done."""
    clone = fleet.clone("prepared")
    settings = f"train.budget.steps={STEPS} train.training.validate_every={VALIDATE_EVERY}"
    return clone.run(f"python -m stages.configure {settings}").run("dvc repro embeddings shard")


@pytest.fixture(scope="module")
def undisturbed(fleet, prepared):
    """Results that all runs must have."""
    return by_hand(fleet.clone("undisturbed", source=prepared)).run("dvc repro train")


def by_hand(clone):
    """Return a clone whose stages run without MLflow, which takes seconds."""
    return Untracked(clone.folder, clone.shared)


class Training:
    """A run of its own deployment, in the middle of its training."""

    def __init__(self, fleet, name, source):
        self.fleet = fleet
        self.clone = fleet.clone(name, source=source)
        self.pool = name
        self.deployment = fleet.own_deployment("train/train", name)

    def begin(self):
        self.run = self.fleet.submit(self.deployment, until="train")
        self.clone.trained_to(LATER)
        return self.run

    def worker(self):
        return self.fleet.worker(self.clone, self.pool)

    def flow(self):
        return self.clone.process("python", FLOW)

    def nothing_is_left(self, *words):
        """Wait until no process is left, or no process with one of some words in its command."""

        def left():
            commands = map(read_command, self.clone.processes())
            return [one for one in commands if not words or any(word in one for word in words)]

        assert wait_for(lambda: not left(), seconds=60), left()

    def continues_to(self, undisturbed):
        """Run it again by hand."""
        assert self.clone.checkpoints()
        by_hand(self.clone).run("dvc repro train")
        assert re.search(r"continuing from step \d+", self.clone.log)
        assert undisturbed.model == self.clone.model
        assert undisturbed.lock == self.clone.lock


@pytest.fixture(scope="module")
def silenced(fleet, prepared):
    """Kill worker and flow at once, like a machine that vanishes without a message."""
    training = Training(fleet, "silenced", prepared)
    with training.worker():
        training.begin()
        for process in training.clone.processes():
            process.kill()
    return training


@pytest.mark.parametrize("victim", ["flow killed", "worker killed", "worker stopped"])
def test_training_survives_killed_processes(silenced, fleet, prepared, undisturbed, victim):
    training = Training(fleet, victim.replace(" ", "-"), prepared)
    with training.worker() as worker:
        run = training.begin()
        match victim:
            case "flow killed":
                training.flow().kill()
            case "worker killed":
                worker.kill()  # the program of `make worker`; Prefect's worker ends with it
            case "worker stopped":
                worker.send_signal(signal.SIGTERM)
                assert worker.wait(180) == 0
        fleet.wait(run, "Crashed", seconds=300)
        training.nothing_is_left("stages.", "dvc")
    training.nothing_is_left()

    training.continues_to(undisturbed)


def test_cancelled_training_saves_and_ends(fleet, prepared, undisturbed):
    training = Training(fleet, "cancelled", prepared)
    with training.worker():
        run = training.begin()
        before = max(training.clone.checkpoints())
        fleet.api("POST", f"/flow_runs/{run}/set_state", state={"type": "CANCELLING"}, force=False)
        training.nothing_is_left("stages.", "dvc")
        fleet.wait(run, "Cancelled", seconds=300)
    assert max(training.clone.checkpoints()) > before

    training.continues_to(undisturbed)


def test_prefect_and_mlflow_outages_are_survived(fleet, prepared, undisturbed, servers):
    """Training does not wait; data is sent after the outage, each point once."""
    training = Training(fleet, "servers-away", prepared)
    with training.worker():
        run = training.begin()
        servers.prefect.kill()
        servers.mlflow.kill()
        step = last_step(training.clone)
        assert wait_for(lambda: last_step(training.clone) >= step + 100, seconds=300)
        servers.prefect.launch()
        servers.prefect.wait()
        fleet.wait(run, "Completed", seconds=300)
        servers.mlflow.launch()
        servers.mlflow.wait()
    training.clone.run("python -m stages.tracking sync")

    assert undisturbed.lock == training.clone.lock
    check_points(servers, training.clone)


def test_outage_of_the_remote_is_survived(fleet, prepared, undisturbed):
    """The results and their inputs are pushed when it answers again."""
    clone, remote = fleet.clone("remote-away", source=prepared), fleet.folder / "remote"
    remote.mkdir()
    clone.remote(remote)
    deployment = fleet.own_deployment("part/stages-on-cpu", "remote-away")
    params = (clone.folder / "params.yaml").read_text()
    revision = clone.run("git rev-parse HEAD").log.strip()
    with fleet.worker(clone, "remote-away"):
        run = fleet.submit(deployment, stages=["train"], revision=revision, params=params)
        clone.trained_to(LATER)
        away = remote.rename(fleet.folder / "away")
        remote.touch()
        assert wait_for(lambda: "dvc push failed" in fleet.said(run), seconds=300)
        assert fleet.state(run)["name"] == "Running"
        remote.unlink()
        away.rename(remote)
        fleet.wait(run, "Completed", seconds=300)
    other = fleet.clone("remote-back")
    other.remote(remote)
    (other.folder / "params.yaml").write_text(params)
    other.run("dvc repro --pull train")

    assert other.ran == []
    assert undisturbed.lock == clone.lock == other.lock


def test_two_runs_of_one_stage_run_it_once(fleet, prepared, undisturbed):
    training = Training(fleet, "two-at-once", prepared)
    with fleet.worker(training.clone, training.pool, "--limit", "2"):
        both = [fleet.submit(training.deployment, until="train") for _ in range(2)]
        for run in both:
            fleet.wait(run, "Completed", seconds=300)
        said = [fleet.said(run) for run in both]

    assert 1 == sum("Running stage 'train'" in words for words in said)
    assert 1 == sum("another run uses" in words for words in said)
    assert undisturbed.lock == training.clone.lock


def test_vanished_machine_is_detected(silenced, fleet, undisturbed):
    """The automation of make deploy detects it; otherwise the run would stay Running forever."""
    fleet.wait(silenced.run, "Crashed", seconds=WATCH_SECONDS)
    assert "heartbeats" in fleet.state(silenced.run)["message"]
    silenced.continues_to(undisturbed)


def journaled(clone):
    """Return all points in the journals of a clone, once each."""
    found = set()
    for journal in clone.folder.glob("runs/*/journal.jsonl"):
        for line in journal.read_text().splitlines():
            entry = json.loads(line)
            if entry["kind"] == "metrics":
                found |= {(name, entry["step"], value) for name, value in entry["values"].items()}
    return sorted(found)


def last_step(clone):
    """Return the last step in a journal of a clone."""
    return max(step for _, step, _ in journaled(clone))


def check_points(servers, clone):
    """Check that MLflow has all points of the clone's journal once; other clones add points."""
    known = points(servers, clone)
    assert set(journaled(clone)) <= set(known)
    assert len(known) == len(set(known))


def points(servers, clone):
    """Return all points in MLflow of a clone's runs."""
    names = [path.parent.name for path in clone.folder.glob("runs/*/journal.jsonl")]
    fingerprint = min(names, key=len)  # fingerprints of evaluations are longer
    with patch.dict(os.environ, servers.environment):
        client = MlflowClient(servers.environment["MLFLOW_TRACKING_URI"])
        experiments = [one.experiment_id for one in client.search_experiments()]
        [run] = client.search_runs(experiments, f"tags.`nmt.fingerprint` = '{fingerprint}'")
        return sorted(
            (name, point.step, point.value)
            for name in run.data.metrics
            for point in client.get_metric_history(run.info.run_id, name)
        )

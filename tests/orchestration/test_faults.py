"""What trainings survive: every process killed, every server gone, a run cancelled, two at once.

Each must end in the right state within its time, leave no process and lose nothing: the same again
continues from the checkpoint and ends in the bytes of a training that nobody disturbed.
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
"""The watch over dead runs takes three heartbeats of 30 seconds, and a little for the server."""

FLOW = "prefect.engine"
"""In the command of the process that runs a flow."""


@pytest.fixture(scope="module")
def prepared(fleet):
    """A clone in which everything but a training of some seconds is done."""
    clone = fleet.clone("prepared")
    settings = f"train.budget.steps={STEPS} train.training.validate_every={VALIDATE_EVERY}"
    return clone.run(f"python -m stages.configure {settings}").run("dvc repro embeddings shard")


@pytest.fixture(scope="module")
def undisturbed(fleet, prepared):
    """What all must come to."""
    return by_hand(fleet.clone("undisturbed", source=prepared)).run("dvc repro train")


def by_hand(clone):
    """Return a clone as one in which stages do without MLflow, which takes seconds."""
    return Untracked(clone.folder, clone.shared)


class Training:
    """A run of a deployment of its own, seen until it is in the middle of training."""

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
        """Wait until no process is left, or none whose command has one of some words."""

        def left():
            commands = map(read_command, self.clone.processes())
            return [one for one in commands if not words or any(word in one for word in words)]

        assert wait_for(lambda: not left(), seconds=60), left()

    def continues_to(self, undisturbed):
        """The same again, by hand."""
        assert self.clone.checkpoints()
        by_hand(self.clone).run("dvc repro train")
        assert re.search(r"continuing from step \d+", self.clone.log)
        assert undisturbed.model == self.clone.model
        assert undisturbed.lock == self.clone.lock


@pytest.fixture(scope="module")
def silenced(fleet, prepared):
    """A machine that vanishes: worker and flow are killed at once, and nobody says so."""
    training = Training(fleet, "silenced", prepared)
    with training.worker():
        training.begin()
        for process in training.clone.processes():
            process.kill()
    return training


@pytest.mark.parametrize("victim", ["flow killed", "worker killed", "worker stopped"])
def test_a_training_survives_its_processes(silenced, fleet, prepared, undisturbed, victim):
    training = Training(fleet, victim.replace(" ", "-"), prepared)
    with training.worker() as worker:
        run = training.begin()
        match victim:
            case "flow killed":
                training.flow().kill()
            case "worker killed":
                worker.kill()  # the program of `make worker`; Prefect's below it dies with it
            case "worker stopped":
                worker.send_signal(signal.SIGTERM)
                assert worker.wait(180) == 0
        fleet.wait(run, "Crashed", seconds=300)
        training.nothing_is_left("stages.", "dvc")
    training.nothing_is_left()

    training.continues_to(undisturbed)


def test_a_cancelled_training_saves_and_ends(fleet, prepared, undisturbed):
    training = Training(fleet, "cancelled", prepared)
    with training.worker():
        run = training.begin()
        before = max(training.clone.checkpoints())
        fleet.api("POST", f"/flow_runs/{run}/set_state", state={"type": "CANCELLING"}, force=False)
        training.nothing_is_left("stages.", "dvc")
        fleet.wait(run, "Cancelled", seconds=300)
    assert max(training.clone.checkpoints()) > before

    training.continues_to(undisturbed)


def test_prefect_and_mlflow_may_go_and_come_back(fleet, prepared, undisturbed, servers):
    """Training does not wait; its end is told when somebody listens again, and each point once."""
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


def test_remote_may_go_and_come_back(fleet, prepared, undisturbed):
    """The results are pushed when it is back, with all that they were made from."""
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


def test_a_vanished_machine_is_noticed(silenced, fleet, undisturbed):
    """By the watch that make deploy installs; without it the run would stay Running for ever."""
    fleet.wait(silenced.run, "Crashed", seconds=WATCH_SECONDS)
    assert "three heartbeats" in fleet.state(silenced.run)["message"]
    silenced.continues_to(undisturbed)


def journaled(clone):
    """All points that the journals of a clone hold, once each."""
    found = set()
    for journal in clone.folder.glob("runs/*/journal.jsonl"):
        for line in journal.read_text().splitlines():
            entry = json.loads(line)
            if entry["kind"] == "metrics":
                found |= {(name, entry["step"], value) for name, value in entry["values"].items()}
    return sorted(found)


def last_step(clone):
    """The last step that a journal of a clone speaks of."""
    return max(step for _, step, _ in journaled(clone))


def check_points(servers, clone):
    """MLflow has all that the clone's journal has, and nothing twice; others add to the run."""
    known = points(servers, clone)
    assert set(journaled(clone)) <= set(known)
    assert len(known) == len(set(known))


def points(servers, clone):
    """All points that MLflow has of a clone's runs."""
    names = [path.parent.name for path in clone.folder.glob("runs/*/journal.jsonl")]
    fingerprint = min(names, key=len)  # those of evaluations are longer
    with patch.dict(os.environ, servers.environment):
        client = MlflowClient(servers.environment["MLFLOW_TRACKING_URI"])
        experiments = [one.experiment_id for one in client.search_experiments()]
        [run] = client.search_runs(experiments, f"tags.`nmt.fingerprint` = '{fingerprint}'")
        return sorted(
            (name, point.step, point.value)
            for name in run.data.metrics
            for point in client.get_metric_history(run.info.run_id, name)
        )

"""Workers on real servers: what becomes of their runs when they stop, and when they crash."""

import signal
import subprocess
import sys
import uuid

import pytest

from tests.support.processes import marked, wait_for
from tests.support.projects import PROJECT, a_users_environment

STAGE = """\
import signal, sys, time
from pathlib import Path
def save(*_):
    time.sleep(1)
    Path(sys.argv[1], "saved").touch()
    sys.exit()
signal.signal(signal.SIGTERM, save)
Path(sys.argv[1], "training").touch()
time.sleep(600)
"""
FLOW = """\
from flows import dvc_program, processes
import subprocess, sys
from prefect import flow

@flow
def work(folder: str | None = None):
    if folder is None:
        return
    stage = subprocess.Popen(
        processes.leash([sys.executable, "stage.py", folder]), start_new_session=True
    )
    try:
        stage.wait()
    except BaseException:
        stage.terminate()
        raise
"""


class Machine:
    """A folder with a flow, a pool of its own, and the workers that were started for it."""

    def __init__(self, folder, fleet):
        self.folder = folder
        self.fleet = fleet
        self.pool = f"pool-{uuid.uuid4().hex[:8]}"
        self.mark = uuid.uuid4().hex
        (folder / "infra").symlink_to(PROJECT / "infra")
        (folder / "flow.py").write_text(FLOW)
        (folder / "stage.py").write_text(STAGE)
        self.workers = []

    @property
    def environment(self):
        ours = a_users_environment() | self.fleet.servers.environment
        return ours | {
            "MACHINE": self.mark,
            "PREFECT_HOME": str(self.folder / "prefect"),
            "PYTHONPATH": str(PROJECT),
        }

    def start(self, *options):
        with (self.folder / "worker.log").open("ab") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "flows.worker", self.pool, *options],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
            )
        self.workers.append(worker)
        assert wait_for(lambda: self.said.count("started!") == len(self.workers), seconds=180)
        return worker

    @property
    def said(self):
        return (self.folder / "worker.log").read_text()

    def submit(self, name=None):
        """Ask for a run that does nothing, or one that trains in a folder of this name."""
        parameters = {}
        if name is not None:
            (self.folder / name).mkdir()
            parameters = {"folder": str(self.folder / name)}
        return self.fleet.submit(f"work/{self.pool}", **parameters)

    def deploy(self):
        flow = self.fleet.api("POST", "/flows/", name="work")
        self.fleet.api(
            "POST",
            "/deployments/",
            name=self.pool,
            flow_id=flow["id"],
            work_pool_name=self.pool,
            entrypoint="flow.py:work",
            pull_steps=[
                {
                    "prefect.deployments.steps.set_working_directory": {
                        "directory": "{{ $NMT_PROJECT }}"
                    }
                }
            ],
        )

    def trains(self, name):
        return wait_for((self.folder / name / "training").exists, seconds=180)

    def everything(self):
        return marked("MACHINE", self.mark)


@pytest.fixture(scope="module")
def machine(fleet, tmp_path_factory):
    machine = Machine(tmp_path_factory.mktemp("machine"), fleet)
    yield machine
    for process in machine.everything():
        process.kill()
    for worker in machine.workers:
        worker.wait()


def test_worker_makes_its_pool_and_works_in_its_folder(machine, fleet):
    machine.start()
    machine.deploy()

    fleet.wait(machine.submit(), "Completed", seconds=180)
    template = fleet.api("GET", f"/work_pools/{machine.pool}")["base_job_template"]
    environment = template["variables"]["properties"]["env"]["default"]
    assert "20" == environment["PREFECT_CLIENT_MAX_RETRIES"]


def test_stopped_worker_waits_until_its_run_has_saved(machine, fleet):
    worker = machine.workers[-1]
    run = machine.submit("stopped")
    assert machine.trains("stopped")
    heartbeats = {
        "event": {"name": ["prefect.flow-run.heartbeat"]},
        "resource": {"id": [f"prefect.flow-run.{run}"]},
    }
    assert wait_for(
        lambda: fleet.api("POST", "/events/filter", filter=heartbeats)["events"], seconds=60
    )

    worker.send_signal(signal.SIGTERM)

    assert 0 == worker.wait(180)
    assert (machine.folder / "stopped" / "saved").exists()
    assert [] == machine.everything()
    fleet.wait(run, "Crashed", seconds=300)  # three heartbeats are missed


def test_interrupted_worker_leaves_nothing(machine):
    worker = machine.start()

    worker.send_signal(signal.SIGINT)

    assert 0 == worker.wait(180)
    assert [] == machine.everything()

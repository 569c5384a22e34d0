"""The real flow: a Prefect that starts its own server, and a DVC that runs three toy stages."""

import shutil
import signal
import sqlite3
import subprocess
import sys
import uuid
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import yaml

from nmt_core.base.packages import name_program
from tests.support.processes import marked, wait_for
from tests.support.projects import PROJECT, a_users_environment

STAGES = ("prepare", "train", "export")

pytestmark = pytest.mark.slow

STAGE = """\
import ctypes, signal, sys, time
from pathlib import Path

ctypes.CDLL(None).prctl(1, signal.SIGTERM)
stage, source, target = sys.argv[1:]
with open("ran.txt", "a") as ran:
    print(stage, file=ran)
print("this is", stage)
if stage == "train" and Path("sleep.txt").exists():
    time.sleep(600)
if "fail" in Path(source).read_text():
    sys.exit(3)
Path(target).write_text(Path(source).read_text() + stage)
"""

PARAMS = """\
download:
  languages: {source: de, target: en}
  corpora: {own: {kind: files, train: {source: text.tsv}}}
"""

FLOW = """\
from stages.configure import sections

sections.check_all = dict  # a toy has no other parameters

import typer
from flows.train import main

typer.run(main)
"""


@dataclass
class Toy:
    """A project of three stages, and the processes that were started for it."""

    folder: Path
    prefect_home: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        files = [f"{stage}.txt" for stage in (*STAGES, "end")]
        stages = {
            stage: {
                "cmd": f"exec python stage.py {stage} {source} {target}",
                "deps": ["stage.py", source],
                "outs": [target],
            }
            for stage, source, target in zip(STAGES, files[:-1], files[1:], strict=True)
        }
        self.write("dvc.yaml", yaml.safe_dump({"stages": stages}, sort_keys=False))
        self.write("params.yaml", PARAMS)
        self.write("prepare.txt", "A line of our own.\n")
        self.write("stage.py", STAGE)
        self.write("flow.py", FLOW)
        subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)
        self.run("dvc", "init", "-q").check_returncode()

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def ran(self) -> list[str]:
        file = self.folder / "ran.txt"
        return file.read_text().split() if file.exists() else []

    @property
    def environment(self) -> dict[str, str]:
        return a_users_environment() | {
            "PREFECT_HOME": str(self.prefect_home),
            "PYTHONPATH": str(PROJECT),
            "SHELL": "/bin/sh",  # which stays between dvc and its stage, unlike bash
            "TOY": self.mark,
        }

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log.txt").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
            )

    def processes(self) -> list[psutil.Process]:
        """Return what runs anywhere with our mark in its environment."""
        return marked("TOY", self.mark)

    def database(self, query: str) -> list[str]:
        with closing(sqlite3.connect(self.prefect_home / "prefect.db")) as database:
            return [value for (value,) in database.execute(query)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    toy = Toy(tmp_path_factory.mktemp("finished") / "project", tmp_path_factory.mktemp("prefect"))
    return toy, toy.run("flow")


def test_every_stage_is_a_task_that_completes(finished):
    toy, flow = finished

    assert flow.returncode == 0, flow.stderr
    assert list(STAGES) == toy.ran()
    for stage in STAGES:
        assert f"Task run '{stage}' - this is {stage}" in flow.stderr
        assert f"Task run '{stage}' - Finished in state Completed()" in flow.stderr


def test_the_flow_makes_what_dvc_alone_makes(finished, tmp_path):
    toy, _ = finished
    plain = Toy(tmp_path / "project", toy.prefect_home)
    plain.run("dvc", "repro", "-q").check_returncode()

    lock = (plain.folder / "dvc.lock").read_text()
    assert lock == (toy.folder / "dvc.lock").read_text()


def test_a_second_run_runs_no_stage_and_no_server(finished):
    toy, _ = finished
    before = toy.ran()

    again = toy.run("flow")

    assert (0, "All stages are up to date.\n", "") == (again.returncode, again.stdout, again.stderr)
    assert before == toy.ran()


def test_a_failing_stage_fails_the_flow_in_one_sentence(finished, tmp_path):
    toy = Toy(tmp_path / "project", finished[0].prefect_home)
    toy.write("prepare.txt", "fail")
    flow = toy.run("flow")

    dvc = name_program("dvc")
    sentence = f"stage 'prepare' exited with 3; repeat it: {dvc} repro --single-item prepare"
    assert flow.returncode == 1
    assert f"error: {sentence}" == flow.stderr.splitlines()[-1]
    assert "Traceback" not in flow.stderr
    assert toy.ran() == ["prepare"]


def test_a_wrong_parameter_costs_no_server(tmp_path):
    toy = Toy(tmp_path / "project", tmp_path / "prefect")
    toy.write("params.yaml", "trian: {}\n")
    flow = toy.run("flows.train")

    assert flow.returncode == 1
    assert "error: params.yaml: trian is not a section" in flow.stderr
    assert not (toy.prefect_home / "prefect.db").exists()


ENDINGS = {
    "killed": (signal.SIGKILL, lambda flow: flow, "CRASHED"),
    "killed at work": (signal.SIGKILL, lambda flow: flow.children()[0], "RUNNING"),
    "terminated": (signal.SIGTERM, lambda flow: flow, "CRASHED"),
    "interrupted": (signal.SIGINT, lambda flow: flow, "CRASHED"),
}


@pytest.fixture(scope="module")
def sleeping(tmp_path_factory, finished):
    """Flows in the middle of a stage, all started at once because Prefect's servers are slow."""
    toys = {}
    for ending in ENDINGS:
        folder = tmp_path_factory.mktemp("sleeping")
        shutil.copytree(finished[0].prefect_home, folder / "prefect")
        toys[ending] = Toy(folder / "project", folder / "prefect")
        toys[ending].write("sleep.txt", "")
    ours = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell starts with & at the end
    flows = {ending: toy.start("flow") for ending, toy in toys.items()}
    signal.signal(signal.SIGINT, ours)
    try:
        for toy in toys.values():
            assert wait_for(lambda toy=toy: "train" in toy.ran(), seconds=180)
        yield {ending: (toys[ending], flows[ending]) for ending in ENDINGS}
    finally:
        for toy in toys.values():
            for process in toy.processes():
                process.kill()
        for flow in flows.values():
            flow.wait()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_flow_that_ends_leaves_nothing_behind(sleeping, ending):
    """Neither its stage, nor dvc, nor Prefect's server; the run is not left as running."""
    toy, flow = sleeping[ending]
    number, victim, state = ENDINGS[ending]
    assert len(toy.processes()) >= 5  # two flow processes, server, dvc, stage

    victim(psutil.Process(flow.pid)).send_signal(number)

    assert wait_for(lambda: flow.poll() is not None and not toy.processes(), seconds=60)
    [ended] = toy.database("select state_type from flow_run order by created desc limit 1")
    assert state == ended

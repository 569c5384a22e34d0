"""A real flow: Prefect with its own server, and DVC with three toy stages."""

import shutil
import signal
import sqlite3
import uuid
from contextlib import closing

import psutil
import pytest
import yaml

from nmt_core.base.packages import name_program
from tests.support.processes import marked, wait_for
from tests.support.projects import PROJECT, Copy

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


class Toy(Copy):
    """A project of three stages, and its processes."""

    def __init__(self, folder, shared):
        super().__init__(folder, shared)
        self.mark = uuid.uuid4().hex
        folder.mkdir()
        names = [f"{stage}.txt" for stage in (*STAGES, "end")]
        stages = {
            stage: {
                "cmd": f"exec python stage.py {stage} {source} {target}",
                "deps": ["stage.py", source],
                "outs": [target],
                "meta": {"pool": "cpu"},
            }
            for stage, source, target in zip(STAGES, names[:-1], names[1:], strict=True)
        }
        self.write("dvc.yaml", yaml.safe_dump({"stages": stages}, sort_keys=False))
        self.write("params.yaml", PARAMS)
        self.write("prepare.txt", "A line of our own.\n")
        self.write("stage.py", STAGE)
        self.write("flow.py", FLOW)
        self.run("git init -q").run("dvc init -q")

    def write(self, name, text):
        (self.folder / name).write_text(text)

    @property
    def ran(self):
        file = self.folder / "ran.txt"
        return file.read_text().split() if file.exists() else []

    @property
    def environment(self):
        ours = {"PYTHONPATH": str(PROJECT), "TOY": self.mark}
        return super().environment | ours | {"SHELL": "/bin/sh"}  # stays between dvc and its stage

    def processes(self):
        """Return all processes with this test's mark in their environment."""
        return marked("TOY", self.mark)

    def read_state(self):
        with closing(sqlite3.connect(self.shared / "prefect/prefect.db")) as database:
            query = "select state_type from flow_run order by created desc limit 1"
            return database.execute(query).fetchone()[0]


FLOW_COMMAND = "python -m flow"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    return Toy(folder / "project", folder).run(FLOW_COMMAND)


@pytest.fixture
def another(finished, tmp_path):
    """A project before any stage ran, with the same server."""
    return Toy(tmp_path / "project", finished.shared)


@pytest.mark.whole
def test_stages_are_tasks_and_run_once(finished, another):
    """DVC alone gives the same results."""
    assert list(STAGES) == finished.ran
    for stage in STAGES:
        assert f"Task run '{stage}' - this is {stage}" in finished.log
        assert f"Task run '{stage}' - Finished in state Completed()" in finished.log
    assert finished.lock == another.run("dvc repro -q").lock
    finished.run(FLOW_COMMAND)
    assert finished.log == "All stages are up to date.\n"
    assert list(STAGES) == finished.ran


def test_failing_stage_fails_the_flow_in_one_sentence(another, monkeypatch):
    monkeypatch.chdir(another.folder)
    another.write("prepare.txt", "fail")
    assert another.fails(FLOW_COMMAND) == 1
    dvc = name_program("dvc")
    sentence = f"stage 'prepare' exited with 3; repeat it: {dvc} repro --single-item prepare"
    assert f"error: {sentence}" == another.log.splitlines()[-1]
    assert "Traceback" not in another.log
    assert another.ran == ["prepare"]


def test_wrong_setting_is_reported_without_a_server(tmp_path):
    toy = Toy(tmp_path / "project", tmp_path)
    toy.write("params.yaml", "trian: {}\n")

    assert toy.fails("python -m flows.train") == 1
    assert "error: params.yaml: trian is not a section" in toy.log
    assert not (tmp_path / "prefect/prefect.db").exists()


ENDINGS = {
    "killed": (signal.SIGKILL, lambda flow: flow, "CRASHED"),
    "killed at work": (signal.SIGKILL, lambda flow: flow.children()[0], "RUNNING"),
    "terminated": (signal.SIGTERM, lambda flow: flow, "CRASHED"),
    "interrupted": (signal.SIGINT, lambda flow: flow, "CRASHED"),
}


@pytest.fixture(scope="module")
def sleeping(tmp_path_factory, finished):
    """Flows in the middle of a stage, started at once, because Prefect's servers start slowly."""
    toys = {}
    for ending in ENDINGS:
        folder = tmp_path_factory.mktemp("sleeping")
        shutil.copytree(finished.shared / "prefect", folder / "prefect")
        toys[ending] = Toy(folder / "project", folder)
        toys[ending].write("sleep.txt", "")
    ours = signal.signal(signal.SIGINT, signal.SIG_IGN)  # like a shell with & at the end
    flows = {ending: toy.start(FLOW_COMMAND) for ending, toy in toys.items()}
    signal.signal(signal.SIGINT, ours)
    try:
        for toy in toys.values():
            assert wait_for(lambda toy=toy: "train" in toy.ran, seconds=180)
        yield {ending: (toys[ending], flows[ending]) for ending in ENDINGS}
    finally:
        for toy in toys.values():
            for process in toy.processes():
                process.kill()
        for flow in flows.values():
            flow.wait()


@pytest.mark.parametrize("ending", ENDINGS)
def test_ended_flow_leaves_no_processes(sleeping, ending):
    """Stage, dvc and Prefect's server have ended, and the run is not Running."""
    toy, flow = sleeping[ending]
    number, victim, state = ENDINGS[ending]
    assert len(toy.processes()) >= 5  # two flow processes, server, dvc, stage

    victim(psutil.Process(flow.pid)).send_signal(number)

    assert wait_for(lambda: flow.poll() is not None and not toy.processes(), seconds=60)
    assert state == toy.read_state()

"""One model trained by two processes that are stopped, killed and hung, by the command itself.

At last they are those of two nodes, one of which dies.
"""

import signal
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace

import psutil
import pytest
import submitit

from flows import slurm
from flows.dvc_program import StageError
from nmt_core.training.settings import WorldConfig
from tests.support.pipeline import list_data_stages
from tests.support.processes import at_work_in
from tests.support.projects import SMALL, TRANSFORMER, Untracked, copy_project, overrides

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a parent's death"),
]

STEPS, VALIDATE_EVERY, TIMEOUT_SECONDS = 160, 40, 30
SETTINGS = {
    **SMALL,
    **TRANSFORMER,
    "train.model.width": 16,
    "train.model.feed_forward_width": 32,
    "train.batching.max_tokens": 128,
    "train.compute.processes": 2,
    "train.compute.timeout_seconds": TIMEOUT_SECONDS,
    "train.budget.steps": STEPS,
    "train.training.validate_every": VALIDATE_EVERY,
    "train.training.log_every": 1,
    "train.training.validation_sentences": 2,
    "train.training.ema_decay": 0.9,
}
TRAIN = "python -m stages.train"


@dataclass
class End:
    """How a training ended."""

    code: int
    log: str
    left: list
    checkpoints: list


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    shared = tmp_path_factory.mktemp("shared")
    copy = Untracked(tmp_path_factory.mktemp("prepared") / "project", shared)
    copy_project(copy.folder, parts=("conf", "flows", "nmt_core", "stages"), names=["dvc.yaml"])
    settings = f"data=demo model=transformer {overrides(**SETTINGS)}"
    return copy.run_stages("configure.__main__", *list_data_stages(), settings=settings)


def disturb(copy, step, disturbance, meanwhile=lambda: None):
    """Train up to a step, and see what comes of a disturbance of the program and its two ranks."""
    with copy.start(TRAIN) as process:
        copy.trained_to(step)
        program = psutil.Process(process.pid)
        ranks = {int(child.environ()["RANK"]): child for child in program.children()}
        disturbance(program, ranks)
        meanwhile()
        code = process.wait()
    _, left = psutil.wait_procs(ranks.values(), timeout=2 * TIMEOUT_SECONDS)
    alive = [rank for rank in left if rank.status() != psutil.STATUS_ZOMBIE]
    return End(code, copy.log, alive, sorted(copy.checkpoints()))


def train_again():
    """Repeat the command once a job has failed."""
    with pytest.raises(StageError, match="left no model"):
        slurm.train_on_nodes(2, print)
    slurm.train_on_nodes(2, print)


@contextmanager
def lose_node(copy, step):
    """Train as two nodes, one of which dies at a step; the block runs meanwhile."""
    executor = submitit.AutoExecutor(folder=copy.folder / slurm.JOBS, cluster="local")
    executor.update_parameters(tasks_per_node=2, timeout_min=20, stderr_to_stdout=True)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor() as threads:
        patch.chdir(copy.folder)
        patch.setattr(slurm, "make_executor", lambda _: executor)
        for name, value in (copy.environment | {"GLOO_SOCKET_IFNAME": "lo"}).items():
            patch.setenv(name, value)
        world = WorldConfig(processes=1, timeout_seconds=TIMEOUT_SECONDS)
        patch.setattr(slurm, "load", lambda *_: SimpleNamespace(compute=world))
        running = threads.submit(train_again)
        copy.trained_to(step)
        second = next(p for p in at_work_in(copy.folder) if p.environ().get("RANK") == "1")
        second.kill()
        yield
        running.result()


@pytest.fixture(scope="module")
def story(prepared, tmp_path_factory):
    """What happens to trainings, and what comes of one left in peace."""
    hung, disturbed, peaceful = (
        prepared.copy(tmp_path_factory.mktemp(name) / "project")
        for name in ("hung", "disturbed", "peaceful")
    )
    ends = {}

    def meanwhile():
        ends["stopped"] = disturb(disturbed, 41, lambda program, _: program.terminate())
        ends["orphaned"] = disturb(disturbed, 65, lambda program, _: program.kill())
        ends["killed"] = disturb(disturbed, 100, lambda _, ranks: ranks[1].kill())
        with lose_node(disturbed, 121):
            peaceful.run(TRAIN)

    ends["hung"] = disturb(hung, 41, lambda _, ranks: ranks[1].suspend(), meanwhile)
    return ends, disturbed, peaceful


def test_nothing_is_left_behind(story):
    ends, *_ = story

    assert {name: [] for name in ends} == {name: end.left for name, end in ends.items()}


def test_a_terminated_training_saves(story):
    end = story[0]["stopped"]

    assert end.code == 128 + signal.SIGTERM
    assert max(end.checkpoints) > VALIDATE_EVERY
    assert "rank" not in end.log


def test_processes_save_when_their_parent_is_killed(story):
    end = story[0]["orphaned"]

    assert end.code == -signal.SIGKILL
    assert max(end.checkpoints) >= 65


@pytest.mark.parametrize("how", ["killed", "hung"])
def test_a_lost_process_is_named_once(story, how):
    end = story[0][how]

    assert end.code == 1
    assert end.log.count("rank 1 was ended by SIGKILL; ") == 1
    assert end.log.rstrip().endswith("the same command continues from the last checkpoint")
    assert "Traceback" not in end.log
    if how == "hung":
        assert "rank 0 has lost another process of the training (Timed out" in end.log


def test_whatever_happened_the_bytes_are_the_same(story):
    _, disturbed, peaceful = story

    assert "continuing from step" in disturbed.log
    assert "continuing from step" not in peaceful.log
    assert disturbed.model == peaceful.model
    for name in ("reports/learning_curve.csv", "metrics/train.json"):
        assert (disturbed.folder / name).read_bytes() == (peaceful.folder / name).read_bytes()


def test_next_job_continues_after_a_lost_node(story):
    """Either node may have rank 0, which speaks."""
    logs = defaultdict(str)
    for log in story[1].folder.glob("runs/nodes/*_log.out"):
        logs[int(log.name.partition("_")[0])] += log.read_text()
    first, second = (logs[job] for job in sorted(logs))

    assert "continuing from step" in first
    assert "continuing from step 120\n" in second


def test_only_one_process_speaks(story):
    *_, peaceful = story

    assert peaceful.log.count(f"step {STEPS:>7,}  epoch") == 1
    assert len(list(peaceful.folder.glob("checkpoints/*"))) == 1

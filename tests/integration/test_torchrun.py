"""One model trained by two processes that are stopped, killed or hanging, by the real command.

The last test has two nodes, one of which fails.
"""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
import pytest

from tests.support.pipeline import list_data_stages
from tests.support.processes import at_work_in
from tests.support.projects import PROJECT, SMALL, TRANSFORMER, Untracked, copy_project, overrides

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
    """The end of a training: exit code and output."""

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
    """Train up to a step, disturb the program and its two ranks, and return the ends."""
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


SRUN = """\
#!/bin/bash
while [ "${1#--}" != "$1" ]; do shift; done
for node in 0 1; do
  SLURM_NODEID=$node SLURMD_NODENAME=127.0.0.1 SLURM_JOB_NUM_NODES=2 "$@" & jobs="$jobs $!"
done
for job in $jobs; do wait "$job" || failed=1; done
exit ${failed:-0}
"""
PROGRAMS = {"srun": SRUN, "scontrol": "#!/bin/sh\necho 127.0.0.1\n", "dvc": "#!/bin/sh\necho $*\n"}
"""Stand-ins for the programs of a cluster, whose two machines are this one."""


def submit(copy, restarts):
    """Run the script of the job like Slurm; return its exit code and output."""
    script = ["bash", str(PROJECT / "infra/slurm/train.sbatch")]
    job = {"SLURM_JOB_ID": "1042", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_RESTART_COUNT": restarts}
    environment = copy.environment | job | {"GLOO_SOCKET_IFNAME": "lo", "PROCESSES": "1"}
    environment["PATH"] = f"{copy.folder / 'bin'}:{environment['PATH']}"
    done = subprocess.run(
        script, cwd=copy.folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@contextmanager
def lose_node(copy, step, jobs):
    """Train as two nodes, one of which fails at a step; the block runs meanwhile."""
    (copy.folder / "bin").mkdir()
    for name, text in PROGRAMS.items():
        (copy.folder / "bin" / name).write_text(text)
        (copy.folder / "bin" / name).chmod(0o755)
    with ThreadPoolExecutor() as threads:
        running = threads.submit(submit, copy, "0")
        copy.trained_to(step)
        second = next(p for p in at_work_in(copy.folder) if p.environ().get("RANK") == "1")
        second.kill()
        yield
        jobs += [running.result(), submit(copy, "1")]


@pytest.fixture(scope="module")
def story(prepared, tmp_path_factory):
    """Ends of disturbed trainings, and of an undisturbed one."""
    hung, disturbed, peaceful = (
        prepared.copy(tmp_path_factory.mktemp(name) / "project")
        for name in ("hung", "disturbed", "peaceful")
    )
    ends, jobs = {}, []

    def meanwhile():
        ends["stopped"] = disturb(disturbed, 41, lambda program, _: program.terminate())
        ends["orphaned"] = disturb(disturbed, 65, lambda program, _: program.kill())
        ends["killed"] = disturb(disturbed, 100, lambda _, ranks: ranks[1].kill())
        with lose_node(disturbed, 121, jobs):
            peaceful.run(TRAIN)

    ends["hung"] = disturb(hung, 41, lambda _, ranks: ranks[1].suspend(), meanwhile)
    return ends, jobs, disturbed, peaceful


def test_no_process_or_file_is_left(story):
    ends, *_ = story

    assert {name: [] for name in ends} == {name: end.left for name, end in ends.items()}


def test_terminated_training_saves(story):
    end = story[0]["stopped"]

    assert end.code == 128 + signal.SIGTERM
    assert max(end.checkpoints) > VALIDATE_EVERY
    assert "rank" not in end.log


def test_processes_save_when_their_parent_is_killed(story):
    end = story[0]["orphaned"]

    assert end.code == -signal.SIGKILL
    assert max(end.checkpoints) >= 65


@pytest.mark.parametrize("how", ["killed", "hung"])
def test_lost_process_is_reported_once(story, how):
    end = story[0][how]

    assert end.code == 1
    assert end.log.count("rank 1: killed by SIGKILL; ") == 1
    assert end.log.rstrip().endswith("the same command continues from the last checkpoint")
    assert "Traceback" not in end.log
    if how == "hung":
        assert "rank 0 lost another process of the training (Timed out" in end.log


def test_disturbed_trainings_end_in_the_same_bytes(story):
    *_, disturbed, peaceful = story

    assert "continuing from step" not in peaceful.log
    assert disturbed.model == peaceful.model
    for name in ("reports/learning_curve.csv", "metrics/train.json"):
        assert (disturbed.folder / name).read_bytes() == (peaceful.folder / name).read_bytes()


def test_next_job_continues_after_a_lost_node(story):
    """Only then does DVC record the model."""
    _, [(failed, first), (ended, second)], *_ = story

    assert (bool(failed), ended) == (True, 0)
    assert "continuing from step" in first
    assert "commit" not in first
    assert "continuing from step 120\n" in second
    assert "commit --force train\n" in second


def test_only_one_process_prints(story):
    *_, peaceful = story

    assert peaceful.log.count(f"step {STEPS:>7,}  epoch") == 1
    assert len(list(peaceful.folder.glob("checkpoints/*"))) == 1

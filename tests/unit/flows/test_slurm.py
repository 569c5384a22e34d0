"""The train stage as a Slurm job: what is submitted, and what happens to a job that fails."""

import os
import sys
from types import SimpleNamespace

import pytest
from submitit.core.utils import FailedJobError
from torch.distributed.run import get_args_parser

from flows import slurm
from flows.dvc_program import StageError
from flows.slurm import Torchrun, make_executor, run_job, train_on_nodes
from nmt_core.base.errors import NmtError
from nmt_core.training.settings import WorldConfig
from stages import paths

WORLD = WorldConfig(processes=4, timeout_seconds=20.5)


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A folder, and programs of Slurm that keep the script they are given."""
    programs = tmp_path / "bin"
    programs.mkdir()
    keep = 'echo "Submitted batch job 1042"; cp "$1" "$(dirname "$0")/script"'
    for name, text in {"sbatch": keep, "srun": "", "sacct": ""}.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return programs


class Executor:
    """Runs a program at once, in the place of Slurm."""

    def __init__(self, log, error=None):
        self.cancelled, self.error = False, error
        self.job_id, self.paths = "7", SimpleNamespace(stdout=log)

    def submit(self, program):
        self.program = program
        return self

    def results(self):
        if self.error:
            raise self.error
        self.program()

    def cancel(self, *, check):
        assert not check
        self.cancelled = True


@pytest.mark.parametrize(("node", "address", "host"), [(0, "a1", "1"), (1, "a2", "0")])
def test_all_nodes_meet_at_the_first(monkeypatch, node, address, host):
    monkeypatch.setenv("SLURM_RESTART_COUNT", "3")
    job = SimpleNamespace(hostnames=["a1", "a2"], node=node, global_rank=node, job_id="1042")
    python, *words = Torchrun(2, WORLD).build_command(job)
    options = get_args_parser().parse_args(words[2:])

    assert (python, words[:2]) == (sys.executable, ["-m", "torch.distributed.run"])
    assert (options.nnodes, options.nproc_per_node, options.max_restarts) == ("2", "4", 0)
    assert (options.module, options.training_script) == (True, "stages.train")
    assert (options.rdzv_backend, options.shutdown_timeout) == ("c10d", 21)
    assert (options.rdzv_endpoint, options.rdzv_id) == ("a1:29542", "1042.3")
    assert (options.local_addr, options.rdzv_conf) == (address, f"is_host={host}")


def test_script_asks_for_nodes_in_turn(cluster):
    make_executor(2).submit(Torchrun(2, WORLD))
    lines = (cluster / "script").read_text().splitlines()
    options = {line.removeprefix("#SBATCH --") for line in lines if line.startswith("#SBATCH")}

    assert {
        "nodes=2",
        "ntasks-per-node=1",
        "dependency=singleton",
        "exclusive",
        "requeue",
        "time=1440",
    } <= options
    assert [line for line in lines if "job-name=nmt-train-" in line]
    assert "--kill-on-bad-exit=1" in lines[-1]


def test_refusal_of_slurm_is_reported(cluster):
    (cluster / "sbatch").write_text(
        "#!/bin/sh\necho 'sbatch: error: invalid account' >&2\nexit 1\n"
    )

    with pytest.raises(NmtError, match="invalid account"):
        run_job(make_executor(2), Torchrun(2, WORLD), print)


@pytest.mark.parametrize("fault", [None, "failure", "no model"])
def test_job_without_a_model_fails_the_stage(tmp_path, monkeypatch, patch, fault):
    """Slurm reports success for a job that was cancelled while it waited."""
    monkeypatch.chdir(tmp_path)
    paths.TRAINED.mkdir(parents=True)  # of an earlier training
    executor, said = Executor(tmp_path / "log"), []

    def program():
        if fault == "failure":
            raise FailedJobError("rank 1 died")
        if fault is None:
            paths.TRAINED.mkdir()

    patch(
        slurm,
        make_executor=lambda nodes: {2: executor}[nodes],
        Torchrun=lambda nodes, compute: program,
        load=lambda *_: SimpleNamespace(compute=WORLD),
    )
    if fault is None:
        train_on_nodes(2, said.append)
    else:
        with pytest.raises(StageError, match=r"2 nodes left no model, see .*log") as failed:
            train_on_nodes(2, said.append)
        assert failed.value.code == 1
    assert executor.program is program
    assert ("rank 1 died" in said) == (fault == "failure")


def test_stop_cancels_the_job(tmp_path):
    executor = Executor(tmp_path / "log", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run_job(executor, lambda: None, print)

    assert executor.cancelled

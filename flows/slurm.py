"""The train stage on several machines, as a Slurm job that submitit submits.

The machines share the folder of this clone, and each starts torchrun.
"""

import hashlib
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import submitit
from submitit.core.utils import UncompletedJobError
from submitit.helpers import DelayedSubmission

from flows.dvc_program import StageError
from nmt_core.base.errors import NmtError
from nmt_core.training.settings import WorldConfig
from stages import paths
from stages.params import TrainParams, load

JOBS = paths.RUNS / "nodes"
"""Folder of the scripts and logs of jobs."""

MINUTES = 24 * 60
"""Time limit of a job unless SBATCH_TIMELIMIT sets another; a job that reaches it is requeued."""


@dataclass(frozen=True)
class Torchrun:
    """The program of each machine; submitit calls it there."""

    nodes: int
    compute: WorldConfig

    def __call__(self) -> None:
        """Train until the stage ends; a failure of torchrun is one of the job."""
        subprocess.run(self.build_command(submitit.JobEnvironment()), check=True)

    def build_command(self, job: submitit.JobEnvironment) -> list[str]:
        """Return torchrun's command; all machines meet at the first one."""
        start = os.environ.get("SLURM_RESTART_COUNT", "0")
        options = {
            "nnodes": self.nodes,
            "nproc-per-node": self.compute.processes,
            "max-restarts": 0,
            "shutdown-timeout": math.ceil(self.compute.timeout_seconds),
            "local-addr": job.hostnames[job.node],
            "rdzv-backend": "c10d",
            "rdzv-id": f"{job.job_id}.{start}",
            "rdzv-endpoint": f"{job.hostnames[0]}:{29500 + int(job.job_id) % 1000}",
            "rdzv-conf": f"is_host={int(job.global_rank == 0)}",
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        return [sys.executable, "-m", "torch.distributed.run", *words, "-m", "stages.train"]

    def checkpoint(self) -> DelayedSubmission:
        """Return the call that continues after the time limit or a preemption."""
        return DelayedSubmission(self)


def train_on_nodes(nodes: int, say: Callable[[str], object]) -> None:
    """Run the train stage as a job of several machines, to its end.

    The model of an earlier training is deleted first, as DVC does, since Slurm reports success for
    a job that was cancelled while it waited.

    Raises:
        NmtError: if Slurm refuses the job.
        StageError: if the job leaves no model.
    """
    shutil.rmtree(paths.TRAINED, ignore_errors=True)
    executor, program = make_executor(nodes), Torchrun(nodes, load(TrainParams, "train").compute)
    log = run_job(executor, program, say)
    if not paths.TRAINED.exists():
        raise StageError(
            f"training on {nodes} nodes left no model, see {log}; the same command continues from "
            f"the last checkpoint",
            code=1,
        )


def make_executor(nodes: int) -> submitit.AutoExecutor:
    """Return what submits jobs; partition, account and GPUs come from SBATCH variables."""
    JOBS.mkdir(parents=True, exist_ok=True)
    executor = submitit.AutoExecutor(
        folder=JOBS.absolute(), cluster="slurm", slurm_max_num_timeout=100
    )
    folder = hashlib.sha256(str(Path.cwd()).encode()).hexdigest()
    executor.update_parameters(
        name=f"nmt-train-{folder[:8]}",
        timeout_min=MINUTES,
        nodes=nodes,
        tasks_per_node=1,
        stderr_to_stdout=True,
        slurm_dependency="singleton",  # two jobs would overwrite each other's checkpoints
        slurm_exclusive=True,
        slurm_srun_args=["--kill-on-bad-exit=1", "--cpu-bind=none"],
        slurm_additional_parameters={"requeue": True},  # after the death of a machine
    )
    return executor


def run_job(
    executor: submitit.AutoExecutor, program: Callable[[], None], say: Callable[[str], object]
) -> Path:
    """Submit a job, wait for its end, and return its log; a stop of ours cancels it.

    Raises:
        NmtError: if Slurm refuses the job.
    """
    try:
        job = executor.submit(program)
    except UncompletedJobError as error:
        raise NmtError(f"Slurm refuses the job: {error}") from None
    log: Path = job.paths.stdout
    say(
        f"job {job.job_id} of Slurm trains; squeue --jobs {job.job_id} shows its state; "
        f"its log is {log}"
    )
    try:
        job.results()
    except UncompletedJobError as error:  # also of a job that failed
        say(str(error))
    except BaseException:
        job.cancel(check=False)
        raise
    return log

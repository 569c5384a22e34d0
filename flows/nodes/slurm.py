"""A job of Slurm: submitted by sbatch, which waits for its end."""

import re
import shlex
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from flows import processes
from flows.nodes.job import JOBS, LAST_LINES, Job, find_program, make_failure, write_job
from nmt_core.base.errors import NmtError

PROGRAM = "sbatch"

TEMPLATE = "slurm.sh"

NUMBER = re.compile(r"(\d+)(;\S+)?")
"""What sbatch answers: a job, and maybe its cluster."""


def run_job(job: Job, say: Callable[[str], object]) -> None:
    """Submit the job, and wait until it has ended well; it is cancelled if we are stopped.

    Raises:
        NmtError: if Slurm does not take it.
        StageError: if it ends badly.
    """
    write_job(job, TEMPLATE, lambda value: shlex.quote(str(value)))
    where = ["--chdir", str(Path.cwd()), "--output", f"{JOBS}/%j.log"]
    command = [find_program(PROGRAM), "--parsable", "--wait", *where, job.file]
    with processes.start_session(command, {}) as sbatch:
        assert sbatch.stdout is not None
        number = read_number(sbatch.stdout)
        log = JOBS / f"{number}.log"
        try:
            say(
                f"job {number} of Slurm is to train on {job.nodes} nodes; what it waits for says "
                f"squeue --jobs {number}, and what it does {log}"
            )
            code = sbatch.wait()
        except BaseException:
            subprocess.run([find_program("scancel"), number], check=False)
            with suppress(subprocess.TimeoutExpired):
                sbatch.wait(processes.LEAVE_SECONDS)  # while training saves
            sbatch.terminate()
            raise
    if code:
        said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        say("\n".join([f"{log} ends with", *said.splitlines()[-LAST_LINES:]]))
        raise make_failure(job, f"job {number} of Slurm has exit code {code}, see {log}", said)


def read_number(answer: IO[str]) -> str:
    """Return the number of the job.

    Raises:
        NmtError: with sbatch's own words, if it ended without one.
    """
    said = []
    for line in answer:
        if found := NUMBER.fullmatch(line.strip()):
            return found[1]
        said.append(line.strip().removeprefix("sbatch: error: "))
    raise NmtError(f"Slurm does not take the job: {'; '.join(said) or 'sbatch says nothing'}")

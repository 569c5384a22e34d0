"""A job of several machines that train one model, as a file for the cluster that is to run it.

The file is made of a template in ``infra/nodes``. The machines share the folder of this clone, and
each starts torchrun; where one of them or a process dies, the cluster starts the job again, and
training continues from its checkpoint.
"""

import hashlib
import math
import re
import secrets
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from flows.dvc_program import StageError
from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.training.settings import WorldConfig
from stages import paths

TEMPLATES = Path("infra/nodes")

JOBS = paths.RUNS / "nodes"
"""Where the files of jobs lie, and what they say."""

LAST_LINES = 20
"""Of a job that failed, shown where it was asked for."""

ERROR = re.compile(r"^(?:\[\S+\])? *(?:[\w.]*\.)?(\w*[eE]rror): (.+)$", re.MULTILINE)
"""A line of a log that tells an error, behind the name of a pod or not."""


class NodesConfig(Config):
    """How many machines train one model, and who starts them."""

    count: int = Field(ge=1, le=4096)
    """Machines, each with as many processes as train.compute.processes says. They must see the
    folder of this clone."""
    by: Literal["slurm", "kubernetes"]
    """Who starts them: Slurm, by sbatch, or Kubernetes, by kubectl."""
    restarts: int = Field(3, ge=0, le=1000)
    """How often training begins again, from its checkpoint, where a process of it has died; Slurm
    does not count machines that died."""


@dataclass(frozen=True)
class Job:
    """What a template asks for."""

    name: str
    """The same for every job of this folder, so that no two work in it."""
    file: str
    """The job's own file, which every node must see at this path of the folder. No other job has
    it, so that no node takes another folder for ours."""
    nodes: int
    processes: int
    """On each of the nodes."""
    restarts: int
    shutdown_seconds: int
    """How long a process may take to save."""
    python: str


def make_job(nodes: NodesConfig, compute: WorldConfig) -> Job:
    """Return the job that trains in this folder."""
    folder = hashlib.sha256(str(Path.cwd()).encode()).hexdigest()
    name = f"nmt-train-{folder[:8]}"
    return Job(
        name=name,
        file=str(JOBS / f"{name}-{secrets.token_hex(4)}.job"),
        nodes=nodes.count,
        processes=compute.processes,
        restarts=nodes.restarts,
        shutdown_seconds=math.ceil(compute.timeout_seconds),
        python=sys.executable,
    )


def write_job(job: Job, template: str, quote: Callable[[Any], str]) -> None:
    """Write the file of a job.

    Args:
        job: what stands in the place of ``{{ names }}``.
        template: a file of ``infra/nodes``.
        quote: writes a value as the language of the template has it.
    """
    values = asdict(job)
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    text = re.sub(r"\{\{ (\w+) \}\}", lambda found: quote(values[found[1]]), text)
    files.write_text(Path(job.file), text)


def find_program(name: str) -> str:
    """Return the path of a program of the cluster.

    Raises:
        ConfigError: if it is not installed here.
    """
    if path := shutil.which(name):
        return path
    raise ConfigError(
        f"{name} is not installed here, by which the nodes would be started; run this where it "
        f"is, such as the cluster's login machine, or train here by leaving NODES and BY out"
    )


def find_cause(said: str) -> str:
    """Return the sentence that explains a failure best, of all that nodes have said; or nothing.

    What ended one process, others notice, and torchrun writes all of it down, start by start.
    """
    errors = ERROR.findall(said)
    own = [words for kind, words in errors if kind != "PeerError"]
    signals = re.findall(r"Signal \d+ \(\w+\)(?= received by PID)", said)
    ended = [f"a process was ended by {one}" for one in signals]
    return next((some[-1] for some in (own, ended, [words for _, words in errors]) if some), "")


def make_failure(job: Job, what: str, said: str = "") -> StageError:
    """Return the error of a job that has not trained to the end.

    Args:
        job: the job.
        what: how it has ended.
        said: what its nodes have said.
    """
    reason = "; ".join(filter(None, (find_cause(said), what)))
    return StageError(
        f"training on {job.nodes} nodes ended: {reason}; the same command continues from the last "
        f"checkpoint",
        code=1,
    )

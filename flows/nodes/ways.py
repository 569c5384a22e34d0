"""The ways to train on several machines: what is asked for, by whom, and whether that can be."""

import shutil
from collections.abc import Callable

from flows.nodes import kubernetes, slurm
from flows.nodes.job import NodesConfig, find_program, make_failure, make_job
from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from stages import paths
from stages.params import TrainParams, load

STAGE = "train"
"""The stage that several machines may share."""

WAYS = {"slurm": slurm, "kubernetes": kubernetes}


def read_nodes(count: int | None, by: str | None) -> NodesConfig | None:
    """Return the nodes that a command asks for; None for this machine alone.

    Raises:
        ConfigError: if they cannot be, or only half of the question is there.
    """
    if count is None and by is None:
        return None
    if count is None or by is None:
        raise ConfigError(
            f"{'--by' if count is None else '--nodes'} alone is half of a question; say both, as "
            f"in NODES=2 BY=slurm, or --nodes 2 --by kubernetes"
        )
    return build(NodesConfig, {"count": count, "by": by}, at="nodes")


def check_nodes(nodes: NodesConfig | None, *, across_pools: bool = False) -> None:
    """Refuse, before anything runs, what would fail when all data are there.

    Raises:
        ConfigError: if the cluster's program is missing, or stages run in other clones.
    """
    if nodes is None:
        return
    if across_pools:
        raise ConfigError(
            "nodes share the folder of this clone, and across_pools gives each stage a clone of "
            "its own; leave out one of the two"
        )
    find_program(WAYS[nodes.by].PROGRAM)


def train_on_nodes(nodes: NodesConfig, say: Callable[[str], object]) -> None:
    """Run the train stage on several machines, to its end.

    What an earlier training has left is deleted first, as DVC does, so that it cannot be taken for
    what this one makes: Slurm calls a job that was cancelled while it waited a success.

    Raises:
        NmtError: if the cluster does not take the job.
        StageError: if no model comes of it.
    """
    job = make_job(nodes, load(TrainParams, STAGE).compute)
    shutil.rmtree(paths.TRAINED, ignore_errors=True)
    WAYS[nodes.by].run_job(job, say)
    if not paths.TRAINED.exists():
        raise make_failure(
            job,
            f"the job was cancelled, ran out of time, or worked in another folder, for there is "
            f"no {paths.TRAINED}",
        )

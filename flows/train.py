"""Bring every stage up to date, in order, to a trained, evaluated and exported model.

Usage: python -m flows.train [--until STAGE] [--nodes COUNT]

Works without a server, and reports to the one that ``make server`` runs, or that
PREFECT_API_URL names, if there is one. Without one, Prefect starts a server of its own, but not
where nothing has to be done: that takes longer than finding out.
"""

from typing import Annotated

import typer
from prefect import flow

from flows import dvc_program
from flows.artifacts import name_run, publish
from flows.entry import (
    check_server,
    leave_nothing_behind,
    report_errors,
)
from flows.pipeline import NodeCount, check_nodes, hold_up_to_date, plan_stages


@flow(flow_run_name=name_run)
def train(
    until: str = "export",
    settings: list[str] | None = None,
    revision: str | None = None,
    *,
    across_pools: bool = False,
    nodes: NodeCount | None = None,
) -> None:
    """Train, evaluate and export a model; stages that are up to date are skipped.

    Args:
        until: Last stage to bring up to date, such as train, evaluate or export.
        settings: What to change in params.yaml, as in `make repro`: train.seed=2, model=convs2s.
            Null takes it as it lies in the worker's clone.
        revision: What to work on: a commit, a tag or origin/BRANCH, whose params.yaml counts.
            Null takes the worker's clone as it lies.
        across_pools: Run each stage in the pool that dvc.yaml names, in the clone of a worker
            there; clones share what they make through DVC's remote.
        nodes: Number of Slurm machines that train one model and share the folder of this clone.
            Null trains here.
    """
    with hold_up_to_date(
        until, settings=settings, revision=revision, across_pools=across_pools, nodes=nodes
    ):
        publish()


def main(
    until: Annotated[
        str, typer.Option(metavar="STAGE", help="Last stage to bring up to date.")
    ] = "export",
    nodes: Annotated[
        int | None,
        typer.Option(min=1, metavar="COUNT", help="Slurm machines that train one model."),
    ] = None,
) -> None:
    """Bring every stage up to date, in order, to a trained, evaluated and exported model."""
    with report_errors():
        check_nodes(nodes)
        stages = plan_stages(until)  # before a server is started
        if check_server() is None and dvc_program.count_done(stages) == len(stages):
            typer.echo("All stages are up to date.")
            return
        with leave_nothing_behind():
            train(until, nodes=nodes)


if __name__ == "__main__":
    typer.run(main)

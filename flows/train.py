"""Bring every stage up to date, in order, to a trained, evaluated and exported model.

Usage: python -m flows.train [--until STAGE]

The stages run in this clone, or each in a clone of a worker of its pool. Between clones goes a
commit, the text of params.yaml and what DVC's remote holds, nothing else. Each part walks through
the stages from the first, for DVC to find in the remote what was made elsewhere: a lock file of
another clone would be believed with any params.yaml.

The program reports to the server of ``make server`` or PREFECT_API_URL. Without one, Prefect starts
its own, but not if all stages are up to date: that takes longer than finding out.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Annotated, Any

import typer
from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterKey,
    FlowRunFilter,
    FlowRunFilterId,
)
from prefect.client.schemas.objects import FlowRun, State
from prefect.deployments import run_deployment
from prefect.states import Cancelling

from flows import clone, dvc_program
from flows.entry import check_server, leave_nothing_behind, report_errors
from nmt_core.base import files
from nmt_core.base.errors import ConfigError, NmtError
from stages import paths
from stages.configure.sections import check_all
from stages.registry.registry import RegistryAwayError
from stages.reporting.evaluation import Evaluation
from stages.reporting.pages import render_template

RETRY_SECONDS = [10.0, 60.0, 300.0]
"""Seconds before retries of a stage whose server was away, or that another dvc has locked."""

POLL_SECONDS = 2.0
"""Between two looks at a part that runs elsewhere."""

STAGE = "train"
"""The stage before which the text is checked."""

NEWEST = "origin/HEAD"
"""The revision of which several clones make one model, unless another one is named."""

LOCK_FILE = "dvc-lock"
"""Key of the artifact in which a part hands its lock file over."""


async def may_pass(_task: object, _run: object, state: State[Any]) -> bool:
    """Tell whether trying again may help: a server was away, or another dvc was at work."""
    error = await state.aresult(raise_on_failure=False)
    if isinstance(error, dvc_program.StageError):
        return error.code == os.EX_TEMPFAIL
    return isinstance(error, RegistryAwayError)


RETRIES: dict[str, Any] = {
    "cache_policy": NO_CACHE,
    "retries": len(RETRY_SECONDS),
    "retry_delay_seconds": RETRY_SECONDS,
    "retry_condition_fn": may_pass,
}
"""Options of tasks that are tried again."""


@task(**RETRIES)
def reproduce(stage: str, *, shared: bool, done: bool) -> None:
    """Reproduce one stage; DVC decides, or has decided, whether it has to run."""
    say = get_run_logger().info
    if done:
        say(f"Stage {stage!r} didn't change, skipping")
    else:
        dvc_program.reproduce(stage, shared=shared, log=say)


@task(task_run_name="collect", **RETRIES)
def collect(lock: str) -> None:
    """Pull the results of other clones by their lock file."""
    files.write_text(paths.LOCK, lock)
    dvc_program.transfer(["pull", "--quiet"], get_run_logger().info)
    dvc_program.check_up_to_date()


@contextmanager
def hold_up_to_date(
    until: str,
    *,
    settings: Sequence[str] | None = None,
    revision: str | None = None,
    renew: bool = False,
    across_pools: bool = False,
    before_training: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """Hold this clone with everything up to date in it, up to and including a stage.

    Args:
        until: the last stage.
        settings: changes of params.yaml; without changes and revision, the flow uses the present
            state of the clone.
        revision: the commit to work on; across pools, the newest by default.
        renew: report changed files, and start from the present champion.
        across_pools: run each stage where ``dvc.yaml`` says, the first ones here.
        before_training: is called when the text is ready, and may refuse it.

    Raises:
        NmtError: if a parameter is wrong, a stage fails, or clones share no remote.
    """
    say = get_run_logger().info
    if not across_pools:
        with clone.hold_clone(say):
            if settings is not None or revision or renew:
                clone.prepare_clone(revision, settings or [], renew=renew, say=say)
            introduce()
            stages = plan_stages(until)
            run_stages(stages, shared=False, before_training=before_training)
            yield
        return
    with clone.hold_clone(say):
        commit, params = clone.prepare_clone(
            revision or NEWEST, settings or [], renew=renew, say=say
        )
        introduce()
        dvc_program.check_remote()
        [(_, here), *elsewhere] = list_parts(plan_stages(until))
        run_stages(here, shared=True, before_training=before_training)
        if STAGE not in here:
            before_training()
    lock = None
    for pool, stages in elsewhere:
        lock = delegate(pool, stages, commit, params)
    with clone.hold_clone(say):
        clone.write_settings(commit, params)
        if lock is not None:
            collect(lock)
        yield


def introduce() -> None:
    """Say which commit this run works on."""
    get_run_logger().info("this run works on %s", clone.describe_clone())


def run_stages(
    stages: Sequence[str],
    *,
    shared: bool,
    before_training: Callable[[], None] = lambda: None,
) -> None:
    """Bring stages up to date, one after another, a task each.

    DVC is asked of all at once first: where it has nothing to do, every question takes a second.
    """
    done = 0 if shared else dvc_program.count_done(stages)
    for number, stage in enumerate(stages):
        if stage == STAGE and number >= done:
            before_training()
        reproduce.with_options(task_run_name=stage)(stage, shared=shared, done=number < done)


def plan_stages(until: str) -> list[str]:
    """Return the stages to run, in order; a typo in params.yaml costs a second, not a night.

    Raises:
        ConfigError: if a parameter is wrong or the stage is unknown.
    """
    check_all()
    stages = dvc_program.list_stages()
    if until not in stages:
        raise ConfigError(f"{until!r} is not a stage of {paths.PIPELINE}: {', '.join(stages)}")
    return stages[: stages.index(until) + 1]


def list_parts(stages: list[str]) -> list[tuple[str, list[str]]]:
    """Return the parts in order: a pool, and all stages from the first to the last that it runs."""
    pool_of = dvc_program.map_pools()
    parts: list[tuple[str, list[str]]] = []
    done = 0
    for pool, group in groupby(stages, key=pool_of.__getitem__):
        done += len(list(group))
        parts.append((pool, stages[:done]))
    return parts


@flow
def part(stages: list[str], revision: str, params: str) -> None:
    """Bring stages up to date in this worker's clone, as part of a run on several pools.

    Args:
        stages: Stages in order, from the first: what is in DVC's remote is taken from there.
        revision: Full name of the commit.
        params: Text of params.yaml.
    """
    with clone.hold_clone(get_run_logger().info):
        dvc_program.check_remote()
        clone.write_settings(revision, params)
        introduce()
        run_stages(stages, shared=True)
        lock = paths.LOCK.read_text(encoding="utf-8")
    create_markdown_artifact(
        f"```yaml\n{lock}```", key=LOCK_FILE, description=f"What commit {revision[:12]} made"
    )


def delegate(pool: str, stages: list[str], revision: str, params: str) -> str:
    """Have a part done by a worker of its pool, and return the lock file it ended with.

    Raises:
        NmtError: if it does not end well; an end of ours is an end of it, too.
    """
    run = run_deployment(
        f"part/stages-on-{pool}",
        parameters={"stages": stages, "revision": revision, "params": params},
        flow_run_name=f"{stages[-1]} on {pool}",
        timeout=0,
    )
    assert isinstance(run, FlowRun)
    get_run_logger().info(f"{run.name} needs a worker: make worker POOL={pool}")
    with get_client(sync_client=True) as client:
        try:
            while not (run.state and run.state.is_final()):
                time.sleep(POLL_SECONDS)
                run = client.read_flow_run(run.id)
        except BaseException:
            client.set_flow_run_state(run.id, Cancelling())
            raise
        if not run.state.is_completed():
            raise NmtError(
                f"{run.name!r} ended as {run.state.name} ({run.state.message}); its own log says "
                f"why, and the same run again continues where it stopped"
            )
        [handed_over] = client.read_artifacts(
            artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[LOCK_FILE])),
            flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run.id])),
        )
    return str(handed_over.data).removeprefix("```yaml\n").removesuffix("```")


def publish() -> None:
    """Publish verdict, scores and translations beside the flow run, as far as stages made them."""
    scores, examples = paths.REPORTS / "evaluate.json", paths.REPORTS / "examples.json"
    if scores.exists():
        page = render_template(
            "flow.md",
            evaluation=Evaluation.read(scores),
            examples=files.read_json(examples) if examples.exists() else [],
        )
        create_markdown_artifact(page, key="report", description="Ready or not, and why")


@flow
def train(
    until: str = "export",
    settings: list[str] | None = None,
    revision: str | None = None,
    *,
    across_pools: bool = False,
) -> None:
    """Train, evaluate and export a model; stages that are up to date are skipped.

    Args:
        until: Last stage to bring up to date, such as train, evaluate or export.
        settings: What to change in params.yaml, as in `make repro`: train.seed=2, model=convs2s.
            Null takes the one in the worker's clone.
        revision: What to work on: a commit, a tag or origin/BRANCH, whose params.yaml counts.
            Null takes the present state of the worker's clone; across pools, the newest commit.
        across_pools: Run each stage in the pool that dvc.yaml names, in the clone of a worker
            there; clones share what they make through DVC's remote.
    """
    with hold_up_to_date(until, settings=settings, revision=revision, across_pools=across_pools):
        publish()


def main(
    until: Annotated[
        str, typer.Option(metavar="STAGE", help="Last stage to bring up to date.")
    ] = "export",
) -> None:
    """Bring every stage up to date, in order, to a trained, evaluated and exported model."""
    with report_errors():
        stages = plan_stages(until)  # before a server is started
        if check_server() is None and dvc_program.count_done(stages) == len(stages):
            typer.echo("All stages are up to date.")
            return
        with leave_nothing_behind():
            train(until)


if __name__ == "__main__":
    typer.run(main)

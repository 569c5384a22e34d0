"""Run all stages in order, up to a trained, evaluated and exported model.

Usage: python -m flows.train [--until STAGE]

The stages run in this clone, or each in the clone of a worker of its pool. Clones share only a
commit, the text of params.yaml and DVC's remote. Each part starts from the first stage, so that DVC
finds results of other clones in the remote: with a lock file of another clone, DVC would not check
params.yaml.

The program reports to the server of ``make server`` or PREFECT_API_URL. Without a server, Prefect
starts a temporary one, unless all stages are up to date.
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
from flows.entry import check_server, report_errors, run_in_child
from nmt_core.base import files
from nmt_core.base.errors import ConfigError, NmtError
from stages import paths
from stages.configure.sections import check_all
from stages.registry.registry import RegistryAwayError
from stages.reporting.evaluation import Evaluation
from stages.reporting.pages import render_template

RETRY_SECONDS = [10.0, 60.0, 300.0]
"""Seconds before each retry of a stage whose server did not answer, or that another dvc locked."""

POLL_SECONDS = 2.0
"""Seconds between requests for the state of a part that runs elsewhere."""

STAGE = "train"
"""The stage before which the text is checked."""

NEWEST = "origin/HEAD"
"""Default revision of a run on several pools."""

LOCK_FILE = "dvc-lock"
"""Key of the artifact with the lock file of a part."""


async def may_pass(_task: object, _run: object, state: State[Any]) -> bool:
    """Tell whether a retry may help: a server did not answer, or another dvc ran."""
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
"""Options of tasks with retries."""


@task(**RETRIES)
def reproduce(stage: str, *, shared: bool, done: bool) -> None:
    """Reproduce one stage, unless it is ``done``; DVC decides whether it has to run."""
    say = get_run_logger().info
    if done:
        say(f"Stage {stage!r} didn't change, skipping")
    else:
        dvc_program.reproduce(stage, shared=shared, log=say)


@task(task_run_name="collect", **RETRIES)
def collect(lock: str) -> None:
    """Pull the results of other clones by the text of their lock file.

    Raises:
        NmtError: naming the stages whose outputs do not belong to this clone's code and settings.
    """
    files.write_text(paths.LOCK, lock)
    dvc_program.transfer(["pull", "--quiet"], get_run_logger().info)
    if outdated := dvc_program.list_outdated():
        raise NmtError(
            f"pulled results differ from this clone's code or settings: {', '.join(outdated)}; "
            f"make both clones equal"
        )


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
    """Run all stages up to and including ``until``, and hold this clone's lock for the block.

    Args:
        until: the last stage.
        settings: changes of params.yaml; without changes and revision, the flow uses the current
            state of the clone.
        revision: the commit to run; across pools, the newest by default.
        renew: report changed files, and start from the current champion.
        across_pools: run each stage in its pool of ``dvc.yaml``, the first stages here.
        before_training: called before training; raises an error to reject the text.

    Raises:
        NmtError: if a setting is wrong, a stage fails, or DVC has no remote.
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
    """Log the commit of this run."""
    get_run_logger().info("running %s", clone.describe_clone())


def run_stages(
    stages: Sequence[str], *, shared: bool, before_training: Callable[[], None] = lambda: None
) -> None:
    """Run stages in order, each as a task.

    Up-to-date stages are found by one command first, because a command per stage takes a second.
    """
    done = 0 if shared else dvc_program.count_done(stages)
    for number, stage in enumerate(stages):
        if stage == STAGE and number >= done:
            before_training()
        reproduce.with_options(task_run_name=stage)(stage, shared=shared, done=number < done)


def plan_stages(until: str) -> list[str]:
    """Return the stages to run, in order, after a check of params.yaml.

    Raises:
        ConfigError: if a setting is wrong, or the stage is unknown.
    """
    check_all()
    stages = [*dvc_program.map_pools()]
    if until not in stages:
        raise ConfigError(f"{until!r} is not a stage of {paths.PIPELINE}: {', '.join(stages)}")
    return stages[: stages.index(until) + 1]


def list_parts(stages: list[str]) -> list[tuple[str, list[str]]]:
    """Return the parts in order: a pool, and all stages from the first to the part's last."""
    pool_of = dvc_program.map_pools()
    parts: list[tuple[str, list[str]]] = []
    done = 0
    for pool, group in groupby(stages, key=pool_of.__getitem__):
        done += len(list(group))
        parts.append((pool, stages[:done]))
    return parts


@flow
def part(stages: list[str], revision: str, params: str) -> None:
    """Run stages in this worker's clone, as a part of a run on several pools.

    Args:
        stages: Stages in order, from the first; results in DVC's remote are pulled.
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
        f"```yaml\n{lock}```", key=LOCK_FILE, description=f"Lock file of commit {revision[:12]}"
    )


def delegate(pool: str, stages: list[str], revision: str, params: str) -> str:
    """Run a part in its pool, and return its lock file; if this flow ends, cancel the part.

    Raises:
        NmtError: if the part fails.
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
                f"{run.name!r} ended as {run.state.name} ({run.state.message}); its log has the "
                f"reason, and a new run continues where it stopped"
            )
        [artifact] = client.read_artifacts(
            artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[LOCK_FILE])),
            flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run.id])),
        )
    return str(artifact.data).removeprefix("```yaml\n").removesuffix("```")


def publish() -> None:
    """Create an artifact of verdict, scores and translations, if they exist."""
    scores, examples = paths.REPORTS / "evaluate.json", paths.REPORTS / "examples.json"
    if scores.exists():
        page = render_template(
            "flow.md",
            evaluation=Evaluation.read(scores),
            examples=files.read_json(examples) if examples.exists() else [],
        )
        create_markdown_artifact(page, key="report", description="Verdict, scores and translations")


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
        until: Last stage to run, such as train, evaluate or export.
        settings: Changes of params.yaml, as in `make repro`: train.seed=2, model=convs2s.
            Null for the params.yaml of the worker's clone.
        revision: Commit, tag or origin/BRANCH to run, with its params.yaml. Null for the current
            state of the worker's clone; across pools, for the newest commit.
        across_pools: Run each stage in the pool that dvc.yaml names, in the clone of a worker
            there; clones share results through DVC's remote.
    """
    with hold_up_to_date(until, settings=settings, revision=revision, across_pools=across_pools):
        publish()


def main(
    until: Annotated[str, typer.Option(metavar="STAGE", help="Last stage to run.")] = "export",
) -> None:
    """Run all stages in order, up to a trained, evaluated and exported model."""
    with report_errors():
        stages = plan_stages(until)  # checks before a server starts
        if check_server() is None and dvc_program.count_done(stages) == len(stages):
            typer.echo("All stages are up to date.")
            return
        with run_in_child():
            train(until)


if __name__ == "__main__":
    typer.run(main)

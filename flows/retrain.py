"""Retrain on the current text, and promote the result if it passes the gate.

Usage: python -m flows.retrain [--test-set current]

It is safe to repeat: without new text, settings or code, nothing is trained, and the champion
stays.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, TypeVar

import typer
from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.client.orchestration import get_client
from prefect.concurrency.sync import concurrency
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL
from rich.console import Console

from flows.deploy import PROMOTION, ensure_limit
from flows.entry import check_server, report_errors, run_in_child
from flows.train import RETRIES, hold_up_to_date, plan_stages, publish
from nmt_core.evaluation.registry import GateConfig
from stages.params import DownloadParams, EvaluateParams, PromotionParams, load
from stages.registry.exported import Exported, model_name, read_exported
from stages.registry.promotion import (
    Contest,
    Judged,
    check_test_set,
    enact,
    record_verdict,
    render_verdict,
    run_contest,
)
from stages.registry.registry import ChampionMovedError, Registry, file_lock

OutcomeT = TypeVar("OutcomeT")

LEASE_SECONDS = 60.0
"""Seconds after which the server releases the lock of a process that died."""

LOCK_PATIENCE_SECONDS = 180.0
"""Seconds to wait for the lock."""


@task(task_run_name="decide", **RETRIES)
def decide(
    judge: Callable[[Registry, Exported], tuple[Contest, OutcomeT]], *, promotion: str, by: str
) -> OutcomeT:
    """Judge this clone's export, and promote it if it won; return the outcome.

    If the champion changes meanwhile, the export is judged again.

    Args:
        judge: judges the export, and records the contest before the champion changes. Returns the
            contest and the outcome.
        promotion: an id; repeating a promotion with the same id does nothing.
        by: name of the user.
    """
    challenger = read_exported(load(DownloadParams, "download"))
    registry = Registry(challenger.name, lock=hold_shared_lock)
    while True:
        contest, outcome = judge(registry, challenger)
        try:
            enact(registry, contest, challenger, promotion=promotion, by=by)
        except ChampionMovedError as error:
            get_run_logger().info("%s; judging against the new champion", error)
        else:
            return outcome


def judge_export(
    registry: Registry, challenger: Exported, *, test_set: Judged, gate: GateConfig
) -> tuple[Contest, Contest]:
    """Judge an export against the champion, record the contest, and return it twice."""
    contest = run_contest(
        registry,
        challenger,
        load(EvaluateParams, "evaluate"),
        test_set=test_set,
        gate=gate,
        promotion=load(PromotionParams, "promotion"),
    )
    record_verdict(contest, challenger)
    return contest, contest


def check_text(test_set: Judged) -> None:
    """Raise a ``NmtError`` before training if no model can be judged on the test set."""
    download = load(DownloadParams, "download")
    registry = Registry(model_name(download.languages))
    check_test_set(registry, download, load(EvaluateParams, "evaluate"), test_set)


@contextmanager
def hold_shared_lock() -> Iterator[None]:
    """Hold the locks for changes of the champion: on this machine, and on the Prefect server."""
    with file_lock():
        if not PREFECT_API_URL.value():
            yield
            return
        with get_client(sync_client=True) as client:
            ensure_limit(client)
        with concurrency(
            PROMOTION,
            occupy=1,
            timeout_seconds=LOCK_PATIENCE_SECONDS,
            lease_duration=LEASE_SECONDS,
            strict=True,
        ):
            yield


@flow
def retrain(
    settings: list[str] | None = None,
    revision: str | None = None,
    test_set: Judged = "same",
    gate: GateConfig = GateConfig(),
    *,
    across_pools: bool = False,
) -> Contest:
    """Train on the current text, and promote the model if tests show that it is better.

    Args:
        settings: Changes of params.yaml, as in `make repro`: train.seed=2, model=convs2s.
            Null for the params.yaml of the worker's clone.
        revision: Commit, tag or origin/BRANCH to run, with its params.yaml. Null for the current
            state of the worker's clone; across pools, for the newest commit.
        test_set: same requires the test set of the champion's promotion; current uses the current
            one, if the champion cannot have been trained on it.
        gate: Evidence that a promotion requires.
        across_pools: Run each stage in the pool that dvc.yaml names, in the clone of a worker
            there; clones share results through DVC's remote.
    """
    with hold_up_to_date(
        "export",
        settings=settings,
        revision=revision,
        renew=True,
        across_pools=across_pools,
        before_training=partial(check_text, test_set),
    ):
        publish()
        result = decide(
            partial(judge_export, test_set=test_set, gate=gate),
            promotion=str(flow_run.get_id()),
            by=f"flow run {flow_run.get_name()}",
        )
    get_run_logger().info("%s: %s", result.outcome, result.reason)
    create_markdown_artifact(
        render_verdict(result), key="verdict", description="Verdict of the gate"
    )
    return result


def main(
    test_set: Annotated[
        Judged, typer.Option(help="same: the champion's test set; current: the current one.")
    ] = "same",
) -> None:
    """Train on the current text, and promote the model if tests show that it is better."""
    with report_errors():
        plan_stages("export")  # checks before a server starts
        check_server()
        with run_in_child():
            result = retrain(test_set=test_set)
    Console().print(f"{result.outcome}: {result.reason}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)

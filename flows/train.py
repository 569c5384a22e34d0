"""Bring every stage up to date, in order, to a trained, evaluated and exported model.

Usage: python -m flows.train [--until STAGE]

Works without a server, and reports to the one at PREFECT_API_URL if that is set.
"""

import ctypes
import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any

import typer
from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from flows import dvc
from nmt_core import files
from nmt_core.errors import ConfigError, NmtError
from stages import paths
from stages.params import check_all

SCORES = paths.METRICS / "evaluate.json"

RETRY_SECONDS = [10.0, 60.0, 300.0]
"""Waits before a stage is tried again whose server was away; all else would only fail again."""


async def server_was_away(_task: object, _run: object, state: State[None]) -> bool:
    """Tell whether trying again may help: the stage said so by its exit code."""
    error = await state.aresult(raise_on_failure=False)
    return isinstance(error, dvc.StageFailed) and error.code == os.EX_TEMPFAIL


@task(
    cache_policy=NO_CACHE,
    retries=len(RETRY_SECONDS),
    retry_delay_seconds=RETRY_SECONDS,
    retry_condition_fn=server_was_away,
)
def reproduce(stage: str) -> None:
    """Bring one stage up to date; DVC decides whether anything has to run."""
    dvc.reproduce(stage, log=get_run_logger().info)


@flow
def train(until: str = "export") -> None:
    """Run the stages in order, up to and including ``until``."""
    for stage in plan(until):
        reproduce.with_options(task_run_name=stage)(stage)
    if SCORES.exists():
        publish(files.read_json(SCORES))


def plan(until: str) -> list[str]:
    """Return the stages to run, in order; a typo in params.yaml costs a second, not a night.

    Raises:
        ConfigError: if a parameter is wrong, or there is no such stage.
    """
    check_all()
    stages = dvc.stages()
    if until not in stages:
        raise ConfigError(f"{until!r} is not a stage of {paths.PIPELINE}: {', '.join(stages)}")
    return stages[: stages.index(until) + 1]


def publish(scores: Mapping[str, Any]) -> None:
    """Show the scores beside the flow run."""
    rows = [{"score": name, "value": value} for name, value in flat(scores)]
    create_table_artifact(table=rows, key="scores", description="Scores on the test set")


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value of nested mappings with its dotted name."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def main(
    until: Annotated[
        str, typer.Option(metavar="STAGE", help="Last stage to bring up to date.")
    ] = "export",
) -> None:
    """Bring every stage up to date, in order, to a trained, evaluated and exported model."""
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).addFilter(one_sentence)
    try:
        plan(until)  # before a server is started
        leave_nothing_behind()
        train(until)
    except NmtError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


def one_sentence(record: logging.LogRecord) -> bool:
    """Take the traceback from errors that explain themselves."""
    if record.exc_info and isinstance(record.exc_info[1], NmtError):
        record.exc_info = None
    return True


def leave_nothing_behind() -> None:
    """Return in a child process, whose whole session is ended when either of the two ends.

    Prefect's temporary server would outlive a flow that is killed outright, and so would the flow
    run, as Running, in the database; the child still has time to put both in order.
    """
    parent, child = os.getpid(), os.fork()
    if child:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(child, number))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os._exit(code if code >= 0 else 128 - code)
    os.setsid()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    typer.run(main)

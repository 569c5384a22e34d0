"""Run the flows of a pool on this machine, in this clone, until told to stop.

Usage: python -m flows.worker POOL [--limit RUNS] [--name NAME]

A Prefect worker that is told to stop ends at once, while the stages it told to stop still save, and
leaves its runs as Running in the database. This program stays until all has ended, and then says
that those runs have crashed. When it starts it does the same for workers that died on this machine
without a word, such as with the machine.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import httpx
import psutil
import typer
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Cancelled, Crashed

from flows import processes
from flows.deploy import ensure_pool
from flows.entry import report_errors, require_server
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.packages import name_program
from nmt_core.base.parallel.parent import end_with_parent
from nmt_core.corpora.fetch.address import redact_url
from stages.tracking.tracker import tracking_uri

KIND = "process"

ENVIRONMENT = {
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",  # a server of its own would have no runs
    # without these two, a run that ends while the database is away stays Running for ever
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
    "PREFECT_CLIENT_MAX_RETRIES": "20",
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
    "PREFECT_WORKER_QUERY_SECONDS": "2",
}
"""What a worker and its runs have unless the caller says otherwise."""

MARK = "NMT_WORKER"
"""Variable that the worker, its runs and their stages carry, with the worker's name."""

UNFINISHED = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]
ABANDONED = (
    "Its worker {worker} has ended. Run it again: what it had made is kept, and training continues "
    "from its checkpoint."
)


def main(
    pool: Annotated[str, typer.Argument(help="Pool to take runs from; made if there is none.")],
    limit: Annotated[int, typer.Option(min=1, help="Runs at once.")] = 1,
    name: Annotated[
        str | None, typer.Option(help="Name on the server. [POOL-PROCESS, and this machine]")
    ] = None,
    *,
    leashed: Annotated[
        bool, typer.Option("--leashed", help="Stop when the parent process ends.")
    ] = False,
) -> None:
    """Run the flows of a pool on this machine, in this clone, until told to stop."""
    if leashed:
        end_with_parent()
    with report_errors():
        worker = name_worker(name or f"{pool}-{os.getpid()}")
        url = require_server()
        with temporary_settings({PREFECT_API_URL: url}):
            check_pool(pool)
            crash_what_is_dead(pool)
            typer.echo(f"Prefect is at {redact_url(url)}, MLflow at {redact_url(tracking_uri())}")
            code = processes.run_to_the_end(
                build_command(pool, worker, limit),
                build_environment(url, worker),
                say=typer.echo,
                last_word=signal.SIGKILL,  # its runs notice that, and say that they have crashed
            )
            try:
                crash_what_is_dead(pool)
            except httpx.HTTPError as error:
                raise NmtError(
                    f"{url} could not be told what became of this worker's runs ({error}); the "
                    f"next worker of pool {pool} on this machine will tell it"
                ) from None
    raise typer.Exit(code)


def name_worker(given: str) -> str:
    """Return the name of a worker here, by which its runs are known.

    Raises:
        ConfigError: if Prefect would not take it.
    """
    if {"/", "%"} & {*given}:
        raise ConfigError(f"the name of a worker must be without / and %, got {given!r}")
    return f"{given}:{place()}"


def place() -> str:
    """Return the suffix of our workers' names: the machine and the process namespace."""
    return f"{os.getuid()}@{socket.gethostname()}"


def build_command(pool: str, worker: str, limit: int) -> list[str]:
    """Return Prefect's own worker."""
    chosen = [f"--pool={pool}", f"--type={KIND}", f"--name={worker}", f"--limit={limit}"]
    return [sys.executable, "-m", "prefect", "worker", "start", *chosen]


def build_environment(url: str, worker: str) -> dict[str, str]:
    """Return the variables of a worker, which its runs inherit."""
    ours = {"PREFECT_API_URL": url, MARK: worker}
    return {"NMT_PROJECT": str(Path.cwd())} | ENVIRONMENT | dict(os.environ) | ours


def check_pool(pool: str) -> None:
    """Make the pool if there is none.

    Raises:
        NmtError: if its runs are no processes.
    """
    with get_client(sync_client=True) as client:
        try:
            known = client.read_work_pool(pool)
        except ObjectNotFound:
            ensure_pool(client, pool, KIND)
            return
    if known.type != KIND:
        raise NmtError(
            f"pool {pool} is of kind {known.type}, and this program runs processes; run: "
            f"{name_program('prefect')} worker start --pool {pool}"
        )


def crash_what_is_dead(pool: str) -> None:
    """End the runs of workers that were on this machine and of which no process is left."""
    ours, living = f":{place()}", set(find_living_workers())
    with get_client(sync_client=True) as client:
        for run in find_unfinished(client, pool):
            worker = str(run.labels.get("prefect.worker.name", ""))
            if worker.endswith(ours) and worker not in living:
                end(client, run, worker)


def find_unfinished(client: SyncPrefectClient, pool: str) -> list[FlowRun]:
    """Return the runs of a pool that some worker has taken and that have not ended."""
    state = FlowRunFilterState(type=FlowRunFilterStateType(any_=UNFINISHED))
    return client.read_flow_runs(
        flow_run_filter=FlowRunFilter(state=state),
        work_pool_filter=WorkPoolFilter(name=WorkPoolFilterName(any_=[pool])),
    )


def end(client: SyncPrefectClient, run: FlowRun, worker: str) -> None:
    """Set the state of a run without a worker; a cancelled run becomes Cancelled."""
    message = ABANDONED.format(worker=worker)
    ended = Cancelled if run.state_type is StateType.CANCELLING else Crashed
    state: State[None] = ended(message=message)
    client.set_flow_run_state(run.id, state)
    typer.echo(f"run {run.name} was left unfinished by {worker}, and is now {state.name}")


def find_living_workers() -> Iterator[str]:
    """Yield the names of workers of which any process is left: the worker, a run, a stage."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if worker := process.environ().get(MARK):
                yield worker


if __name__ == "__main__":
    typer.run(main)

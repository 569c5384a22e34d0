"""Run the flows of a pool on this machine, in this clone, until it is stopped.

Usage: python -m flows.worker POOL [--limit RUNS]

After a stop signal, a Prefect worker ends at once, while its stages still save their checkpoints.
This program waits for these stages. The automation of ``make deploy`` marks their runs as *Crashed*
after three missed heartbeats.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows import processes
from flows.deploy import PROCESS, ensure_pool
from flows.entry import report_errors, require_server
from nmt_core.base.errors import NmtError
from nmt_core.base.interrupt import end_with_parent
from nmt_core.base.packages import name_program
from nmt_core.corpora.fetch.address import redact_url
from stages.tracking.tracker import tracking_uri

ENVIRONMENT = {
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",  # a temporary server would have no runs
    # otherwise a run that ends while the database does not answer would stay Running forever
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
    "PREFECT_CLIENT_MAX_RETRIES": "20",
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
    "PREFECT_WORKER_QUERY_SECONDS": "2",
}
"""Default environment variables of a worker and its runs."""


def main(
    pool: Annotated[str, typer.Argument(help="Pool to take runs from; created if it is missing.")],
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of concurrent runs.")] = 1,
    *,
    leashed: Annotated[
        bool, typer.Option("--leashed", help="Stop when the parent process ends.")
    ] = False,
) -> None:
    """Run the flows of a pool on this machine, in this clone, until it is stopped."""
    if leashed:
        end_with_parent()
    with report_errors():
        url = require_server()
        with temporary_settings({PREFECT_API_URL: url}):
            check_pool(pool)
            typer.echo(f"Prefect is at {redact_url(url)}, MLflow at {redact_url(tracking_uri())}")
            options = [f"--pool={pool}", f"--type={PROCESS}", f"--limit={limit}"]
            code, _ = processes.run_to_the_end(
                [sys.executable, "-m", "prefect", "worker", "start", *options],
                build_environment(url),
                say=typer.echo,
                last_word=signal.SIGKILL,  # its runs detect that, and report a crash
            )
    raise typer.Exit(code)


def build_environment(url: str) -> dict[str, str]:
    """Return the environment variables of a worker, which its runs inherit."""
    project = {"NMT_PROJECT": str(Path.cwd())}
    return project | ENVIRONMENT | dict(os.environ) | {"PREFECT_API_URL": url}


def check_pool(pool: str) -> None:
    """Create the pool if it is missing.

    Raises:
        NmtError: if the pool does not run processes.
    """
    with get_client(sync_client=True) as client:
        kind = ensure_pool(client, pool)
    if kind != PROCESS:
        raise NmtError(
            f"pool {pool} has type {kind}, but this program runs processes; run: "
            f"{name_program('prefect')} worker start --pool {pool}"
        )


if __name__ == "__main__":
    typer.run(main)

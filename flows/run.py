"""Ask for a run of a deployment, as Prefect's pages do.

Usage: python -m flows.run DEPLOYMENT [KEY=VALUE ...]
"""

from typing import Annotated, Any
from uuid import UUID

import typer
from prefect.client.orchestration import get_client
from prefect.deployments import run_deployment
from prefect.settings import PREFECT_UI_URL

from flows.entry import report_errors, require_server
from nmt_core.base.errors import ConfigError


def main(
    deployment: Annotated[str, typer.Argument(help="Deployment of make deploy.")],
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="As in make repro.")
    ] = None,
) -> None:
    """Ask for a run of a deployment; a worker of its pool takes it."""
    with report_errors():
        require_server()
        if deployment not in (offered := fetch_deployments()):
            raise ConfigError(
                f"there is no deployment {deployment!r}, but "
                f"{', '.join(sorted(offered)) or 'none at all; make deploy offers some'}"
            )
        parameters = {"settings": settings} if settings else {}
        run: Any = run_deployment(
            offered[deployment],
            parameters=parameters,
            flow_run_name=" ".join([deployment, *(settings or [])]),
            timeout=0,
        )
    typer.echo(f"{run.name} waits for a worker: {PREFECT_UI_URL.value()}/runs/flow-run/{run.id}")


def fetch_deployments() -> dict[str, UUID]:
    """Return the server's deployments by name."""
    with get_client(sync_client=True) as client:
        return {deployment.name: deployment.id for deployment in client.read_deployments()}


if __name__ == "__main__":
    typer.run(main)

"""Put pools, limits, deployments and the watch over dead runs on the Prefect server.

Usage: python -m flows.deploy [--pool NAME=TYPE ...] [--schedule on] [--notify ADDRESS]

Repeating it does no harm: existing objects are updated from the files. A schedule stays on or off
unless an option switches it.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from prefect.automations import AutomationCore
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import (
    GlobalConcurrencyLimitCreate,
    WorkPoolCreate,
    WorkPoolUpdate,
)
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectAlreadyExists
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.entry import report_errors, require_server
from flows.notifications import ensure_automation, set_address
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.packages import name_program
from nmt_core.corpora.fetch.address import redact_url

POOLS = {"cpu": "process", "gpu": "process"}
LIMITS = {"gpu": 1}
"""Runs at once in a whole pool, for any number of workers."""

TEMPLATES = Path("infra/pools")

PROMOTION = "nmt-promotion"
"""The limit by which one promotion happens at a time."""

HEARTBEAT_SECONDS = 30
"""Seconds between heartbeats of a run; infra/pools sets it."""

SCHEDULES = {"on": "retrain", "pools": "retrain-on-pools", "off": None}
"""The deployment that retrains weekly, by the value of --schedule; at most one does."""

ENDS = ("Completed", "Failed", "Cancelled", "Crashed")


def watch_runs() -> AutomationCore:
    """Return the automation that declares a run dead after three missed heartbeats.

    Prefect has no such watch of its own: a run whose machine is gone would stay Running, and hold
    its place in the pool, for ever.
    """
    alive = "prefect.flow-run.heartbeat"
    return AutomationCore(
        name="Crash runs that are dead",
        description="Three heartbeats were missed: the machine is gone, or the worker was stopped.",
        trigger=EventTrigger(
            after={alive},
            expect={alive, *(f"prefect.flow-run.{end}" for end in ENDS)},
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=timedelta(seconds=3 * HEARTBEAT_SECONDS),
        ),
        actions=[
            ChangeFlowRunState(
                state=StateType.CRASHED,
                message="It has not been heard of for three heartbeats. Run it again: what it had "
                "made is kept, and training continues from its checkpoint.",
            )
        ],
    )


def ensure_pool(client: SyncPrefectClient, name: str, kind: str) -> None:
    """Make a pool from its template, or update it.

    Raises:
        ConfigError: if there is no such template, or the pool is of another kind.
    """
    template = TEMPLATES / f"{kind}.json"
    if not template.exists():
        kinds = ", ".join(sorted(path.stem for path in TEMPLATES.glob("*.json")))
        raise ConfigError(f"pool {name}: {kind!r} is not a kind of pool: {kinds}")
    base = json.loads(template.read_text(encoding="utf-8"))
    limit = LIMITS.get(name)
    try:
        client.create_work_pool(
            WorkPoolCreate(name=name, type=kind, base_job_template=base, concurrency_limit=limit)
        )
    except ObjectAlreadyExists:
        pool = client.read_work_pool(name)
        if pool.type != kind:
            raise ConfigError(
                f"pool {name} is of kind {pool.type}, not {kind}; delete it first: "
                f"{name_program('prefect')} work-pool delete {name}"
            ) from None
        client.update_work_pool(name, WorkPoolUpdate(base_job_template=base))


def ensure_limit(client: SyncPrefectClient, name: str, limit: int) -> None:
    """Make a limit that holds over all pools, unless it is there."""
    with suppress(ObjectAlreadyExists):
        client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=limit))


def deploy(address: str) -> None:
    """Have Prefect read prefect.yaml.

    Raises:
        NmtError: if Prefect refuses it.
    """
    # where workers have their clones is for them to say
    environment = {name: value for name, value in os.environ.items() if name != "NMT_PROJECT"}
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"],
        env=environment | {"PREFECT_API_URL": address},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NmtError(f"prefect deploy: {(done.stderr or done.stdout).strip()}")


def read_switches(client: SyncPrefectClient) -> dict[str, bool]:
    """Return by deployment whether its schedule is on."""
    return {
        deployment.name: any(plan.active for plan in deployment.schedules)
        for deployment in client.read_deployments()
        if deployment.schedules
    }


def set_switches(client: SyncPrefectClient, switches: dict[str, bool]) -> None:
    """Turn the schedules of deployments on or off."""
    for deployment in client.read_deployments():
        for plan in deployment.schedules:
            active = switches.get(deployment.name, plan.active)
            if active != plan.active:
                client.update_deployment_schedule(deployment.id, plan.id, active=active)


def main(
    pool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=KIND", help=f"Kind of a pool: a template of {TEMPLATES}."),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(help="Weekly retraining: on, pools or off; unchanged by default."),
    ] = None,
    learning: Annotated[
        bool | None,
        typer.Option(help="Nightly learning from corrections; unchanged by default."),
    ] = None,
    notify: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS|off",
            envvar="NOTIFY",
            help="Webhook or mailtos:// address for failed scheduled runs; unchanged by default.",
        ),
    ] = None,
) -> None:
    """Put pools, limits, deployments and the watch over dead runs on the Prefect server."""
    with report_errors():
        if schedule is not None and schedule not in SCHEDULES:
            raise ConfigError(f"--schedule must be {', '.join(SCHEDULES)}, got {schedule!r}")
        address = require_server()
        with (
            temporary_settings({PREFECT_API_URL: address}),
            get_client(sync_client=True) as client,
        ):
            for name, kind in (POOLS | dict(given.split("=", 1) for given in pool or [])).items():
                ensure_pool(client, name, kind)
            ensure_limit(client, PROMOTION, 1)
            ensure_automation(client, watch_runs())
            if notify:
                set_address(client, notify)
            switches = read_switches(client)
            if schedule is not None:
                retraining = filter(None, SCHEDULES.values())
                switches |= {name: name == SCHEDULES[schedule] for name in retraining}
            if learning is not None:
                switches["learn"] = learning
            try:
                deploy(address)
            finally:
                set_switches(client, switches)
            names = sorted(deployment.name for deployment in client.read_deployments())
        typer.echo(f"deployed at {redact_url(address)}: {', '.join(names)}")


if __name__ == "__main__":
    typer.run(main)

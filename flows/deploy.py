"""Put pools, limits, deployments and the watch over dead runs on the Prefect server.

Usage: python -m flows.deploy [--pool NAME=TYPE ...] [--schedule on]

Repeating it does no harm: existing objects are updated from the files. An existing schedule stays
on or off, unless ``--schedule`` is given; ``active`` in prefect.yaml counts for new ones alone.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
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
from rich.console import Console
from rich.table import Table

from flows.entry import report_errors, require_server
from flows.notifications import ensure_automation, set_address
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.packages import name_program

POOLS = {"cpu": "process", "gpu": "process"}
LIMITS = {"gpu": 1}
"""Runs at once in a whole pool, for any number of workers."""

TEMPLATES = Path("infra/pools")

PROMOTION = "nmt-promotion"
"""The limit by which one promotion happens at a time."""

HEARTBEAT_SECONDS = 30
"""Seconds between heartbeats of a run; infra/pools sets it."""

ZOMBIES = "Crash runs that are dead"
ENDS = ("Completed", "Failed", "Cancelled", "Crashed")


class Schedule(StrEnum):
    """The weekly retraining: only one, so that no two meet at the same hour."""

    on = "on"
    pools = "pools"
    off = "off"


RETRAININGS = {Schedule.on: "retrain", Schedule.pools: "retrain-on-pools"}
"""The deployments of each."""

WEEKLY = "weekly"
"""Names of their schedules in prefect.yaml."""

NIGHTLY = ("learn", "nightly")
"""The deployment that learns from users, and its schedule."""

Switches = Mapping[tuple[str, str | None], bool]
"""Of each schedule, by its deployment and its slug, whether it is on."""


def watch_runs() -> AutomationCore:
    """Return the automation that declares a run dead after three missed heartbeats.

    Prefect has no such watch of its own: a run whose machine is gone would stay Running, and hold
    its place in the pool, for ever.
    """
    alive = "prefect.flow-run.heartbeat"
    return AutomationCore(
        name=ZOMBIES,
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
    else:
        return
    if pool.type != kind:
        raise ConfigError(
            f"pool {name} is of kind {pool.type}, not {kind}; delete it first: "
            f"{name_program('prefect')} work-pool delete {name}"
        )
    client.update_work_pool(name, WorkPoolUpdate(base_job_template=base))


def ensure_limit(client: SyncPrefectClient, name: str, limit: int) -> None:
    """Make a limit that holds over all pools, unless it is there."""
    with suppress(ObjectAlreadyExists):
        client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=limit))


def prepare_server(pools: dict[str, str]) -> None:
    """Make the pools and limits of deployments."""
    with get_client(sync_client=True) as client:
        for name, kind in pools.items():
            ensure_pool(client, name, kind)
        ensure_limit(client, PROMOTION, 1)
        ensure_automation(client, watch_runs())


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


def read_switches(client: SyncPrefectClient) -> Switches:
    """Return the active schedules."""
    return {
        (deployment.name, plan.slug): plan.active
        for deployment in client.read_deployments()
        for plan in deployment.schedules
    }


def choose_switches(schedule: Schedule | None, *, learning: bool | None = None) -> Switches:
    """Return the wanted states of schedules, where given."""
    nightly: Switches = {} if learning is None else {NIGHTLY: learning}
    if schedule is None:
        return nightly
    chosen = RETRAININGS.get(schedule)
    return {**{(name, WEEKLY): name == chosen for name in RETRAININGS.values()}, **nightly}


def set_switches(client: SyncPrefectClient, switches: Switches) -> None:
    """Switch schedules on or off, which Prefect takes from prefect.yaml."""
    for deployment in client.read_deployments():
        for plan in deployment.schedules:
            wanted = switches.get((deployment.name, plan.slug), plan.active)
            if wanted != plan.active:
                client.update_deployment_schedule(deployment.id, plan.id, active=wanted)


def list_deployments() -> Table:
    """List the deployments."""
    table = Table("deployment", "pool", "schedule", "what it does", box=None, pad_edge=False)
    with get_client(sync_client=True) as client:
        for deployment in sorted(client.read_deployments(), key=lambda known: known.name):
            plans = (
                f"{getattr(plan.schedule, 'cron', plan.schedule)}{'' if plan.active else ' (off)'}"
                for plan in deployment.schedules
            )
            cells = (deployment.name, deployment.work_pool_name, ", ".join(plans))
            table.add_row(*(cell or "" for cell in cells), deployment.description or "")
    return table


def main(
    pool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=KIND", help=f"Kind of a pool: a template of {TEMPLATES}."),
    ] = None,
    schedule: Annotated[
        Schedule | None,
        typer.Option(
            help="Weekly retraining: on in one clone, on pools, or off; unchanged by default."
        ),
    ] = None,
    learning: Annotated[
        bool | None,
        typer.Option(help="Nightly learning from users: on or off; unchanged by default."),
    ] = None,
    notify: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS|off",
            envvar="NOTIFY",
            help="Address for failures of scheduled runs: a webhook, or mailtos://; unchanged by "
            "default.",
        ),
    ] = None,
) -> None:
    """Put pools, limits, deployments and the watch over dead runs on the Prefect server."""
    with report_errors():
        address = require_server()
        chosen = POOLS | dict(given.split("=", 1) for given in pool or [])
        with temporary_settings({PREFECT_API_URL: address}):
            prepare_server(chosen)
            with get_client(sync_client=True) as client:
                if notify:
                    set_address(client, notify)
                switches = {**read_switches(client), **choose_switches(schedule, learning=learning)}
                try:
                    deploy(address)
                finally:
                    set_switches(client, switches)
            Console().print(list_deployments())


if __name__ == "__main__":
    typer.run(main)

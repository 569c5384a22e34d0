"""Put pools, limits, deployments and automations on the Prefect server.

Usage: python -m flows.deploy [--schedule on] [--learning] [--notify ADDRESS]

Repeating it does no harm: existing objects are updated from the files. A schedule stays on or off
unless an option switches it.
"""

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import typer
from prefect.automations import AutomationCore
from prefect.blocks.core import Block
from prefect.blocks.notifications import CustomWebhookNotificationBlock, SlackWebhook
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import (
    GlobalConcurrencyLimitCreate,
    WorkPoolCreate,
    WorkPoolUpdate,
)
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, SendNotification
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectAlreadyExists
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.entry import report_errors, require_server
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.corpora.fetch.address import redact_url

PROCESS = "process"
"""The kind of pools whose workers run flows as processes."""

LIMITS = {"cpu": None, "gpu": 1}
"""Runs at once in each pool, for any number of workers."""

TEMPLATE = Path("infra/pools/process.json")

PROMOTION = "nmt-promotion"
"""The limit by which one promotion happens at a time."""

HEARTBEAT_SECONDS = 30
"""Seconds between heartbeats of a run; infra/pools sets it."""

SCHEDULES = {"on": "retrain", "pools": "retrain-on-pools", "off": None}
"""The deployment that retrains weekly, by the value of --schedule; at most one does."""

NOTIFICATION = "Report scheduled runs that failed"
ADDRESS = "nmt-failures"
"""The block of the server with the address for notifications."""

BODY = """\
{{ flow_run.name }} is {{ flow_run.state.name }}: {{ flow_run.state.message }}
{{ flow_run|ui_url }}
"""


def watch_runs() -> AutomationCore:
    """Return the automation that declares a run dead after three missed heartbeats.

    Prefect has no such watch of its own: a run whose machine is gone would stay Running, and hold
    its place in the pool, for ever.
    """
    alive = "prefect.flow-run.heartbeat"
    ends = (f"prefect.flow-run.{end}" for end in ("Completed", "Failed", "Cancelled", "Crashed"))
    return AutomationCore(
        name="Crash runs that are dead",
        description="Three heartbeats were missed: the machine is gone, or the worker was stopped.",
        trigger=EventTrigger(
            after={alive},
            expect={alive, *ends},
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


def report_failures(block: Block) -> AutomationCore:
    """Return the automation that reports scheduled runs that failed, crashed or are late."""
    return AutomationCore(
        name=NOTIFICATION,
        trigger=EventTrigger(
            expect={f"prefect.flow-run.{state}" for state in ("Failed", "Crashed", "Late")},
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
            match_related=ResourceSpecification(
                {
                    "prefect.resource.role": ["tag"],
                    "prefect.resource.id": ["prefect.tag.auto-scheduled"],
                }
            ),
            posture=Posture.Reactive,
            threshold=1,
        ),
        actions=[
            SendNotification(
                block_document_id=block.save(ADDRESS, overwrite=True),
                subject="{{ flow_run.name }}: {{ flow_run.state.name }}",
                body=BODY,
            )
        ],
    )


def make_block(address: str) -> Block:
    """Return the block that sends notifications to an address.

    Raises:
        ConfigError: if it is neither a webhook nor a mail server.
    """
    if re.match("https?://.", address):
        text = "{{ subject }}\n{{ body }}"
        return CustomWebhookNotificationBlock(
            name=ADDRESS,
            url="{{ address }}",
            json_data={"text": text, "content": text},  # Slack, Teams, Mattermost; Discord
            secrets={"address": address},
        )
    if re.match("mailtos?://.", address):
        return SlackWebhook(url=address)  # Prefect has no block for mail; this one takes Apprise's
    raise ConfigError(
        f"NOTIFY must be a webhook (https://...), a mailbox and the server that it sends by "
        f"(mailtos://USER:PASSWORD@HOST?to=ADDRESS) or off, got {address.partition(':')[0]!r}"
    )


def replace_automation(
    client: SyncPrefectClient, name: str, automation: AutomationCore | None
) -> None:
    """Install an automation in the place of those of its name, or remove them."""
    for earlier in client.read_automations_by_name(name):
        client.delete_automation(earlier.id)
    if automation:
        client.create_automation(automation)


def ensure_pool(client: SyncPrefectClient, name: str) -> str:
    """Make a pool of processes, or bring its template up to date; return its kind.

    A pool of another kind stays as it is.
    """
    template = json.loads(TEMPLATE.read_text(encoding="utf-8"))
    limit = LIMITS.get(name)
    try:
        client.create_work_pool(
            WorkPoolCreate(
                name=name, type=PROCESS, base_job_template=template, concurrency_limit=limit
            )
        )
    except ObjectAlreadyExists:
        kind = client.read_work_pool(name).type
        if kind == PROCESS:
            client.update_work_pool(name, WorkPoolUpdate(base_job_template=template))
        return kind
    return PROCESS


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
    schedule: Annotated[
        Literal["on", "pools", "off"] | None,
        typer.Option(help="Weekly retraining; unchanged by default."),
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
    """Put pools, limits, deployments and automations on the Prefect server."""
    with report_errors():
        address = require_server()
        with (
            temporary_settings({PREFECT_API_URL: address}),
            get_client(sync_client=True) as client,
        ):
            for pool in LIMITS:
                ensure_pool(client, pool)
            ensure_limit(client, PROMOTION, 1)
            watch = watch_runs()
            replace_automation(client, watch.name, watch)
            if notify:
                reports = None if notify == "off" else report_failures(make_block(notify))
                replace_automation(client, NOTIFICATION, reports)
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

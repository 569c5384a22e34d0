"""Create or update pools, limits, deployments and automations on the Prefect server.

Usage: python -m flows.deploy [--schedule on] [--learning] [--notify ADDRESS]

It is safe to repeat: existing objects are updated from the files. Schedules stay on or off unless
an option changes them.
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
"""The type of pools whose workers run flows as processes."""

LIMITS = {"cpu": None, "gpu": 1}
"""Maximum number of concurrent runs by pool, over all its workers; None for no limit."""

TEMPLATE = Path("infra/pools/process.json")

PROMOTION = "nmt-promotion"
"""Name of the concurrency limit that allows one promotion at a time."""

HEARTBEAT_SECONDS = 30
"""Seconds between heartbeats of a run, as in infra/pools."""

SCHEDULES = {"on": "retrain", "pools": "retrain-on-pools", "off": None}
"""Name of the deployment that retrains weekly, by the value of --schedule."""

NOTIFICATION = "Report scheduled runs that failed"
ADDRESS = "nmt-failures"
"""Name of the server's block with the address for notifications."""

BODY = """\
{{ flow_run.name }} is {{ flow_run.state.name }}: {{ flow_run.state.message }}
{{ flow_run|ui_url }}
"""


def watch_runs() -> AutomationCore:
    """Return the automation that declares a run dead after three missed heartbeats.

    Prefect does not do this by itself: a run whose machine is gone would stay Running and count
    towards the pool's limit forever.
    """
    alive = "prefect.flow-run.heartbeat"
    ends = (f"prefect.flow-run.{end}" for end in ("Completed", "Failed", "Cancelled", "Crashed"))
    return AutomationCore(
        name="Crash runs that are dead",
        description="Three heartbeats were missed: the machine failed, or the worker was stopped.",
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
                message="Three heartbeats were missed. Run it again: finished stages are kept, and "
                "training continues from its checkpoint.",
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
        ConfigError: if the address is neither a webhook nor a mailbox.
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
        return SlackWebhook(url=address)  # this block accepts Apprise's mail addresses
    raise ConfigError(
        f"NOTIFY must be a webhook (https://...), a mailbox with its mail server "
        f"(mailtos://USER:PASSWORD@HOST?to=ADDRESS) or off, got {address.partition(':')[0]!r}"
    )


def replace_automation(
    client: SyncPrefectClient, name: str, automation: AutomationCore | None
) -> None:
    """Replace all automations of a name by one; None only removes them."""
    for earlier in client.read_automations_by_name(name):
        client.delete_automation(earlier.id)
    if automation:
        client.create_automation(automation)


def ensure_pool(client: SyncPrefectClient, name: str) -> str:
    """Create a pool of processes, or update its template; return its type.

    A pool of another type is not changed.
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


def ensure_limit(client: SyncPrefectClient) -> None:
    """Create the limit of one promotion at a time, unless it exists."""
    limit = GlobalConcurrencyLimitCreate(name=PROMOTION, limit=1)
    with suppress(ObjectAlreadyExists):
        client.create_global_concurrency_limit(limit)


def deploy(address: str) -> None:
    """Create or update the deployments of prefect.yaml.

    Raises:
        NmtError: if Prefect rejects the file.
    """
    # each worker sets the folder of its clone
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
    """Return whether the schedule is on, by deployment."""
    return {
        deployment.name: any(plan.active for plan in deployment.schedules)
        for deployment in client.read_deployments()
        if deployment.schedules
    }


def set_switches(client: SyncPrefectClient, switches: dict[str, bool]) -> None:
    """Turn the schedules of deployments on or off, by name."""
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
        bool | None, typer.Option(help="Daily fine-tuning on corrections; unchanged by default.")
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
    """Create or update pools, limits, deployments and automations on the Prefect server."""
    with report_errors():
        address = require_server()
        with temporary_settings({PREFECT_API_URL: address}), get_client(sync_client=True) as client:
            for pool in LIMITS:
                ensure_pool(client, pool)
            ensure_limit(client)
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

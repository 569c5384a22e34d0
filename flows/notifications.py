"""An automation of the Prefect server that reports failed and late scheduled runs."""

import re

from prefect.automations import AutomationCore
from prefect.blocks.core import Block
from prefect.blocks.notifications import CustomWebhookNotificationBlock, SlackWebhook
from prefect.client.orchestration import SyncPrefectClient
from prefect.events.actions import SendNotification
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

from nmt_core.base.errors import ConfigError

NAME = "Report scheduled runs that failed"
BLOCK = "nmt-failures"
"""The block of the server with the address."""

OFF = "off"
"""The value that turns notifications off."""

BODY = """\
{{ flow_run.name }} is {{ flow_run.state.name }}: {{ flow_run.state.message }}
{{ flow_run|ui_url }}
"""


def make_block(address: str) -> Block:
    """Return the block that sends to an address.

    Raises:
        ConfigError: if it is neither a webhook nor a mail server.
    """
    if re.match("https?://.", address):
        text = "{{ subject }}\n{{ body }}"
        return CustomWebhookNotificationBlock(
            name=BLOCK,
            url="{{ address }}",
            json_data={"text": text, "content": text},  # Slack, Teams, Mattermost; Discord
            secrets={"address": address},
        )
    if re.match("mailtos?://.", address):
        return SlackWebhook(url=address)  # Prefect has no block for mail; this one takes Apprise's
    raise ConfigError(
        f"NOTIFY must be a webhook (https://...), a mailbox and the server that it sends by "
        f"(mailtos://USER:PASSWORD@HOST?to=ADDRESS) or {OFF}, got {address.partition(':')[0]!r}"
    )


def report_failures(block: Block) -> AutomationCore:
    """Return the automation that reports scheduled runs that failed, crashed or are late."""
    return AutomationCore(
        name=NAME,
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
                block_document_id=block.save(BLOCK, overwrite=True),
                subject="{{ flow_run.name }}: {{ flow_run.state.name }}",
                body=BODY,
            )
        ],
    )


def ensure_automation(client: SyncPrefectClient, wanted: AutomationCore) -> None:
    """Install an automation, or update the one of its name."""
    automations = client.read_automations_by_name(wanted.name)
    for double in automations[1:]:
        client.delete_automation(double.id)
    if automations:
        client.update_automation(automations[0].id, wanted)
    else:
        client.create_automation(wanted)


def set_address(client: SyncPrefectClient, address: str) -> None:
    """Set the address for notifications, or ``OFF``."""
    if address != OFF:
        ensure_automation(client, report_failures(make_block(address)))
        return
    for automation in client.read_automations_by_name(NAME):
        client.delete_automation(automation.id)

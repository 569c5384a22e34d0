"""What is put on a Prefect server, also when others are at it."""

import json
import subprocess
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import Mock
from uuid import uuid4

import httpx
import pytest
import yaml
from prefect.events.schemas.automations import Posture
from prefect.exceptions import ObjectAlreadyExists
from prefect.settings import PREFECT_API_URL

from flows import deploy
from flows.notifications import make_block, report_failures
from nmt_core.base.errors import ConfigError, NmtError
from tests.support.commands import invoke
from tests.support.projects import PROJECT


class Server:
    """Prefect's client, as far as it is used: one pool, and one limit."""

    def __init__(self, kind=None):
        self.kind = kind
        self.made = None
        self.updated = None
        self.limits = {}

    def create_work_pool(self, pool):
        if self.kind is not None:
            raise taken()
        self.made = pool

    def read_work_pool(self, name):
        return SimpleNamespace(name=name, type=self.kind)

    def update_work_pool(self, name, update):
        self.updated = update

    def create_global_concurrency_limit(self, limit):
        if limit.name in self.limits:
            raise taken()
        self.limits[limit.name] = limit.limit


def taken():
    request = httpx.Request("POST", "http://127.0.0.1/api")
    answer = httpx.Response(409, request=request)
    return ObjectAlreadyExists(httpx.HTTPStatusError("409", request=request, response=answer))


def test_pool_is_made_with_its_limit_or_brought_to_its_template():
    """The limit of one that is there stays as somebody has set it by hand."""
    for pool, limit in (("cpu", None), ("gpu", 1)):
        server = Server()
        deploy.ensure_pool(server, pool, "process")
        assert server.made.concurrency_limit == limit
        assert server.made.base_job_template["variables"]["properties"]["env"]["default"]
    server = Server("process")
    deploy.ensure_pool(server, "gpu", "process")
    assert server.made is None
    assert server.updated.base_job_template["job_configuration"]
    assert "concurrency_limit" not in server.updated.model_fields_set
    for limit in (1, 3):
        deploy.ensure_limit(server, "promotion", limit)
    assert server.limits == {"promotion": 1}


@pytest.mark.parametrize(
    ("there", "kind", "told"),
    [
        ("docker", "process", "pool gpu is of kind docker, not process"),
        (None, "proces", "pool gpu: .proces. is not a kind"),
    ],
)
def test_a_pool_of_another_or_an_unknown_kind_is_refused(there, kind, told):
    with pytest.raises(ConfigError, match=told):
        deploy.ensure_pool(Server(there), "gpu", kind)


def test_a_run_is_dead_that_misses_three_heartbeats_and_has_not_ended():
    template = json.loads((deploy.TEMPLATES / "process.json").read_text())
    environment = template["variables"]["properties"]["env"]["default"]
    heartbeat = timedelta(seconds=int(environment["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"]))
    alive = "prefect.flow-run.heartbeat"
    ends = {f"prefect.flow-run.{end}" for end in ("Completed", "Failed", "Cancelled", "Crashed")}
    trigger = deploy.watch_runs().trigger

    assert trigger.posture is Posture.Proactive
    assert (trigger.after, trigger.expect) == ({alive}, {alive} | ends)
    assert (trigger.within, trigger.threshold) == (3 * heartbeat, 1)
    assert trigger.for_each == {"prefect.resource.id"}


@pytest.mark.parametrize("there", [0, 1, 2, 3])
def test_there_is_one_watch(there):
    """Also where two programs have installed it at once."""
    client = Mock()
    client.read_automations_by_name.return_value = [
        SimpleNamespace(id=number) for number in range(there)
    ]
    watch = deploy.watch_runs()
    deploy.ensure_automation(client, watch)

    assert client.create_automation.call_count == (there == 0)
    assert [one.args[0] for one in client.update_automation.call_args_list] == [0][:there]
    assert [one.args for one in client.delete_automation.call_args_list] == [
        (number,) for number in range(1, there)
    ]


def test_deployment_names_server_but_not_the_folder_of_this_clone(monkeypatch):
    """Each worker has its own folder; what Prefect refuses is an error."""
    address, run = "http://127.0.0.1:1/api", Mock(return_value=SimpleNamespace(returncode=0))
    monkeypatch.setenv("NMT_PROJECT", "/home/of/one/worker")
    monkeypatch.setattr(subprocess, "run", run)
    deploy.deploy(address)

    assert run.call_args.args[0][-3:] == ["--no-prompt", "deploy", "--all"]
    assert run.call_args.kwargs["env"]["PREFECT_API_URL"] == address
    assert "NMT_PROJECT" not in run.call_args.kwargs["env"]
    run.return_value = SimpleNamespace(returncode=1, stderr="no such flow\n", stdout="")
    with pytest.raises(NmtError, match="prefect deploy: no such flow"):
        deploy.deploy(address)


def test_schedules_are_off_until_somebody_switches_one_on():
    deployments = yaml.safe_load((PROJECT / "prefect.yaml").read_text(encoding="utf-8"))
    plans = [plan for one in deployments["deployments"] for plan in one.get("schedules", [])]

    assert [plan["active"] for plan in plans] == [False] * 3


def test_pools_limit_watch_and_deployments_come_in_order(patch):
    """On the server that answered; a kind named for a pool replaces the default one."""
    address, made = "http://127.0.0.1:1/api", []

    @contextmanager
    def get_client(*, sync_client):
        assert PREFECT_API_URL.value() == address
        yield SimpleNamespace(
            read_deployments=lambda: [SimpleNamespace(name="train", schedules=[])]
        )

    patch(
        deploy,
        require_server=lambda: address,
        get_client=get_client,
        ensure_pool=lambda _, name, kind: made.append((name, kind)),
        ensure_limit=lambda _, name, limit: made.append((name, limit)),
        ensure_automation=lambda _, wanted: made.append(wanted.name),
        deploy=made.append,
    )
    ran = invoke(deploy.main, "--pool", "gpu=docker")

    watch = deploy.watch_runs().name
    pools = [("cpu", "process"), ("gpu", "docker")]
    assert made == [*pools, (deploy.PROMOTION, 1), watch, address]
    assert ran.stdout == f"deployed at {address}: train\n"


def test_failed_and_late_scheduled_runs_are_reported():
    block = SimpleNamespace(save=lambda _, *, overwrite: uuid4() if overwrite else None)
    trigger = report_failures(block).trigger

    assert {"Failed", "Crashed", "Late"} == {name.rpartition(".")[2] for name in trigger.expect}
    assert "prefect.tag.auto-scheduled" in str(trigger.match_related)
    assert trigger.posture is Posture.Reactive


@pytest.mark.parametrize("address", ["", "me@example.org", "ftp://example.org", "https://"])
def test_unusable_address_is_refused(address):
    with pytest.raises(ConfigError, match="NOTIFY must be a webhook"):
        make_block(address)


@pytest.mark.filterwarnings("ignore:'imghdr':DeprecationWarning")
def test_mail_is_sent_by_its_server():
    block = make_block("mailtos://me:password@example.org?to=you@example.org")

    assert len(block._apprise_client) == 1
    assert "password" not in str(block)


@pytest.mark.parametrize(
    ("options", "on"),
    [
        (["--schedule", "on"], {"retrain", "by hand"}),
        (["--schedule", "pools"], {"retrain-on-pools", "by hand"}),
        (["--schedule", "off"], {"by hand"}),
        (["--learning"], {"retrain-on-pools", "learn", "by hand"}),
        (["--no-learning", "--schedule", "on"], {"retrain", "by hand"}),
        ([], {"retrain-on-pools", "by hand"}),
    ],
)
def test_options_switch_schedules_and_others_stay(patch, options, on):
    """Prefect takes all schedules from prefect.yaml, where they are off."""
    before = {"retrain": False, "retrain-on-pools": True, "learn": False, "by hand": True}
    plans = {name: SimpleNamespace(id=name, active=active) for name, active in before.items()}

    def deploy_anew(_):
        for plan in plans.values():
            plan.active = False

    @contextmanager
    def get_client(*, sync_client):
        yield SimpleNamespace(
            read_deployments=lambda: [
                SimpleNamespace(id=name, name=name, schedules=[plan])
                for name, plan in plans.items()
            ],
            update_deployment_schedule=lambda _, plan, *, active: setattr(
                plans[plan], "active", active
            ),
        )

    patch(
        deploy,
        require_server=lambda: "http://127.0.0.1:1/api",
        get_client=get_client,
        ensure_pool=lambda *_: None,
        ensure_limit=lambda *_: None,
        ensure_automation=lambda *_: None,
        deploy=deploy_anew,
    )

    assert invoke(deploy.main, *options).exit_code == 0
    assert {name for name, plan in plans.items() if plan.active} == on


def test_unknown_schedule_is_refused():
    assert "--schedule must be on, pools, off" in invoke(deploy.main, "--schedule", "weekly").stderr

"""What is created on a Prefect server, also if it is there already."""

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
from nmt_core.base.errors import ConfigError, NmtError
from tests.support.commands import invoke
from tests.support.projects import PROJECT

ADDRESS = "http://127.0.0.1:1/api"


class Server:
    """The part of Prefect's client that the program uses."""

    def __init__(self, pools=None, switches=None, automations=()):
        self.pools, self.made, self.updated, self.limits = pools or {}, {}, {}, {}
        self.automations = dict(enumerate(automations))
        self.plans = {
            name: SimpleNamespace(id=name, active=active)
            for name, active in (switches or {"train": False}).items()
        }

    def create_work_pool(self, pool):
        if pool.name in self.pools:
            raise taken()
        self.made[pool.name] = pool

    def read_work_pool(self, name):
        return SimpleNamespace(type=self.pools[name])

    def update_work_pool(self, name, update):
        self.updated[name] = update

    def create_global_concurrency_limit(self, limit):
        if limit.name in self.limits:
            raise taken()
        self.limits[limit.name] = limit.limit

    def read_automations_by_name(self, name):
        return [SimpleNamespace(id=n) for n, one in self.automations.items() if one == name]

    def delete_automation(self, number):
        del self.automations[number]

    def create_automation(self, automation):
        self.automations[uuid4()] = automation.name

    def read_deployments(self):
        return [
            SimpleNamespace(id=name, name=name, schedules=[plan])
            for name, plan in self.plans.items()
        ]

    def update_deployment_schedule(self, deployment, plan, *, active):
        assert deployment == plan
        self.plans[plan].active = active


def taken():
    request = httpx.Request("POST", ADDRESS)
    answer = httpx.Response(409, request=request)
    return ObjectAlreadyExists(httpx.HTTPStatusError("409", request=request, response=answer))


def test_pools_are_created_or_updated_to_their_template():
    """The limit of an existing pool stays as somebody has set it."""
    server = Server({"old": "process", "mine": "kubernetes"})
    kinds = [deploy.ensure_pool(server, pool) for pool in ("cpu", "gpu", "old", "mine")]

    assert kinds == ["process", "process", "process", "kubernetes"]
    assert [(name, pool.concurrency_limit) for name, pool in server.made.items()] == [
        ("cpu", None),
        ("gpu", 1),
    ]
    assert server.made["cpu"].base_job_template["variables"]["properties"]["env"]["default"]
    assert server.updated.keys() == {"old"}
    assert server.updated["old"].base_job_template["job_configuration"]
    assert "concurrency_limit" not in server.updated["old"].model_fields_set
    for _ in range(2):
        deploy.ensure_limit(server)
    assert server.limits == {deploy.PROMOTION: 1}


def test_a_run_without_heartbeats_is_marked_as_crashed():
    template = json.loads(deploy.TEMPLATE.read_text())
    environment = template["variables"]["properties"]["env"]["default"]
    heartbeat = timedelta(seconds=int(environment["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"]))
    alive = "prefect.flow-run.heartbeat"
    ends = {f"prefect.flow-run.{end}" for end in ("Completed", "Failed", "Cancelled", "Crashed")}
    trigger = deploy.watch_runs().trigger

    assert trigger.posture is Posture.Proactive
    assert (trigger.after, trigger.expect) == ({alive}, {alive} | ends)
    assert (trigger.within, trigger.threshold) == (3 * heartbeat, 1)
    assert trigger.for_each == {"prefect.resource.id"}


def test_failed_and_late_scheduled_runs_are_reported():
    block = SimpleNamespace(save=lambda _, *, overwrite: uuid4() if overwrite else None)
    trigger = deploy.report_failures(block).trigger

    assert {"Failed", "Crashed", "Late"} == {name.rpartition(".")[2] for name in trigger.expect}
    assert "prefect.tag.auto-scheduled" in str(trigger.match_related)
    assert trigger.posture is Posture.Reactive


@pytest.mark.parametrize("address", ["", "me@example.org", "ftp://example.org", "https://"])
def test_unusable_address_is_refused(address):
    with pytest.raises(ConfigError, match="NOTIFY must be a webhook"):
        deploy.make_block(address)


@pytest.mark.filterwarnings("ignore:'imghdr':DeprecationWarning")
def test_mail_is_sent_by_its_server():
    block = deploy.make_block("mailtos://me:password@example.org?to=you@example.org")

    assert len(block._apprise_client) == 1
    assert "password" not in str(block)


def test_deployment_names_the_server_not_a_folder(monkeypatch):
    """Each worker has its own folder; a refusal of Prefect is an error."""
    run = Mock(return_value=SimpleNamespace(returncode=0))
    monkeypatch.setenv("NMT_PROJECT", "/home/of/one/worker")
    monkeypatch.setattr(subprocess, "run", run)
    deploy.deploy(ADDRESS)

    assert run.call_args.args[0][-3:] == ["--no-prompt", "deploy", "--all"]
    assert run.call_args.kwargs["env"]["PREFECT_API_URL"] == ADDRESS
    assert "NMT_PROJECT" not in run.call_args.kwargs["env"]
    run.return_value = SimpleNamespace(returncode=1, stderr="no such flow\n", stdout="")
    with pytest.raises(NmtError, match="no such flow"):
        deploy.deploy(ADDRESS)


def test_schedules_are_off_until_switched_on():
    deployments = yaml.safe_load((PROJECT / "prefect.yaml").read_text(encoding="utf-8"))
    plans = [plan for one in deployments["deployments"] for plan in one.get("schedules", [])]

    assert [plan["active"] for plan in plans] == [False] * 3


@pytest.fixture
def run(patch):
    """Run the program against a server; Prefect takes all schedules from prefect.yaml, off."""

    def run(server, *options, **environment):
        def deploy_anew(address):
            assert address == ADDRESS
            for plan in server.plans.values():
                plan.active = False

        @contextmanager
        def get_client(*, sync_client):
            assert PREFECT_API_URL.value() == ADDRESS
            yield server

        patch(deploy, require_server=lambda: ADDRESS, get_client=get_client, deploy=deploy_anew)
        patch(deploy, make_block=lambda _: SimpleNamespace(save=lambda *_, **__: uuid4()))
        return invoke(deploy.main, *options, **environment)

    return run


WATCH, REPORT = deploy.watch_runs().name, deploy.NOTIFICATION


@pytest.mark.parametrize(
    ("notify", "there", "expected"),
    [
        ({}, [], [WATCH]),
        ({}, [WATCH, REPORT], [WATCH, REPORT]),
        ({"NOTIFY": "https://x"}, [WATCH, WATCH, REPORT], [WATCH, REPORT]),
        ({"NOTIFY": "off"}, [REPORT, "mine"], [WATCH, "mine"]),
    ],
)
def test_automations_are_created_once(run, notify, there, expected):
    server = Server(automations=there)
    ran = run(server, **notify)

    assert ran.stdout == f"deployed at {ADDRESS}: train\n"
    assert sorted(server.automations.values()) == sorted(expected)
    assert server.made.keys() == {"cpu", "gpu"}
    assert server.limits == {deploy.PROMOTION: 1}


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
def test_options_switch_schedules_and_others_stay(run, options, on):
    server = Server(
        switches={"retrain": False, "retrain-on-pools": True, "learn": False, "by hand": True}
    )

    assert run(server, *options).exit_code == 0
    assert {name for name, plan in server.plans.items() if plan.active} == on


def test_unknown_schedule_is_refused(run):
    assert run(Server(), "--schedule", "weekly").exit_code == 2

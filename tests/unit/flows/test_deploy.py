"""What is put on a Prefect server, also when others are at it."""

import json
import subprocess
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
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


def test_a_pool_is_made_with_its_limit():
    made = {name: Server() for name in ("cpu", "gpu")}
    for name, server in made.items():
        deploy.ensure_pool(server, name, "process")

    assert {"cpu": None, "gpu": 1} == {
        name: server.made.concurrency_limit for name, server in made.items()
    }
    assert made["cpu"].made.base_job_template["variables"]["properties"]["env"]["default"]


def test_a_pool_that_is_there_is_brought_to_its_template():
    """Also one that a worker has made a moment ago; its limit is whose who set it by hand."""
    server = Server("process")
    deploy.ensure_pool(server, "gpu", "process")

    assert server.made is None
    assert server.updated.base_job_template["job_configuration"]
    assert "concurrency_limit" not in server.updated.model_fields_set


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


def test_a_limit_that_is_there_stays_as_it_was_set():
    server = Server()
    for limit in (1, 3):
        deploy.ensure_limit(server, "promotion", limit)

    assert {"promotion": 1} == server.limits


def test_a_run_is_dead_that_misses_three_heartbeats_and_has_not_ended():
    template = json.loads((deploy.TEMPLATES / "process.json").read_text())
    environment = template["variables"]["properties"]["env"]["default"]
    heartbeat = timedelta(seconds=int(environment["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"]))
    alive = "prefect.flow-run.heartbeat"
    ends = {f"prefect.flow-run.{end}" for end in ("Completed", "Failed", "Cancelled", "Crashed")}

    trigger = deploy.watch_runs().trigger

    assert Posture.Proactive is trigger.posture
    assert ({alive}, {alive} | ends, 3 * heartbeat, 1) == (
        trigger.after,
        trigger.expect,
        trigger.within,
        trigger.threshold,
    )
    assert {"prefect.resource.id"} == trigger.for_each


class Watches:
    """Prefect's client, as far as it knows automations: numbers, and how often each was updated."""

    def __init__(self, *there):
        self.there = dict.fromkeys(there, 0)

    def read_automations_by_name(self, name):
        return [SimpleNamespace(id=number) for number in self.there]

    def create_automation(self, _):
        self.there["new"] = 0

    def update_automation(self, number, _):
        self.there[number] += 1

    def delete_automation(self, number):
        del self.there[number]


@pytest.mark.parametrize(
    ("there", "then"), [([], {"new": 0}), ([1], {1: 1}), ([1, 2], {1: 1}), ([1, 2, 3], {1: 1})]
)
def test_there_is_one_watch(there, then):
    """Also where two programs have installed it at once."""
    watches = Watches(*there)
    deploy.ensure_automation(watches, deploy.watch_runs())

    assert then == watches.there


def test_where_this_clone_lies_is_not_told_to_the_server(monkeypatch):
    """It is for each worker to say where its own is."""
    monkeypatch.setenv("NMT_PROJECT", "/home/of/one/worker")
    ran = []

    def run(command, *, env, **_):
        ran.append((command, env))
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", run)
    deploy.deploy("http://127.0.0.1:1/api")

    [(command, environment)] = ran
    assert ["--no-prompt", "deploy", "--all"] == command[-3:]
    assert "http://127.0.0.1:1/api" == environment["PREFECT_API_URL"]
    assert "NMT_PROJECT" not in environment


def test_what_prefect_does_not_like_is_told(monkeypatch):
    failed = SimpleNamespace(returncode=1, stderr="no such flow\n", stdout="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)

    with pytest.raises(NmtError, match="prefect deploy: no such flow"):
        deploy.deploy("http://127.0.0.1:1/api")


class Schedules:
    """Prefect's client, as far as it knows schedules."""

    def __init__(self, **switches):
        self.plans = {
            name: SimpleNamespace(id=f"{name}'s", slug="weekly", active=on)
            for name, on in switches.items()
        }
        self.updated = []

    def read_deployments(self):
        return [
            SimpleNamespace(id=f"of {name}", name=name, schedules=[plan])
            for name, plan in self.plans.items()
        ]

    def update_deployment_schedule(self, deployment, schedule, *, active):
        self.updated.append((deployment, schedule, active))


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
    ("schedule", "on"),
    [
        ("on", {"retrain", "by hand"}),
        ("pools", {"retrain-on-pools", "by hand"}),
        ("off", {"by hand"}),
        (None, {"retrain-on-pools", "by hand"}),
    ],
)
def test_one_weekly_retraining_is_switched_on_and_what_is_not_asked_for_stays(
    monkeypatch, schedule, on
):
    """One of them, and a schedule of somebody's own, had been switched on in Prefect's page."""
    server = Schedules(**{"retrain": False, "retrain-on-pools": True, "by hand": True})

    def deploy_anew(server_address):
        prepared.append(server_address)
        for plan in server.plans.values():
            plan.active = False

    def update(deployment, schedule, *, active):
        server.plans[deployment.removeprefix("of ")].active = active

    address, prepared = "http://127.0.0.1:1/api", []

    @contextmanager
    def get_client(*, sync_client):
        assert PREFECT_API_URL.value() == address  # the server that answered
        yield server

    server.update_deployment_schedule = update
    for name, value in {
        "require_server": lambda: address,
        "prepare_server": prepared.append,
        "get_client": get_client,
        "deploy": deploy_anew,
        "list_deployments": lambda: "",
    }.items():
        monkeypatch.setattr(deploy, name, value)
    ran = invoke(deploy.main, *(["--schedule", schedule] if schedule else []))

    assert ran.exit_code == 0
    assert prepared == [deploy.POOLS, address]
    assert {name for name, plan in server.plans.items() if plan.active} == on


@pytest.mark.parametrize("learning", [True, False])
def test_learning_is_switched_apart_from_retraining(learning):
    assert deploy.choose_switches(None, learning=learning) == {("learn", "nightly"): learning}
    both = deploy.choose_switches(deploy.Schedule.on, learning=learning)
    assert both == deploy.choose_switches(deploy.Schedule.on) | {("learn", "nightly"): learning}
    assert deploy.choose_switches(None) == {}


def test_the_schedules_that_can_be_switched_are_those_of_the_file():
    """All off until somebody switches one on."""
    told = yaml.safe_load((PROJECT / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    plans = {(one["name"], plan["slug"]): plan for one in told for plan in one.get("schedules", [])}

    assert plans.keys() == deploy.choose_switches(deploy.Schedule.off, learning=False).keys()
    assert not [plan for plan in plans.values() if plan["active"]]

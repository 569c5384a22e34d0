"""What a worker is told, what it leaves, and which runs are taken for dead."""

import base64
import os
import signal
import socket
import subprocess
import sys
import uuid
from contextlib import contextmanager
from types import SimpleNamespace

import httpx
import pytest
import typer
from prefect.client.schemas.objects import StateType
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

from flows import worker
from flows.entry import check_server, require_server
from nmt_core.base.errors import ConfigError, NmtError
from tests.support.commands import invoke
from tests.support.web_server import serving, status

HERE = f"{os.getuid()}@{socket.gethostname()}"


@pytest.fixture(autouse=True)
def _elsewhere(project):
    """Where no servers are known, whatever runs in this checkout."""


def test_a_caller_may_choose_everything_but_who_and_where(monkeypatch):
    monkeypatch.setenv("PREFECT_WORKER_QUERY_SECONDS", "7")
    monkeypatch.setenv("PREFECT_API_URL", "http://elsewhere/api")
    monkeypatch.setenv("NMT_PROJECT", "/home/nmt/project")
    monkeypatch.delenv("PREFECT_CLIENT_MAX_RETRIES", raising=False)

    told = worker.build_environment("http://127.0.0.1:1/api", "cpu-1:0@here")

    assert "7" == told["PREFECT_WORKER_QUERY_SECONDS"]
    assert "20" == told["PREFECT_CLIENT_MAX_RETRIES"]
    assert "/home/nmt/project" == told["NMT_PROJECT"]
    assert "http://127.0.0.1:1/api" == told["PREFECT_API_URL"]
    assert "cpu-1:0@here" == told[worker.MARK]


def test_runs_work_in_this_clone_unless_told_otherwise(monkeypatch, tmp_path):
    monkeypatch.delenv("NMT_PROJECT", raising=False)
    monkeypatch.chdir(tmp_path)

    assert str(tmp_path) == worker.build_environment("", "")["NMT_PROJECT"]


def test_a_missing_server_is_told_in_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    url = f"http://127.0.0.1:{port}/api"
    with (
        temporary_settings({PREFECT_API_URL: url}),
        pytest.raises(NmtError, match=f"no Prefect server is ready at {url}"),
    ):
        check_server()


def test_a_flow_needs_no_server_but_a_worker_does():
    with temporary_settings({PREFECT_API_URL: None}):
        assert check_server() is None
        with pytest.raises(NmtError, match="no Prefect server is known here"):
            require_server()


def test_a_server_without_its_database_is_not_ready():
    with serving() as site:
        site.put("/api/ready", status(503))
        url = site.put("/api/admin/version", status(200)).removesuffix("/admin/version")
        with (
            temporary_settings({PREFECT_API_URL: url}),
            pytest.raises(NmtError, match=f"no Prefect server is ready at {url} .*503"),
        ):
            check_server()


@pytest.mark.parametrize("login", ["admin:right", "admin:wrong"])
def test_a_server_that_wants_another_password_is_told_in_a_sentence(login):
    with serving() as site:
        site.put("/api/ready", status(200))
        url = site.put("/api/admin/version", asking_for("admin:right")).removesuffix(
            "/admin/version"
        )
        with temporary_settings({PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: login}):
            if login == "admin:right":
                assert url == check_server() == require_server()
            else:
                with pytest.raises(NmtError, match=f"{url} wants another password"):
                    check_server()


def asking_for(login):
    """Answer who knows the login."""
    expected = f"Basic {base64.b64encode(login.encode()).decode()}"

    def behave(handler):
        known = handler.headers.get("Authorization") == expected
        handler.answer(200 if known else 401, Content_Length=0)

    return behave


class Api:
    """Prefect's client, as far as it is used."""

    def __init__(self, *runs):
        self.runs = runs
        self.states = {}

    def read_flow_runs(self, *, flow_run_filter, work_pool_filter):
        assert ["cpu"] == work_pool_filter.name.any_
        return [run for run in self.runs if run.state_type in flow_run_filter.state.type.any_]

    def set_flow_run_state(self, number, state):
        assert HERE in state.message  # which worker it was
        self.states[number] = state.name

    def read_work_pool(self, name):
        if name == "new":
            raise ObjectNotFound(None)
        return SimpleNamespace(type="kubernetes" if name == "gpu" else "process")


@pytest.fixture
def api(monkeypatch):
    api = Api()

    @contextmanager
    def client(**_):
        yield api

    monkeypatch.setattr(worker, "get_client", client)
    return api


def run(of, state=StateType.RUNNING):
    labels = {} if of is None else {"prefect.worker.name": of}
    return SimpleNamespace(id=uuid.uuid4(), name="run", labels=labels, state_type=state)


def test_runs_of_dead_workers_here_end(api):
    states = (StateType.RUNNING, StateType.PENDING, StateType.CANCELLING)
    api.runs = [run(f"cpu-1:{HERE}", state) for state in states]

    worker.crash_what_is_dead("cpu")

    assert ["Crashed", "Crashed", "Cancelled"] == [api.states[one.id] for one in api.runs]


@pytest.mark.parametrize(
    "name",
    [
        None,
        "cpu-1",
        HERE,
        f"cpu-1:{os.getuid()}@elsewhere",
        f"cpu-1:{os.getuid() + 1}@{socket.gethostname()}",
        f"cpu-1:x{HERE}",
        f"cpu-1:{HERE}.example.org",
    ],
)
def test_runs_of_others_are_left_alone(api, name):
    """Of other machines, of other users, and of workers that were started otherwise."""
    left = set(StateType) - {StateType.RUNNING, StateType.PENDING, StateType.CANCELLING}
    api.runs = [run(name), *(run(f"cpu-1:{HERE}", state) for state in left)]  # wait or have ended

    worker.crash_what_is_dead("cpu")

    assert {} == api.states


def test_runs_of_living_workers_are_left_alone(api):
    """A stage that still saves keeps its run alive, too."""
    name = f"cpu-{uuid.uuid4()}:{HERE}"
    api.runs = [run(name)]
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(
        command, env=os.environ | {worker.MARK: name}, stdin=subprocess.PIPE
    ) as living:
        worker.crash_what_is_dead("cpu")
        assert {} == api.states
        living.communicate(b"\n")

    worker.crash_what_is_dead("cpu")

    assert ["Crashed"] == list(api.states.values())


def test_a_pool_of_another_kind_is_refused(api):
    with pytest.raises(NmtError, match="pool gpu is of kind kubernetes"):
        worker.check_pool("gpu")


def test_a_pool_is_made_if_there_is_none(api, monkeypatch):
    made = []
    monkeypatch.setattr(worker, "ensure_pool", lambda *pool: made.append(pool))
    for pool in ("cpu", "new"):
        worker.check_pool(pool)

    assert made == [(api, "new", "process")]


@pytest.mark.parametrize("name", ["gpu/1", "100%"])
def test_a_name_that_prefect_would_not_take_is_refused(name):
    with pytest.raises(ConfigError, match="must be without / and %"):
        worker.name_worker(name)


def test_what_a_worker_is_called_says_that_it_is_ours(api):
    api.runs = [run(worker.name_worker(f"cpu-{uuid.uuid4()}"))]

    worker.crash_what_is_dead("cpu")

    assert ["Crashed"] == list(api.states.values())


@pytest.mark.parametrize("words", [[], ["--leashed"], ["--name", "mine", "--limit", "2"]])
@pytest.mark.parametrize("away", [False, True])
def test_dead_runs_are_told_before_a_worker_begins_and_after_it_has_ended(monkeypatch, words, away):
    """All at the server that answered; the program ends as the worker has, if that can be told."""
    url, noted, calls = "http://127.0.0.1:1/api", [], []

    def note(word):
        def noting(pool):
            noted.append((word, pool, PREFECT_API_URL.value()))
            if away and noted.count(("crash", "cpu", url)) == 2:
                raise httpx.ConnectError("away")

        return noting

    def run_to_the_end(command, environment, *, say, last_word):
        assert (say, last_word) == (typer.echo, signal.SIGKILL)
        calls.append((command, environment[worker.MARK]))
        noted.append((command[-1], environment["PREFECT_API_URL"]))
        return 3

    for name, value in {
        "end_with_parent": lambda: noted.append("--leashed"),
        "require_server": lambda: url,
        "check_pool": note("check"),
        "crash_what_is_dead": note("crash"),
    }.items():
        monkeypatch.setattr(worker, name, value)
    monkeypatch.setattr(worker.processes, "run_to_the_end", run_to_the_end)
    ran = invoke(worker.main, "cpu", *words)

    dead, limit = ("crash", "cpu", url), 2 if "--limit" in words else 1
    assert ran.exit_code == (1 if away else 3)
    assert ("could not be told what became" in ran.stderr) is away
    leashed = [word for word in words if word == "--leashed"]
    assert noted == [*leashed, ("check", "cpu", url), dead, (f"--limit={limit}", url), dead]
    name = f"{'mine' if '--name' in words else f'cpu-{os.getpid()}'}:{HERE}"
    start = [sys.executable, "-m", "prefect", "worker", "start", "--pool=cpu", "--type=process"]
    assert calls == [([*start, f"--name={name}", f"--limit={limit}"], name)]
    assert url in ran.stdout

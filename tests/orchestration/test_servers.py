"""Servers as they are: started, asked, killed and stopped, with nothing left."""

import json
import signal
import subprocess
import sys
import uuid
from contextlib import closing
from pathlib import Path

import boto3
import httpx2
import psutil
import psycopg2
import pytest
from botocore.exceptions import ClientError
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from nmt_core.base import files
from tests.support.fleet import login
from tests.support.processes import at_work_in, marked, read_command, wait_for
from tests.support.projects import a_users_environment

# PostgreSQL, a store, Prefect and MLflow, as the fixture starts them


def test_prefect_keeps_its_records_in_postgresql(topology, secrets):
    name = uuid.uuid4().hex
    api = topology.environment["PREFECT_API_URL"]
    httpx2.post(
        f"{api}/variables/", json={"name": name, "value": 7}, auth=login(topology)
    ).raise_for_status()

    found = query(topology, "prefect", secrets, "select value from variable where name = %s", name)
    assert [(7,)] == found


def query(topology, role, secrets, text, *values, database=None):
    address = {"host": topology.postgres.host, "port": topology.postgres.port}
    password = secrets[role]
    with (
        closing(
            psycopg2.connect(**address, user=role, password=password, dbname=database or role)
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(text, values)
        return cursor.fetchall()


@pytest.fixture(scope="module")
def secrets(topology, folder):
    return files.read_json(folder / "secrets.json")


def test_a_role_enters_its_own_database_only(topology, secrets):
    with pytest.raises(psycopg2.OperationalError, match="permission denied"):
        query(topology, "mlflow", secrets, "select 1", database="prefect")
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        query(topology, "mlflow", secrets | {"mlflow": "guessed"}, "select 1")


PROBE = """\
import mlflow
mlflow.set_experiment("probe")
with mlflow.start_run() as run:
    mlflow.log_metric("loss", 1.5)
    mlflow.log_text("a file", "file.txt")
print(run.info.run_id)
"""


def test_a_file_logged_to_mlflow_lands_in_the_store(topology, secrets):
    """The client knows MLflow alone; the keys are the server's."""
    probe = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=a_users_environment() | topology.mlflow.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    run = probe.stdout.split()[-1]

    assert [(1.5,)] == query(
        topology, "mlflow", secrets, "select value from metrics where run_uuid = %s", run
    )
    assert [b"a file"] == [
        body for key, body in objects(topology) if key.endswith(f"{run}/artifacts/file.txt")
    ]


def client(topology, *, key=None):
    names = {name.lower(): value for name, value in topology.store.environment.items()}
    return boto3.client(
        "s3",
        endpoint_url=names["aws_endpoint_url_s3"],
        aws_access_key_id=names["aws_access_key_id"],
        aws_secret_access_key=key or names["aws_secret_access_key"],
        region_name=names["aws_default_region"],
    )


def objects(topology):
    with closing(client(topology)) as store:
        for page in store.get_paginator("list_objects_v2").paginate(Bucket="nmt"):
            for found in page.get("Contents", []):
                body = store.get_object(Bucket="nmt", Key=found["Key"])["Body"]
                yield found["Key"], body.read()


def test_the_store_refuses_who_has_no_key(topology):
    with (
        closing(client(topology, key="guessed")) as store,
        pytest.raises(ClientError, match="SignatureDoesNotMatch"),
    ):
        store.list_objects_v2(Bucket="nmt")


def test_no_secret_is_seen_in_a_command_or_in_a_log(topology, secrets, folder):
    commands = [*map(read_command, at_work_in(folder))]
    logs = [path.read_text() for path in folder.glob("*.log*")]

    assert len(commands) > 8
    assert len(logs) == 4
    assert [] == [text for text in commands + logs for secret in secrets.values() if secret in text]
    assert "0o600" == oct((folder / "secrets.json").stat().st_mode & 0o777)


def test_a_killed_database_comes_back_with_what_it_had(topology, secrets):
    api = topology.environment["PREFECT_API_URL"]
    before = query(topology, "prefect", secrets, "select count(*) from variable")

    topology.postgres.kill()
    assert wait_for(lambda: not topology.prefect.answers(), seconds=60)
    topology.postgres.start()

    assert wait_for(topology.prefect.answers, seconds=180)
    assert before == query(topology, "prefect", secrets, "select count(*) from variable")
    httpx2.post(f"{api}/variables/filter", json={}, auth=login(topology)).raise_for_status()


PAGES = {
    "a page that asks across origins": {"Origin": "http://evil.example"},
    "a page whose name leads here": {
        "Origin": "http://evil.example",
        "Host": "evil.example",
    },
    "a page that guesses": {
        "Origin": "http://evil.example",
        "Authorization": httpx2.BasicAuth("admin", "admin")._auth_header,
    },
}


@pytest.mark.parametrize("page", PAGES)
def test_no_page_in_a_browser_can_have_a_worker_run_anything(topology, fleet, page):
    """A flow, a deployment that runs a command of its own, and a run of it."""
    name = uuid.uuid4().hex
    script = {"prefect.deployments.steps.run_shell_script": {"script": f"touch {name}"}}
    before = fleet.api("POST", "/deployments/count")
    flow = fleet.api("POST", "/flows/", name="known")["id"]
    known = fleet.api("POST", "/deployments/filter", limit=1)[0]["id"]
    wanted = {
        "/flows/": {"name": name},
        "/deployments/": {
            "name": name,
            "flow_id": flow,
            "work_pool_name": "cpu",
            "entrypoint": "flow.py:flow",
            "pull_steps": [script],
        },
        f"/deployments/{known}/create_flow_run": {"state": {"type": "SCHEDULED"}},
    }
    for route, body in wanted.items():
        refused = httpx2.post(f"{api(topology)}{route}", json=body, headers=PAGES[page])
        assert 401 == refused.status_code
        assert "access-control-allow-origin" not in refused.headers

    assert before == fleet.api("POST", "/deployments/count")


def api(topology):
    return topology.environment["PREFECT_API_URL"]


def test_a_browser_is_told_whose_pages_may_ask(topology):
    """Before a page of others may send a request with a body, the browser asks so."""
    asking = {"Access-Control-Request-Method": "POST"}
    allowed = {
        origin: httpx2.options(f"{api(topology)}/flows/", headers=asking | {"Origin": origin})
        for origin in ("http://evil.example", "null", topology.prefect.address)
    }

    assert [400, 400, 200] == [answer.status_code for answer in allowed.values()]


@pytest.mark.parametrize("route", ["/events/in", "/events/out", "/logs/out"])
def test_a_socket_of_a_page_is_closed(topology, route):
    """Browsers let any page open one, and an event is enough to have a run taken for dead."""
    address = api(topology).replace("http:", "ws:") + route

    with pytest.raises(InvalidStatus, match="HTTP 403"), connect(address):
        pass
    with connect(address, subprotocols=["prefect"]) as socket:
        socket.send(json.dumps({"type": "auth", "token": "admin:admin"}))
        with pytest.raises(ConnectionClosedError, match="Invalid token"):
            socket.recv(timeout=20)


def test_prefect_shows_its_pages(topology):
    """They are what asks for the password; they lie with what it keeps, not with its packages."""
    page = httpx2.get(topology.prefect.address, follow_redirects=True)

    assert 200 == page.status_code
    assert "<title>Prefect" in page.text
    assert list(topology.prefect.folder.glob("pages/*/index.html"))
    assert "BASIC" == httpx2.get(f"{topology.prefect.address}/ui-settings").json()["auth"]


# make server


class Program:
    """The program behind `make server`, in a folder, at ports that are free."""

    def __init__(self, folder, log):
        self.folder = folder
        self.log = log
        self.mark = uuid.uuid4().hex

    def start(self, *options):
        free = [word for name in ("prefect", "mlflow") for word in ("--port", f"{name}=0")]
        command = [sys.executable, "-m", "infra.servers", "--folder", self.folder]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *(options or free)],
                cwd=self.folder.parent,
                env=a_users_environment() | {"SERVERS": self.mark},
                stdout=log,
                stderr=log,
            )
        return self

    def said(self, words):
        return words in self.log.read_text()

    def answers(self):
        return wait_for(lambda: self.said("export PREFECT_API_URL"), seconds=180)

    def exports(self):
        """What it leaves for others."""
        lines = (self.folder / "environment").read_text().splitlines()
        return dict(line.removeprefix("export ").split("=", 1) for line in lines)

    def nothing_left(self):
        """Whether all has ended, in as many seconds as a person would wait."""
        return wait_for(
            lambda: self.process.poll() is not None and not marked("SERVERS", self.mark), seconds=60
        )


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    program = Program(folder / "servers", folder / "said.txt").start()
    yield program
    for process in marked("SERVERS", program.mark):
        process.kill()
    program.process.wait()


def test_a_program_tells_where_its_servers_are(program):
    assert program.answers()

    exports = program.exports()
    login = {"MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"}
    assert {"PREFECT_API_AUTH_STRING", "PREFECT_API_URL", "MLFLOW_TRACKING_URI"} == set(
        exports
    ) - login
    httpx2.get(f"{exports['PREFECT_API_URL']}/ready").raise_for_status()
    httpx2.get(f"{exports['MLFLOW_TRACKING_URI']}/health").raise_for_status()


def test_prefects_own_command_finds_the_server_in_that_folder(program):
    """Nothing is activated and nothing sourced."""
    assert program.answers()
    answer = subprocess.run(
        [Path(sys.executable).parent / "prefect", "variable", "set", "found", "7"],
        cwd=program.folder.parent,
        env=a_users_environment() | {"PREFECT_HOME": str(program.folder.parent / "home")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == answer.returncode, answer.stderr
    exports = program.exports()
    known = httpx2.get(
        f"{exports['PREFECT_API_URL']}/variables/name/found",
        auth=tuple(exports["PREFECT_API_AUTH_STRING"].split(":")),
    )
    assert 7 == known.json()["value"]


def test_servers_listen_to_this_machine_only(program):
    assert program.answers()
    heard = {
        connection.laddr.ip
        for process in marked("SERVERS", program.mark)
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }

    assert {"127.0.0.1"} == heard


def test_a_killed_server_is_started_again(program):
    """Its child, which holds the port, included: only the main process was killed."""
    assert program.answers()
    (mlflow,) = (
        process
        for process in psutil.Process(program.process.pid).children()
        if "mlflow" in process.cmdline()
    )

    mlflow.kill()

    assert wait_for(lambda: program.said("mlflow: was killed by SIGKILL"), seconds=60)
    assert wait_for(lambda: program.said("mlflow answers again"), seconds=180)


def test_a_stopped_program_leaves_nothing(program):
    assert program.answers()
    assert len(marked("SERVERS", program.mark)) >= 4  # itself, Prefect, MLflow and its child

    program.process.send_signal(signal.SIGTERM)

    assert program.nothing_left()
    assert 0 == program.process.returncode
    assert not (program.folder.parent / ".env").is_symlink()


def test_a_program_that_is_interrupted_while_it_starts_leaves_nothing(program):
    program.start()
    assert wait_for(lambda: len(marked("SERVERS", program.mark)) >= 3, seconds=180)

    program.process.send_signal(signal.SIGINT)

    assert program.nothing_left()
    assert 0 == program.process.returncode


def test_a_killed_program_leaves_nothing_and_its_records_stay(program):
    first = json.dumps(sorted(path.name for path in program.folder.iterdir()))
    program.start()
    assert program.answers()

    program.process.kill()

    assert program.nothing_left()
    assert first == json.dumps(sorted(path.name for path in program.folder.iterdir()))

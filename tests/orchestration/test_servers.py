"""Servers as they are: started, asked, killed and stopped, with nothing left."""

import json
import signal
import subprocess
import sys
import uuid
from contextlib import closing

import boto3
import httpx
import psutil
import psycopg2
import pytest
from botocore.exceptions import ClientError

from nmt_core import files
from tests.orchestration.leftovers import at_work_in, marked, wait_for
from tests.projects import a_users_environment

# PostgreSQL, a store, Prefect and MLflow, as the fixture starts them


def test_prefect_keeps_its_records_in_postgresql(topology, secrets):
    name = uuid.uuid4().hex
    api = topology.environment["PREFECT_API_URL"]
    httpx.post(f"{api}/variables/", json={"name": name, "value": 7}).raise_for_status()

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
    commands = [" ".join(process.cmdline()) for process in at_work_in(folder)]
    logs = [path.read_text() for path in folder.glob("*.log*")]

    assert len(commands) > 8
    assert len(logs) == 4
    assert [] == [text for text in commands + logs for secret in secrets.values() if secret in text]
    assert "0o600" == oct((folder / "secrets.json").stat().st_mode & 0o777)


def test_a_killed_database_comes_back_with_what_it_had(topology, secrets):
    api = topology.environment["PREFECT_API_URL"]
    before = query(topology, "prefect", secrets, "select count(*) from variable")

    topology.postgres.kill()
    assert wait_for(lambda: not topology.prefect.answers(), seconds=10)
    topology.postgres.start()

    assert wait_for(topology.prefect.answers, seconds=30)
    assert before == query(topology, "prefect", secrets, "select count(*) from variable")
    httpx.post(f"{api}/variables/filter", json={}).raise_for_status()


# make server


class Program:
    """The program behind `make server`, in a folder, at ports that are free."""

    def __init__(self, folder, log):
        self.folder = folder
        self.log = log
        self.mark = uuid.uuid4().hex

    def start(self, *options):
        free = [word for name in ("prefect", "mlflow") for word in ("--port", f"{name}=0")]
        command = [sys.executable, "-m", "flows.servers", "--folder", self.folder]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *(options or free)],
                env=a_users_environment() | {"SERVERS": self.mark},
                stdout=log,
                stderr=log,
            )
        return self

    def said(self, words):
        return words in self.log.read_text()

    def answers(self):
        return wait_for(lambda: self.said("export PREFECT_API_URL"), seconds=180)

    def nothing_left(self):
        """Whether all has ended, in as many seconds as a person would wait."""
        return wait_for(
            lambda: self.process.poll() is not None and not marked("SERVERS", self.mark), seconds=12
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

    lines = (program.folder / "environment").read_text().splitlines()
    exports = dict(line.removeprefix("export ").split("=", 1) for line in lines)
    assert {"MLFLOW_TRACKING_URI", "PREFECT_API_URL"} == set(exports)
    httpx.get(f"{exports['PREFECT_API_URL']}/ready").raise_for_status()
    httpx.get(f"{exports['MLFLOW_TRACKING_URI']}/health").raise_for_status()


def test_servers_listen_to_this_machine_only(program):
    assert program.answers()
    heard = {
        connection.laddr.ip
        for process in marked("SERVERS", program.mark)
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }

    assert {"127.0.0.1"} == heard


def test_a_second_program_is_refused_in_a_sentence(program, tmp_path):
    assert program.answers()
    exports = (program.folder / "environment").read_text()
    taken = exports.split("PREFECT_API_URL=http://127.0.0.1:")[1].split("/")[0]

    said = [
        refusal(program.folder),
        refusal(tmp_path / "other", "--port", f"prefect={taken}"),
    ]

    assert f"error: servers run in {program.folder} already" in said[0]
    assert f"error: prefect cannot listen on 127.0.0.1:{taken}, where another program" in said[1]


def refusal(folder, *options):
    command = [sys.executable, "-m", "flows.servers", "--folder", folder, *options]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 1 == answer.returncode
    assert "Traceback" not in answer.stderr
    return " ".join(answer.stderr.split())


def test_a_killed_server_is_started_again(program):
    """Its child, which holds the port, included: only the main process was killed."""
    assert program.answers()
    (mlflow,) = (
        process
        for process in psutil.Process(program.process.pid).children()
        if "mlflow" in process.cmdline()
    )

    mlflow.kill()

    assert wait_for(lambda: program.said("mlflow: ended with code -9"), seconds=10)
    assert wait_for(lambda: program.said("mlflow answers again"), seconds=90)


def test_a_stopped_program_leaves_nothing(program):
    assert program.answers()
    assert len(marked("SERVERS", program.mark)) >= 4  # itself, Prefect, MLflow and its child

    program.process.send_signal(signal.SIGTERM)

    assert program.nothing_left()
    assert 0 == program.process.returncode


def test_a_program_that_is_interrupted_while_it_starts_leaves_nothing(program):
    program.start()
    assert wait_for(lambda: len(marked("SERVERS", program.mark)) >= 3, seconds=30)

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

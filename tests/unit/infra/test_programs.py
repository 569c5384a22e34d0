"""What the real servers are started with, told and asked, without starting them."""

import configparser
import threading
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import httpx2
import pytest

from infra.servers import programs, server
from infra.servers.programs import MLflow, Prefect, Store
from infra.servers.secrets import load_secrets
from infra.servers.server import answers_http, find_free_port
from infra.servers.topology import Topology
from stages.tracking.mlflow_login import USER


@contextmanager
def answering(status):
    """An address at which every question gets the same status."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.server_port}"
        finally:
            listener.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "well"), [(200, True), (204, True), (302, False), (404, False), (503, False)]
)
def test_only_a_success_is_an_answer(status, well):
    """A server whose database is away, or another program at its port, is not ready."""
    with answering(status) as address:
        assert answers_http(address) is well
    assert answers_http(address) is False


def test_no_proxy_is_asked_for_a_server(monkeypatch):
    """One that the user's environment names does not know this machine's loopback."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{find_free_port('127.0.0.1')}")
    server.make_client.cache_clear()

    with answering(200) as address:
        assert answers_http(address)


@pytest.mark.parametrize(("kind", "path"), [(Prefect, "/api/ready"), (MLflow, "/health")])
@pytest.mark.parametrize("well", [True, False])
def test_a_server_is_asked_where_it_tells_the_truth(tmp_path, monkeypatch, kind, path, well):
    """Prefect's api/health says that it is well without its database; api/ready does not."""
    asked = []
    monkeypatch.setattr(server, "answers_http", lambda url: asked.append(url) or well)
    one = kind(tmp_path, secrets=load_secrets(tmp_path / "secrets.json"))

    assert one.answers() is well
    assert asked == [f"{one.address}{path}"]


def test_a_store_that_refuses_us_answers(tmp_path, monkeypatch):
    """Without a key it says 403 to everybody."""
    monkeypatch.setattr(programs, "find_rclone", lambda: "/rclone")
    with answering(403) as address:
        port = int(address.rpartition(":")[2])
        store = Store(tmp_path, secrets=load_secrets(tmp_path / "secrets.json"), port=port)
        assert store.answers()
    assert not store.answers()


def test_each_server_listens_where_it_is_said_to(full):
    places = {one.name: (one.host, str(one.port)) for one in full}
    commands = {one.name: one.command() for one in full}

    for name in ("prefect", "mlflow"):
        host, port = places[name]
        assert {f"--host={host}", f"--port={port}"} <= {*commands[name]}
    assert f"--addr={':'.join(places['store'])}" in commands["store"]
    assert len({port for _, port in places.values()}) == 4


def test_what_a_stranger_may_see_of_mlflow_is_nothing(tmp_path):
    """Whoever has a login, but was given no permission."""
    there = Topology(tmp_path, host="127.0.0.2").mlflow
    there.prepare()
    told = configparser.ConfigParser()
    told.read(there.variables()["MLFLOW_AUTH_CONFIG_PATH"])

    assert told["mlflow"]["default_permission"] == "NO_PERMISSIONS"
    assert told["mlflow"]["database_uri"] == f"sqlite:///{there.folder / 'logins.db'}"
    assert told["mlflow"]["auth_cache_ttl_seconds"] == "60"


def test_names_that_others_give_mlflow_are_refused(tmp_path):
    told = Topology(tmp_path, host="127.0.0.2").mlflow.variables()

    assert {"127.0.0.2", "127.0.0.2:*", "localhost:*"} <= {
        *told["MLFLOW_SERVER_ALLOWED_HOSTS"].split(",")
    }
    assert "*" not in told["MLFLOW_SERVER_ALLOWED_HOSTS"].split(",")


def test_mlflow_keeps_files_in_the_store_where_there_is_one(full, tmp_path):
    told = full.mlflow.variables()
    keys = load_secrets(tmp_path / "secrets.json")

    assert told["MLFLOW_ARTIFACTS_DESTINATION"] == "s3://nmt/mlflow"
    assert told["MLFLOW_S3_ENDPOINT_URL"] == full.store.address
    assert told["AWS_ENDPOINT_URL_S3"] == full.store.address
    assert (told["AWS_ACCESS_KEY_ID"], told["AWS_SECRET_ACCESS_KEY"]) == (keys.key_id, keys.key)


def test_mlflow_keeps_files_beside_itself_where_there_is_no_store(tmp_path):
    small, prefect = Topology(tmp_path).mlflow, Topology(tmp_path).prefect
    told = small.variables()

    assert f"{tmp_path}/mlflow/" in told["MLFLOW_BACKEND_STORE_URI"]
    assert f"{tmp_path}/prefect/" in prefect.variables()["PREFECT_API_DATABASE_CONNECTION_URL"]

    assert told["MLFLOW_ARTIFACTS_DESTINATION"] == str(small.folder / "artifacts")
    assert not [name for name in told if "S3" in name or name.startswith("AWS")]


def test_both_keep_records_in_postgresql_where_there_is_one(full, tmp_path):
    passwords = load_secrets(tmp_path / "secrets.json")
    at = f"127.0.0.1:{full.postgres.port}"

    assert full.prefect.variables()["PREFECT_API_DATABASE_CONNECTION_URL"] == (
        f"postgresql+asyncpg://prefect:{passwords.prefect}@{at}/prefect"
    )
    assert full.mlflow.variables()["MLFLOW_BACKEND_STORE_URI"] == (
        f"postgresql+psycopg2://mlflow:{passwords.mlflow}@{at}/mlflow"
    )


def test_the_store_has_its_bucket_before_it_starts(full):
    full.store.prepare()

    assert (full.store.folder / "files" / "nmt").is_dir()
    assert full.store.command()[:4] == ["/rclone", "serve", "s3", str(full.store.folder / "files")]


def test_a_server_that_was_ended_is_not_ended_again(full, monkeypatch):
    """By then its number may be another process's."""
    ended = []
    monkeypatch.setattr(server.processes, "signal_all", lambda pid, _: ended.append(pid))
    full.store._process = SimpleNamespace(pid=7, wait=lambda: 0)
    full.store._reader = SimpleNamespace(join=lambda _: None)
    full.store.stop()
    before = list(ended)
    full.store.stop()
    full.store.kill()
    assert before == ended
    assert {7} == set(ended)


@pytest.mark.slow
def test_mlflow_requires_a_password_and_opens_its_store_only(tmp_path):
    server = Topology(tmp_path).mlflow
    server.start()
    base = f"{server.address}/api/2.0/mlflow"
    with ExitStack() as stack:
        stack.callback(server.stop)
        client = stack.enter_context(httpx2.Client(base_url=base, trust_env=False))

        def create(kind, login, **body):
            return client.post(f"{kind}/create", json={"name": "x"} | body, auth=login).status_code

        admin = (USER, server.secrets.password)
        for login in (None, (USER, "guessed")):
            assert create("experiments", login, artifact_location="file:///x") == 401
        for place in ("file:///x", "/x", "s3://other/x", "x"):
            assert create("experiments", admin, artifact_location=place) == 400
            assert create("model-versions", admin, source=place) == 400
        assert create("experiments", admin, artifact_location="mlflow-artifacts:/x") == 200

"""Servers of this machine, with stand-ins for Prefect and MLflow."""

import os
import shlex
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx2
import psutil
import pytest
from rich.console import Console

from infra.servers import server
from infra.servers.__main__ import (
    Servers,
    announce_servers,
    build_servers,
    load_password,
    main,
    show,
    stop_on_signals,
    write_environment,
)
from infra.servers.server import PAUSE_SECONDS, Server, watch
from nmt_core.base.errors import NmtError
from nmt_core.base.interrupt import STOP_SIGNALS
from stages.runtime.checkout import USER, find_free_port
from tests.support.commands import invoke

ANSWER = """\
import subprocess, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(sys.argv[2]) if self.path == "/health" else 404)
        self.end_headers()
    def log_message(self, *_):
        pass
listener = HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer)
wait = [sys.executable, "-c", "import time; time.sleep(120)"]
print("child", subprocess.Popen(wait, stdin=listener.fileno()).pid, flush=True)
listener.serve_forever()
"""
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ANSWER
FAIL = "import sys; print('starting', flush=True); sys.exit('no such database')"
SILENT = "import time; time.sleep(60)"


@pytest.fixture(autouse=True)
def _umask():
    """The program restricts its own process; later tests must not inherit that."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def make_toy(tmp_path):
    """Return a function that makes a server whose child process uses the port, too."""
    toys = []

    def make(script=ANSWER, status=200, **given):
        port = find_free_port("127.0.0.1")
        command = [sys.executable, "-c", script, str(port), str(status)]
        values = {"host": "127.0.0.1", "port": port, "command": command, "variables": {}} | given
        toys.append(Server("toy", tmp_path / "toy", health="/health", **values))
        return toys[-1]

    yield make
    for toy in toys:
        toy.kill()


def launch_and_wait(toy):
    toy.launch()
    toy.wait()


def find_child(toy):
    while not toy.log.exists() or not toy.log.read_text().endswith("\n"):
        time.sleep(0.01)
    return psutil.Process(int(toy.log.read_text().split()[1]))


def has_ended(process):
    end = time.monotonic() + 60
    with suppress(psutil.NoSuchProcess):
        while process.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("way", "script"), [("stop", ANSWER), ("stop", DEAF), ("kill", ANSWER)])
def test_a_stopped_server_leaves_nothing(make_toy, monkeypatch, way, script):
    monkeypatch.setattr(server, "GRACE_SECONDS", 2.0)
    toy = make_toy(script)
    launch_and_wait(toy)
    left = find_child(toy)
    assert toy.running
    assert toy.answers()

    getattr(toy, way)()

    assert not toy.running
    assert not toy.answers()
    assert has_ended(left)


@pytest.mark.parametrize(
    ("status", "well"), [(200, True), (302, False), (404, False), (503, False)]
)
def test_only_success_is_an_answer(make_toy, monkeypatch, status, well):
    """Without a proxy, which does not know this machine's loopback address."""
    for name in ("http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{find_free_port('127.0.0.1')}")
    toy = make_toy(status=status)
    toy.launch()
    find_child(toy)

    assert toy.answers() is well


@pytest.mark.slow
def test_killed_server_is_started_again(make_toy, monkeypatch):
    """After a pause, as long as its port is taken; children of its main process end first."""
    toy, said, sleeps = make_toy(), [], []
    launch_and_wait(toy)
    left = find_child(toy)
    left.parent().kill()
    end = time.monotonic() + 60
    sleep = time.sleep

    def sleep_briefly(seconds):
        sleeps.append(seconds)
        sleep(0.01)
        if toy.answers() or time.monotonic() > end:
            raise SystemExit

    def refuse_once(*given, **named):
        if not said[1:]:
            raise NmtError("the port is taken")
        return find_free_port(*given, **named)

    monkeypatch.setattr(server.time, "sleep", sleep_briefly)
    monkeypatch.setattr(server, "find_free_port", refuse_once)
    with pytest.raises(SystemExit):
        watch([toy], said.append)

    assert said[0] == f"toy has ended, see {toy.log}; restarting it"
    assert said[1] == "the port is taken"
    assert toy.running
    assert PAUSE_SECONDS in sleeps
    assert has_ended(left)


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (
            FAIL,
            r"toy ended before it answered; its log ends with 'no such database', see .*toy.log",
        ),
        (SILENT, r"toy does not answer at http://127\.0\.0\.1:"),
    ],
)
def test_failed_start_is_explained(make_toy, monkeypatch, script, problem):
    if script == SILENT:
        monkeypatch.setattr(server, "READY_SECONDS", 0.2)
    with pytest.raises(NmtError, match=problem):
        launch_and_wait(make_toy(script))


def test_both_answer_after_start_and_neither_after_stop(make_toy):
    both = Servers(make_toy(), make_toy())
    for step, answers in ((both.start, [True, True]), (both.stop, [False, False])):
        step()
        assert [toy.answers() for toy in both] == answers
    for scripts in ((FAIL, ANSWER), (ANSWER, FAIL)):
        with pytest.raises(NmtError, match="toy ended before it answered"):
            Servers(*map(make_toy, scripts)).start()


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.1"])
def test_port_that_is_not_available_is_named(make_toy, host):
    """The port is taken, or the address belongs to another machine."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(NmtError, match=f"toy cannot listen on {host}:{port}: "):
            make_toy(host=host, port=port).launch()


# Prefect and MLflow


@pytest.fixture
def servers(tmp_path):
    return build_servers(tmp_path, host="127.0.0.1", prefect_port=4200, mlflow_port=0)


def test_clients_get_addresses_and_a_hidden_password(servers, tmp_path):
    password = load_password(tmp_path / "secrets.json")

    assert servers.environment == {
        "PREFECT_API_URL": "http://127.0.0.1:4200/api",
        "PREFECT_API_AUTH_STRING": f"admin:{password}",
        "MLFLOW_TRACKING_URI": f"http://127.0.0.1:{servers.mlflow.port}",
        "MLFLOW_TRACKING_USERNAME": "admin",
        "MLFLOW_TRACKING_PASSWORD": password,
    }
    assert len(password) == 48
    assert servers.prefect.variables["PREFECT_SERVER_API_AUTH_STRING"] == f"admin:{password}"
    assert servers.mlflow.variables["MLFLOW_AUTH_ADMIN_PASSWORD"] == password
    assert "--app-name=nmt" in servers.mlflow.command
    for one in servers:
        assert password not in " ".join(one.command)
        assert {f"--host={one.host}", f"--port={one.port}"} <= {*one.command}
        assert one.variables["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
        assert one.variables["MLFLOW_DISABLE_TELEMETRY"] == "true"


@pytest.mark.parametrize(
    ("host", "pages"),
    [
        ("127.0.0.1", "http://127.0.0.1:4200,http://localhost:4200"),
        ("127.0.0.2", "http://127.0.0.2:4200"),
    ],
)
def test_other_pages_and_names_are_refused(tmp_path, host, pages):
    prefect, mlflow = build_servers(tmp_path, host=host, prefect_port=4200, mlflow_port=1)
    names = mlflow.variables["MLFLOW_SERVER_ALLOWED_HOSTS"].split(",")

    assert prefect.variables["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"] == pages
    assert {host, f"{host}:*", "localhost:*"} <= {*names}
    assert "*" not in names


def test_records_are_in_the_folder_unless_chosen(servers, tmp_path, monkeypatch):
    assert servers.mlflow.variables["MLFLOW_BACKEND_STORE_URI"].startswith(f"sqlite:///{tmp_path}/")
    assert servers.mlflow.variables["MLFLOW_ARTIFACTS_DESTINATION"].startswith(f"{tmp_path}/mlflow")
    database = "PREFECT_API_DATABASE_CONNECTION_URL"
    assert f"{tmp_path}/prefect/" in servers.prefect.variables[database]

    monkeypatch.setenv(database, "postgresql+asyncpg://db/prefect")
    own = build_servers(tmp_path, host="127.0.0.1", prefect_port=1, mlflow_port=1)
    assert own.prefect.variables[database] == "postgresql+asyncpg://db/prefect"


def test_password_is_created_once(tmp_path):
    path = tmp_path / "secrets.json"
    first = load_password(path)

    assert first == load_password(path) != load_password(tmp_path / "other.json")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_mlflow_requires_a_password_and_has_one_store(servers, tmp_path):
    launch_and_wait(servers.mlflow)
    base = f"{servers.mlflow.address}/api/2.0/mlflow"
    admin = (USER, load_password(tmp_path / "secrets.json"))
    try:
        with httpx2.Client(base_url=base, trust_env=False) as client:

            def create(kind, login, **body):
                return client.post(
                    f"{kind}/create", json={"name": "x"} | body, auth=login
                ).status_code

            for login in (None, (USER, "guessed")):
                assert create("experiments", login, artifact_location="file:///x") == 401
            for place in ("file:///x", "/x", "s3://other/x", "x"):
                assert create("experiments", admin, artifact_location=place) == 400
                assert create("model-versions", admin, source=place) == 400
            assert create("experiments", admin, artifact_location="mlflow-artifacts:/x") == 200
    finally:
        servers.mlflow.stop()


# the program


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_address_that_clients_cannot_call_is_refused(tmp_path, host):
    done = invoke(main, "--host", host, "--folder", str(tmp_path / "data"))
    assert (done.exit_code, "such as 10.0.0.5" in done.stderr) == (1, True)


def test_environment_is_written_for_shells(servers, tmp_path):
    write_environment(servers, path := tmp_path / "environment")
    words = [shlex.split(line) for line in path.read_text().splitlines()]

    assert words == [["export", f"{name}={value}"] for name, value in servers.environment.items()]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("announced", [True, False])
def test_people_see_addresses_and_no_password(servers, tmp_path, monkeypatch, announced):
    monkeypatch.chdir(tmp_path)
    console = Console(width=200, record=True)
    show(servers, tmp_path / "environment", console, announced=announced)
    text = console.export_text()

    assert servers.prefect.address in text
    assert servers.mlflow.address in text
    assert ("by .env" in text) == announced
    assert load_password(tmp_path / "secrets.json") not in text


def test_commands_find_running_servers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (environment := Path("servers/environment")).parent.mkdir()
    environment.touch()
    for _ in range(2):
        with announce_servers(environment) as announced:
            assert announced
            assert Path(".env").resolve() == environment.resolve()
        assert not Path(".env").is_symlink()
        Path(".env").symlink_to("servers/environment")  # of a program that was killed


@pytest.mark.parametrize("dangling", [False, True])
def test_own_dotenv_is_kept(tmp_path, monkeypatch, dangling):
    monkeypatch.chdir(tmp_path)
    if dangling:
        Path(".env").symlink_to("not/yet/mounted")
    else:
        Path(".env").write_text("MINE=1\n")
    with announce_servers(tmp_path / "environment") as announced:
        assert not announced

    assert Path(".env").is_symlink() == dangling
    assert dangling or Path(".env").read_text() == "MINE=1\n"


def test_only_the_first_signal_ends_the_program():
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    try:
        stop_on_signals()
        with pytest.raises(SystemExit) as ended:
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert ended.value.code == 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

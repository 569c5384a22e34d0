"""Servers: start, requests, kill and stop, without leftovers."""

import json
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import httpx2
import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from nmt_core.base import files
from tests.support.processes import at_work_in, marked, read_command, wait_for
from tests.support.projects import a_users_environment


def test_no_password_is_in_a_command_or_log(servers, folder):
    password = files.read_json(folder / "secrets.json")["password"]
    commands = [*map(read_command, at_work_in(folder))]
    logs = [path.read_text() for path in folder.glob("*.log*")]

    assert len(commands) >= 2
    assert len(logs) == 2
    assert [] == [text for text in commands + logs if password in text]
    assert oct((folder / "secrets.json").stat().st_mode & 0o777) == "0o600"


PAGES = {
    "a page that asks across origins": {"Origin": "http://evil.example"},
    "a page whose name leads here": {"Origin": "http://evil.example", "Host": "evil.example"},
    "a page that guesses": {
        "Origin": "http://evil.example",
        "Authorization": httpx2.BasicAuth("admin", "admin")._auth_header,
    },
}


@pytest.mark.parametrize("page", PAGES)
def test_pages_of_other_sites_cannot_run_anything(servers, fleet, page):
    """A flow, a deployment with its own command, and a run of it."""
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
        refused = httpx2.post(f"{api(servers)}{route}", json=body, headers=PAGES[page])
        assert 401 == refused.status_code
        assert "access-control-allow-origin" not in refused.headers

    assert before == fleet.api("POST", "/deployments/count")


def api(servers):
    return servers.environment["PREFECT_API_URL"]


@pytest.mark.parametrize("route", ["/events/in", "/events/out", "/logs/out"])
def test_sockets_require_the_password(servers, route):
    """Any page can open a socket, and one event could mark a run as crashed."""
    address = api(servers).replace("http:", "ws:") + route

    with pytest.raises(InvalidStatus, match="HTTP 403"), connect(address):
        pass
    with connect(address, subprotocols=["prefect"]) as socket:
        socket.send(json.dumps({"type": "auth", "token": "admin:admin"}))
        with pytest.raises(ConnectionClosedError, match="Invalid token"):
            socket.recv(timeout=20)


# make server


class Program:
    """Start the program of `make server` in a folder, at free ports."""

    def __init__(self, folder, log):
        self.folder = folder
        self.log = log
        self.mark = uuid.uuid4().hex

    def start(self):
        command = [sys.executable, "-m", "infra.servers", "--prefect-port=0", "--mlflow-port=0"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--folder", self.folder],
                cwd=self.folder.parent,
                env=a_users_environment() | {"SERVERS": self.mark},
                stdout=log,
                stderr=log,
            )
        return self

    def answers(self):
        return wait_for(lambda: "Commands of this folder" in self.log.read_text(), seconds=180)

    def exports(self):
        """The files for other programs."""
        lines = (self.folder / "environment").read_text().splitlines()
        return dict(line.removeprefix("export ").split("=", 1) for line in lines)

    def nothing_left(self):
        """Tell whether all processes end within the seconds that a user would wait."""
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


def test_prefects_own_command_finds_the_server(program):
    """No environment is activated and no file sourced."""
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


def test_stopped_program_leaves_no_process(program):
    assert program.answers()
    assert len(marked("SERVERS", program.mark)) >= 4  # the program, Prefect, MLflow and its child

    program.process.send_signal(signal.SIGTERM)

    assert program.nothing_left()
    assert 0 == program.process.returncode
    assert not (program.folder.parent / ".env").is_symlink()


def test_interrupted_start_leaves_no_process(program):
    program.start()
    assert wait_for(lambda: len(marked("SERVERS", program.mark)) >= 3, seconds=180)

    program.process.send_signal(signal.SIGINT)

    assert program.nothing_left()
    assert 0 == program.process.returncode


def test_killed_program_keeps_its_records(program):
    first = json.dumps(sorted(path.name for path in program.folder.iterdir()))
    program.start()
    assert program.answers()

    program.process.kill()

    assert program.nothing_left()
    assert first == json.dumps(sorted(path.name for path in program.folder.iterdir()))

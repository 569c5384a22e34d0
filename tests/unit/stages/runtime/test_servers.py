"""What .env says is found, and what the environment says is left as it is."""

import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from stages.runtime.checkout import find_servers
from stages.tracking.__main__ import app
from stages.tracking.tracker import tracking_uri

TOLD = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "MLFLOW_TRACKING_PASSWORD": "password",
    "MLFLOW_TRACKING_URI": "http://127.0.0.1:1",
    "PREFECT_API_AUTH_STRING": "admin:password",
    "PREFECT_API_URL": "http://127.0.0.1:2/api",
}


@pytest.fixture(autouse=True)
def _environment(project, monkeypatch):
    monkeypatch.setattr(os, "environ", {"HOME": "/home"})


def write(**more):
    lines = (f"export {name}={value}\n" for name, value in (TOLD | more).items())
    Path(".env").write_text("".join(lines))


def shows_runs(monkeypatch):
    """Let MLflow's pages be where they are, without MLflow."""
    mlflow = SimpleNamespace(locate_page=lambda server, uri: f"{server}/#/runs")
    monkeypatch.setitem(sys.modules, "stages.tracking.mlflow_experiment", mlflow)


def environment():
    """All variables, but that of pytest's own."""
    return {name: value for name, value in os.environ.items() if "PYTEST" not in name}


def test_all_is_found():
    write(EDITOR="ed", MLFLOW_EMPTY="")
    find_servers()

    assert {"HOME": "/home", **TOLD} == environment()


@pytest.mark.parametrize("name", TOLD)
def test_who_is_told_anything_of_a_program_is_told_all(name):
    """No address gets the password of another."""
    write()
    os.environ[name] = "mine"
    find_servers()

    program = name.split("_")[0]
    others = {one: value for one, value in TOLD.items() if one.split("_")[0] != program}
    assert {"HOME": "/home", name: "mine", **others} == environment()


def test_runs_go_to_the_server_that_was_found(tmp_path):
    assert f"sqlite:///{tmp_path}/mlflow.db" == tracking_uri()

    write()
    assert TOLD["MLFLOW_TRACKING_URI"] == tracking_uri()
    assert TOLD["MLFLOW_TRACKING_PASSWORD"] == os.environ["MLFLOW_TRACKING_PASSWORD"]


def test_a_server_that_was_found_shows_runs_itself(monkeypatch):
    shows_runs(monkeypatch)
    write()
    told = CliRunner().invoke(app, ["ui"])

    assert (
        0,
        f"runs go to a server, which shows them at {TOLD['MLFLOW_TRACKING_URI']}/#/runs\n",
    ) == (told.exit_code, told.stdout)


def test_a_server_that_was_found_but_is_away_is_told():
    write(MLFLOW_HTTP_REQUEST_MAX_RETRIES="0")
    told = CliRunner().invoke(app, ["ui"])

    assert 1 == told.exit_code
    assert told.stderr.startswith(f"error: MLflow at {TOLD['MLFLOW_TRACKING_URI']}: ")


def test_a_taken_port_is_told_in_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        told = CliRunner().invoke(app, ["ui", "--port", str(port)])

    assert 1 == told.exit_code
    assert told.stderr.startswith(f"error: port {port} cannot be had (")
    assert told.stderr.endswith(f"choose another: PORT={port + 1}\n")


def test_without_a_server_the_file_is_shown(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(os, "execv", lambda *command: asked.append(command))
    shows_runs(monkeypatch)
    told = CliRunner().invoke(app, ["ui", "--port", "0"])

    first, login = told.stdout.splitlines()
    assert f"runs of {tmp_path}/mlflow.db are at http://127.0.0.1:0/#/runs" == first
    assert f"user admin, password {os.environ['MLFLOW_AUTH_ADMIN_PASSWORD']}" == login
    [(program, command)] = asked
    assert "--app-name=nmt" in command
    assert program == sys.executable
    assert f"--backend-store-uri=sqlite:///{tmp_path}/mlflow.db" == command[-1]
    assert "true" == os.environ["MLFLOW_DISABLE_TELEMETRY"]

"""The lock of a checkout, its params.yaml after a crash, and the servers of its .env."""

import os
import threading
from pathlib import Path

import pytest

from stages import paths
from stages.runtime.checkout import ASIDE, LOCK, find_servers, hold_checkout, put_aside
from stages.tracking.tracker import tracking_uri
from tests.support.processes import wait_for


@pytest.fixture
def checkout(project):
    LOCK.parent.mkdir(parents=True)
    paths.PARAMS.write_text("mine")
    return project


def test_a_later_run_waits_and_says_so(checkout):
    messages, order = [], []

    def follow():
        with hold_checkout(messages.append):
            order.append("second")

    later = threading.Thread(target=follow)
    with hold_checkout(pytest.fail):
        later.start()
        assert wait_for(lambda: messages, seconds=10)
        later.join(0.05)
        order.append("first")
    later.join()

    assert order == ["first", "second"]
    assert [str(checkout) in message for message in messages] == [True]


def test_a_failed_run_releases_the_lock(checkout):
    with pytest.raises(ZeroDivisionError), hold_checkout(pytest.fail):
        raise ZeroDivisionError
    with hold_checkout(pytest.fail):
        pass


def test_outside_a_project_there_is_no_lock(project):
    with hold_checkout(pytest.fail), hold_checkout(pytest.fail):
        assert list(project.iterdir()) == []


@pytest.mark.parametrize(
    ("present", "restored", "reported"),
    [
        ("replacement", "mine", True),  # a crash
        (None, "mine", True),
        ("edited since", "edited since", False),
        ("mine", "mine", False),  # a crash before the replacement was written
    ],
)
def test_params_are_restored_after_a_crash(checkout, present, restored, reported):
    put_aside("replacement")
    paths.PARAMS.unlink()
    if present:
        paths.PARAMS.write_text(present)

    messages = []
    with hold_checkout(messages.append):
        assert paths.PARAMS.read_text() == restored
    assert len(messages) == reported
    assert not ASIDE.exists()


VARIABLES = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "MLFLOW_TRACKING_PASSWORD": "password",
    "MLFLOW_TRACKING_URI": "http://127.0.0.1:1",
    "PREFECT_API_AUTH_STRING": "admin:password",
    "PREFECT_API_URL": "http://127.0.0.1:2/api",
}


@pytest.fixture
def dotenv(project, monkeypatch):
    """Clear the environment, and write variables into ``.env``."""
    monkeypatch.setattr(os, "environ", {})

    def write(**more):
        lines = (f"export {name}={value}\n" for name, value in (VARIABLES | more).items())
        Path(".env").write_text("".join(lines))

    return write


@pytest.mark.parametrize("name", ["EDITOR", *VARIABLES])
def test_own_variables_exclude_the_files_of_the_program(dotenv, name):
    """No address gets another's password; EDITOR belongs to no program."""
    dotenv(EDITOR="ed", MLFLOW_EMPTY="")
    os.environ[name] = "mine"
    find_servers()

    program = name.split("_")[0]
    others = {other: value for other, value in VARIABLES.items() if not other.startswith(program)}
    found = {other: value for other, value in os.environ.items() if "PYTEST" not in other}
    assert found == others | {name: "mine"}


def test_runs_go_to_the_server_of_dotenv(dotenv, tmp_path):
    assert tracking_uri() == f"sqlite:///{tmp_path}/mlflow.db"
    dotenv()
    assert tracking_uri() == VARIABLES["MLFLOW_TRACKING_URI"]
    assert os.environ["MLFLOW_TRACKING_PASSWORD"] == VARIABLES["MLFLOW_TRACKING_PASSWORD"]

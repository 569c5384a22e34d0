"""The real servers, once for all tests of this folder; and MLflow in an empty project."""

import os
from importlib import import_module
from pathlib import Path

import pytest

from stages.tracking import tracker
from tests.support.processes import at_work_in
from tests.support.reader import open_reader


def pytest_collection_modifyitems(items):
    """Mark all tests of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(1800))  # including fixtures, on a busy machine


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="package")
def servers(folder):
    """Prefect and MLflow at free ports; a test that kills a server restarts it by ``start()``."""
    from infra.servers.__main__ import build_servers

    before = os.umask(0o077)
    built = build_servers(folder, host="127.0.0.1", prefect_port=0, mlflow_port=0)
    os.umask(before)
    try:
        built.start()
        yield built
    finally:
        built.stop()
        assert [] == at_work_in(folder)


@pytest.fixture(scope="package")
def fleet(servers, tmp_path_factory):
    """Clones, workers and runs on the servers."""
    from tests.support.fleet import Fleet

    fleet = Fleet(servers, tmp_path_factory.mktemp("fleet"))
    with fleet.client:
        yield fleet


@pytest.fixture(scope="module")
def reader(request):
    """A reader's terminal after the commands STARTED of the module; at the end, Ctrl-C."""
    with open_reader() as reader:
        for line in request.module.STARTED:
            reader.types(line)
        yield reader
        reader.leaves()


@pytest.fixture
def mlflow_here(project, monkeypatch):
    """An empty project without a server, and a restored environment."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for name, value in tracker.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    # an earlier test may have set it for the whole process; importing MLflow takes two seconds
    import_module("mlflow").set_tracking_uri(None)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory):
    """A migrated database, created once."""
    file = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    import_module("mlflow").MlflowClient(f"sqlite:///{file}").search_experiments()
    return file


@pytest.fixture
def database(project, empty_database):
    (project / "mlflow.db").write_bytes(empty_database.read_bytes())
    return import_module("mlflow").MlflowClient(tracker.tracking_uri())


@pytest.fixture
def quick_tracking(mlflow_here, monkeypatch):
    """Send often, and retry soon."""
    monkeypatch.setattr(tracker, "SEND_SECONDS", 0.05)


ECHO = """
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel
class Echo(PythonModel):
    def predict(self, model_input: list[str], params=None) -> list[str]:
        return model_input
set_model(Echo())
"""


@pytest.fixture
def echo(project, monkeypatch):
    """Log a small model instead of the code that serves a translator."""
    mlflow_run = "stages.tracking.mlflow_run"
    monkeypatch.setattr(f"{mlflow_run}.MODEL_CODE", project / "code.py")
    monkeypatch.setattr(f"{mlflow_run}.list_requirements", lambda _: ["mlflow"])
    (project / "code.py").write_text(ECHO)

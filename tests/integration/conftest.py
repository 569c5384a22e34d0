"""MLflow in an empty project."""

import mlflow
import pytest
from mlflow import MlflowClient

from stages.tracking import mlflow_run, tracker
from tests.support.compositions import _remembered  # noqa: F401 - a fixture


@pytest.fixture
def mlflow_here(project, monkeypatch):
    """An empty project without a server, and a restored environment."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for name, value in tracker.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    mlflow.set_tracking_uri(None)  # an earlier test may have set it for the whole process


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory):
    """A migrated database, created once."""
    file = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{file}").search_experiments()
    return file


@pytest.fixture
def database(project, empty_database):
    (project / "mlflow.db").write_bytes(empty_database.read_bytes())
    return MlflowClient(tracker.tracking_uri())


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
    monkeypatch.setattr(mlflow_run, "MODEL_CODE", project / "code.py")
    monkeypatch.setattr(mlflow_run, "list_requirements", lambda _: ["mlflow"])
    (project / "code.py").write_text(ECHO)

# ruff: noqa: INP001 - not a package: the folder is on PYTHONPATH
"""MLflow's server with a login, and without access to files of the server's machine.

``mlflow server --app-name=nmt`` finds it by the entry point in this folder, which is on PYTHONPATH.
MLflow would read and write any path in an experiment's ``artifact_location`` or a version's
``source``, as its own user. This application allows only MLflow's artifact store.
"""

from typing import Any
from urllib.parse import urlsplit

from mlflow.exceptions import MlflowException
from mlflow.server import handlers
from mlflow.server.auth import create_app as create_app_with_login

SCHEMES = ("mlflow-artifacts", "models", "runs")
"""Schemes of locations in MLflow's own artifact store."""

_check_scheme = handlers._validate_artifact_uri_scheme  # noqa: SLF001 - it has no public hook


def create_app() -> Any:
    """Return MLflow's application with logins and checked locations."""
    handlers._validate_artifact_uri_scheme = check_location  # noqa: SLF001
    return create_app_with_login()


def check_location(uri: str, field_name: str) -> None:
    """Raise a ``MlflowException`` if a location is not in the artifact store."""
    if urlsplit(uri).scheme not in SCHEMES:
        raise MlflowException.invalid_parameter_value(
            f"{field_name} must begin with {SCHEMES[0]}:, the scheme of the artifact store"
        )
    _check_scheme(uri, field_name)

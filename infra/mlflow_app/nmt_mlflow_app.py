# ruff: noqa: INP001 - no package: the folder is on PYTHONPATH
"""MLflow's server with a login, whose clients name no files of the server's machine.

``mlflow server --app-name=nmt`` finds it through the entry point beside this file, on PYTHONPATH.
MLflow reads and writes wherever an experiment's ``artifact_location`` or a version's ``source``
leads, as the user who started it. Only its own artifact store is allowed here.
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
    """Return the application."""
    handlers._validate_artifact_uri_scheme = check_location  # noqa: SLF001
    return create_app_with_login()


def check_location(uri: str, field_name: str) -> None:
    """Refuse a location outside the artifact store."""
    if urlsplit(uri).scheme not in SCHEMES:
        raise MlflowException.invalid_parameter_value(
            f"{field_name} must begin with {SCHEMES[0]}:, since the server opens no other location"
        )
    _check_scheme(uri, field_name)

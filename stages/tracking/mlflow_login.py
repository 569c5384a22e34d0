"""The login of MLflow's server: every account of a machine reaches its loopback address."""

import os
from collections.abc import Mapping
from pathlib import Path

USER = "admin"
SETTINGS = "logins.ini"

APPLICATION = Path(__file__).parents[2] / "infra/mlflow_app"
"""The folder of the application that checks logins and locations of artifacts."""

OPTIONS = ("--app-name=nmt", "--workers=1")
"""Options of a server that requires a login."""

SECONDS = 60
"""Seconds for which a correct login is not checked again; each check takes 0.1 s."""


def write_login_settings(folder: Path) -> None:
    """Write the settings of logins into a folder that the server's user alone can read."""
    (folder / SETTINGS).write_text(
        f"[mlflow]\ndefault_permission = NO_PERMISSIONS\nauth_cache_ttl_seconds = {SECONDS}\n"
        f"database_uri = sqlite:///{folder / 'logins.db'}\n",
        encoding="utf-8",
    )


def list_login_variables(folder: Path, password: str) -> Mapping[str, str]:
    """Return the variables of a server that requires a login.

    Args:
        folder: has the settings; the first start keeps a digest of the password there.
        password: of the user :data:`USER`.
    """
    paths = [str(APPLICATION), os.environ.get("PYTHONPATH", "")]
    return {
        "MLFLOW_AUTH_ADMIN_USERNAME": USER,
        "MLFLOW_AUTH_ADMIN_PASSWORD": password,
        "MLFLOW_AUTH_CONFIG_PATH": str(folder / SETTINGS),
        "MLFLOW_FLASK_SERVER_SECRET_KEY": password,
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # processes that nothing here uses
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }

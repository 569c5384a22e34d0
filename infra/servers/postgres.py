"""PostgreSQL, with a database each for Prefect and MLflow."""

import os
import shutil
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT

from flows import processes
from infra.servers.secrets import Secrets, write_private
from infra.servers.server import Server, StartError

ACCOUNT = "postgres"
"""The user that runs it when we are root, which PostgreSQL refuses."""

SCRIPT = Path(__file__).parents[2] / "infra/postgres/databases.sh"
INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian and Ubuntu keep the programs, by version, off the PATH."""

MAX_CONNECTIONS = 200
"""Prefect and each process of MLflow keep up to 15."""


@dataclass(kw_only=True, eq=False, repr=False)
class Postgres(Server):
    """A database server that listens on TCP alone: a path to a socket may hold 107 bytes."""

    name = "postgres"
    parting = SIGINT
    """SIGTERM would wait until all clients have gone."""
    secrets: Secrets
    data: str = "data"
    durable: bool = True
    """Whether it outlives a crash of the machine, which costs seconds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.user = ACCOUNT if os.geteuid() == 0 else ""
        self._programs = find_programs()
        self._data = self.folder / self.data

    @property
    def address(self) -> str:
        """The address for clients."""
        return f"postgresql://{self.host}:{self.port}"

    def database(self, role: str, *, driver: str) -> str:
        """Return the address of the database of a role, password included."""
        password = getattr(self.secrets, role)
        return f"postgresql+{driver}://{role}:{password}@{self.host}:{self.port}/{role}"

    def command(self) -> list[str]:
        """Return the program and its arguments."""
        settings = {
            "listen_addresses": self.host,
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": MAX_CONNECTIONS,
            "fsync": self.durable,
        }
        chosen = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self._programs / "postgres"), "-D", str(self._data), *chosen]

    def prepare(self) -> None:
        """Make a cluster with both databases, whole or not at all."""
        super().prepare()
        if self.user:
            check_reach(self.folder, self.user)
            shutil.chown(self.folder, self.user, self.user)
        if not self._data.exists():
            self._create()

    def answers(self) -> bool:
        """Tell whether it takes connections."""
        address = [f"--host={self.host}", f"--port={self.port}"]
        ready = subprocess.run([self._programs / "pg_isready", "--quiet", *address], check=False)
        return ready.returncode == 0

    def _create(self) -> None:
        """Make the databases in another folder, at a random port, and rename it."""
        nascent = Postgres(self.home, secrets=self.secrets, data="data.part", durable=self.durable)
        shutil.rmtree(nascent._data, ignore_errors=True)
        nascent._initialise()
        nascent.start()
        try:
            nascent._run(["/bin/sh", str(SCRIPT)], environment=nascent._administration())
        finally:
            nascent.stop()
        nascent._data.rename(self._data)

    def _initialise(self) -> None:
        password = self.folder / "password"
        write_private(password, self.secrets.administrator)
        try:
            if self.user:
                shutil.chown(password, self.user)
            self._run(
                [
                    str(self._programs / "initdb"),
                    f"--pgdata={self._data}",
                    f"--pwfile={password}",
                    "--username=postgres",
                    "--auth=scram-sha-256",
                    "--encoding=UTF8",
                    "--locale=C.UTF-8",
                    *([] if self.durable else ["--no-sync"]),
                ]
            )
        finally:
            password.unlink()

    def _administration(self) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join([str(self._programs), os.environ["PATH"]]),
            "PSQLRC": os.devnull,
            "PGHOST": self.host,
            "PGPORT": str(self.port),
            "PGPASSWORD": self.secrets.administrator,
            "PREFECT_DATABASE_PASSWORD": self.secrets.prefect,
            "MLFLOW_DATABASE_PASSWORD": self.secrets.mlflow,
        }

    def _run(self, command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> None:
        answer = subprocess.run(
            processes.leash(command, user=self.user),
            cwd=self.folder,
            env=os.environ | dict(environment or {}),
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode:
            said = " ".join(answer.stderr.split())
            raise StartError(f"{Path(command[-1 if environment else 0]).name} failed: {said}")


def find_programs() -> Path:
    """Return the folder of PostgreSQL's programs, the newest that is installed.

    Raises:
        StartError: if there is none.
    """
    if program := shutil.which("initdb"):
        return Path(program).resolve().parent
    versions = sorted(INSTALLED.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if not versions:
        raise StartError("PostgreSQL is not installed; run: apt-get install postgresql")
    return versions[-1].parent


def check_reach(folder: Path, user: str) -> None:
    """Make sure that another user can come to a folder of ours.

    Raises:
        StartError: naming the first folder on the way that is closed.
    """
    for parent in reversed(folder.parents):
        if not parent.stat().st_mode & stat.S_IXOTH:
            raise StartError(
                f"PostgreSQL runs as user {user}, who may not pass through {parent}; run: "
                f"chmod o+x {parent}, or choose another folder"
            )

"""Servers that know each other, started and stopped in order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from infra.servers.postgres import Postgres
from infra.servers.programs import MLflow, Prefect, Store
from infra.servers.secrets import load_secrets
from infra.servers.server import LOOPBACK, Server


class Database(StrEnum):
    """The database of Prefect and MLflow."""

    sqlite = "sqlite"
    postgres = "postgres"


class Files(StrEnum):
    """The file store of MLflow and DVC."""

    folder = "folder"
    s3 = "s3"


class Topology:
    """All servers of a folder, by name."""

    def __init__(
        self,
        folder: Path,
        *,
        database: Database = Database.sqlite,
        files: Files = Files.folder,
        host: str = LOOPBACK,
        ports: Mapping[str, int] | None = None,
        durable: bool = True,
    ) -> None:
        """Choose servers and their addresses.

        Args:
            folder: of all their data.
            database: of Prefect and MLflow.
            files: the file store of MLflow.
            host: address that they listen on; PostgreSQL stays on this machine's own.
            ports: by name; 0 or none takes any free one.
            durable: whether the databases outlive a crash of the machine, which costs seconds.
        """
        port = {"postgres": 0, "store": 0, "prefect": 0, "mlflow": 0, **(ports or {})}
        known: dict[str, Any] = {"secrets": load_secrets(folder / "secrets.json")}
        self.postgres: Postgres | None = None
        self.store: Store | None = None
        if database is Database.postgres:
            self.postgres = Postgres(folder, port=port["postgres"], durable=durable, **known)
        known["host"] = host
        if files is Files.s3:
            self.store = Store(folder, port=port["store"], **known)
        kept = self._database("prefect", driver="asyncpg")
        self.prefect = Prefect(folder, port=port["prefect"], database=kept, **known)
        kept = self._database("mlflow", driver="psycopg2")
        self.mlflow = MLflow(folder, port=port["mlflow"], database=kept, store=self.store, **known)
        below = [server for server in (self.postgres, self.store) if server]
        self.layers: list[list[Server]] = [[*below], [self.prefect, self.mlflow]]
        """Groups in the order of starting; servers of one group do not need each other."""

    def _database(self, role: str, *, driver: str) -> str | None:
        return self.postgres.database(role, driver=driver) if self.postgres else None

    def __iter__(self) -> Iterator[Server]:
        for layer in self.layers:
            yield from layer

    @property
    def environment(self) -> dict[str, str]:
        """Variables for workers and stages."""
        return {name: value for server in self for name, value in server.environment.items()}

    def start(self, waiting: Callable[[Sequence[Server]], None] = lambda _: None) -> None:
        """Start all servers, in parallel where possible.

        Args:
            waiting: takes the names of servers that are waited for.

        Raises:
            StartError: if one does not answer; the others run on until ``stop``.
        """
        for layer in self.layers:
            for server in layer:
                server.launch()
            for number, server in enumerate(layer):
                waiting(layer[number:])
                server.wait()

    def stop(self) -> None:
        """Stop everything, those that need others first; nothing is left then."""
        for layer in reversed(self.layers):
            for server in layer:
                server.ask_to_stop()
            for server in layer:
                server.stop()

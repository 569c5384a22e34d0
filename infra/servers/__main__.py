"""Run Prefect and MLflow on this machine until Ctrl-C.

Usage: python -m infra.servers [--host ADDRESS] [--prefect-port PORT] [--mlflow-port PORT]

Databases (SQLite), logs and a password are in one folder, which only its owner can read. The
servers' own environment variables can set another database or file store.
"""

import json
import os
import secrets
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from flows.entry import hold_lock, report_errors
from infra.servers.server import LOOPBACK, Server, watch
from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.base.interrupt import STOP_SIGNALS, end_with_parent
from stages import paths
from stages.runtime.checkout import (
    OPTIONS,
    USER,
    find_free_port,
    find_server_python,
    list_login_variables,
    write_login_settings,
)

FOLDER = Path("servers")

QUIET = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
QUIET |= {"DO_NOT_TRACK": "1", "PYTHONUNBUFFERED": "1"}


class Servers(NamedTuple):
    """Both servers, Prefect and MLflow."""

    prefect: Server
    mlflow: Server

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for workers, flows and stages."""
        password = self.prefect.variables["PREFECT_SERVER_API_AUTH_STRING"]
        return {
            "MLFLOW_TRACKING_PASSWORD": password.partition(":")[2],
            "MLFLOW_TRACKING_URI": self.mlflow.address,
            "MLFLOW_TRACKING_USERNAME": USER,
            "PREFECT_API_AUTH_STRING": password,
            "PREFECT_API_URL": f"{self.prefect.address}/api",
        }

    def start(self) -> None:
        """Start both in parallel; if one raises an error, the other runs until ``stop``."""
        for step in (Server.launch, Server.wait):
            for server in self:
                step(server)

    def stop(self) -> None:
        """Stop both with all their processes."""
        for step in (Server.ask_to_stop, Server.stop):
            for server in self:
                step(server)


def build_servers(folder: Path, *, host: str, prefect_port: int, mlflow_port: int) -> Servers:
    """Return both servers, without starting them.

    A password is required, because Prefect's clients can run programs on workers, and every account
    of a machine can reach its loopback address. Prefect checks neither host names nor origins.
    """
    home = folder.resolve()
    login = f"{USER}:{(password := load_password(home / 'secrets.json'))}"
    python = find_server_python()
    port = prefect_port or find_free_port(host)
    address = f"http://{host}:{port}"
    pages = [address, *([f"http://localhost:{port}"] if host == LOOPBACK else [])]
    database = f"{home}/prefect/prefect.db"
    prefect = Server(
        name="prefect",
        folder=home / "prefect",
        host=host,
        port=port,
        command=[python, "-m", "prefect", "server", "start", f"--host={host}", f"--port={port}"],
        variables={
            **QUIET,
            "PREFECT_HOME": f"{home}/prefect",
            "PREFECT_API_URL": f"{address}/api",
            "PREFECT_API_AUTH_STRING": login,
            "PREFECT_SERVER_API_AUTH_STRING": login,
            "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(pages),
            "PREFECT_UI_API_URL": f"{address}/api",
            "PREFECT_UI_STATIC_DIRECTORY": f"{home}/prefect/pages",
            **keep_own(PREFECT_API_DATABASE_CONNECTION_URL=f"sqlite+aiosqlite:///{database}"),
        },
        health="/api/ready",  # /api/health says 200 without a database
    )
    records = home / "mlflow"
    records.mkdir(parents=True, exist_ok=True)
    write_login_settings(records)
    port = mlflow_port or find_free_port(host)
    mlflow = Server(
        name="mlflow",
        folder=records,
        host=host,
        port=port,
        command=[python, "-m", "mlflow", "server", *OPTIONS, f"--host={host}", f"--port={port}"],
        variables={
            **QUIET,
            "MLFLOW_SERVER_ALLOWED_HOSTS": f"{host},{host}:*,localhost:*,{LOOPBACK}:*",
            **list_login_variables(records, password),
            **keep_own(
                MLFLOW_BACKEND_STORE_URI=f"sqlite:///{records}/mlflow.db",
                MLFLOW_ARTIFACTS_DESTINATION=f"{records}/artifacts",
            ),
        },
        health="/health",
    )
    return Servers(prefect, mlflow)


def keep_own(**defaults: str) -> dict[str, str]:
    """Return environment variables, with the user's values instead of defaults."""
    return {name: os.environ.get(name, value) for name, value in defaults.items()}


def load_password(path: Path) -> str:
    """Return the password in a file; create the file if it is missing."""
    if not path.exists():
        write_private(path, json.dumps({"password": secrets.token_hex(24)}) + "\n")
    return str(files.read_json(path)["password"])


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.whole_file(path, mode=0o600) as part:
        part.write_text(text, encoding="utf-8")


def main(
    host: Annotated[
        str, typer.Option(help="Address to listen on; by default, only local connections.")
    ] = LOOPBACK,
    prefect_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")
    ] = 4200,
    mlflow_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")
    ] = 5000,
    folder: Annotated[Path, typer.Option(help="Folder of all data.")] = FOLDER,
    *,
    leashed: Annotated[
        bool, typer.Option("--leashed", help="Stop when the parent process ends.")
    ] = False,
) -> None:
    """Run Prefect and MLflow on this machine until Ctrl-C."""
    if leashed:
        end_with_parent()
    console = Console(highlight=False)
    os.umask(0o077)  # the databases have all settings of all runs
    locked = f"servers run in {folder} already; stop them, or use --folder"
    with report_errors(), hold_lock(folder / "lock", locked):
        folder.chmod(0o700)
        if not host.strip("0.:"):  # every address of the machine
            raise ConfigError("--host must be an address that clients can call, such as 10.0.0.5")
        ports = {"prefect_port": prefect_port, "mlflow_port": mlflow_port}
        servers = build_servers(folder, host=host, **ports)
        stop_on_signals()
        try:
            with console.status("waiting for prefect and mlflow; the first start is the slowest"):
                servers.start()
            write_environment(servers, environment := folder / "environment")
            with announce_servers(environment) as announced:
                show(servers, environment, console, announced=announced)
                watch(servers, lambda line: console.print(line, style="yellow", soft_wrap=True))
        finally:
            console.print("stopping")
            servers.stop()


def write_environment(servers: Servers, path: Path) -> None:
    """Write a file of the clients' environment variables, for shells and for ``.env``."""
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in servers.environment.items()]
    write_private(path, "".join(lines))


@contextmanager
def announce_servers(environment: Path) -> Iterator[bool]:
    """Link ``.env`` to the environment file while the servers run; yield False for a user's own."""
    if os.path.lexists(paths.DOTENV) and paths.DOTENV.resolve() != environment.resolve():
        yield False
        return
    paths.DOTENV.unlink(missing_ok=True)  # left by a killed program
    paths.DOTENV.symlink_to(environment)
    try:
        yield True
    finally:
        paths.DOTENV.unlink(missing_ok=True)


def show(servers: Servers, environment: Path, console: Console, *, announced: bool) -> None:
    """Print the addresses of the servers, and the path of their password."""
    for server in servers:
        console.print(f"{server.name}: {server.address}, log in {server.log}", soft_wrap=True)
    instead = f"after: . {environment} ({paths.DOTENV} is yours)"
    console.print(
        f"\nCommands of this folder use both {f'by {paths.DOTENV}' if announced else instead}; "
        f"other clones need a copy of {environment} as their {paths.DOTENV}. The password for the "
        f"pages is in it (user {USER}). make sync sends earlier runs.",
        soft_wrap=True,
    )
    if servers.prefect.host != LOOPBACK:
        console.print("Passwords and data are sent as plain text: use a private network only.")


def stop_on_signals() -> None:
    """Raise SystemExit on the first signal to stop, and ignore later ones."""

    def leave(*_: object) -> None:
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise SystemExit(0)

    for number in STOP_SIGNALS:
        signal.signal(number, leave)


if __name__ == "__main__":
    typer.run(main)

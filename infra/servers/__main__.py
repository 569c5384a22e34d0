"""Run Prefect and MLflow on this machine until told to stop.

Usage: python -m infra.servers [--database postgres] [--files s3] [--host ADDRESS]

SQLite and a folder do for one person; PostgreSQL and a store of S3 for workers on several machines.
One folder holds databases, files, logs, and passwords that only its owner can read.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from flows import processes
from flows.entry import report_errors
from infra.servers.programs import BUCKET
from infra.servers.secrets import write_private
from infra.servers.server import LOOPBACK, Server
from infra.servers.topology import Database, Files, Topology
from infra.servers.watch import watch
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.files import locked
from nmt_core.base.packages import name_program
from nmt_core.base.parallel.parent import end_with_parent
from stages import paths

FOLDER = Path("servers")
PASSABLE = 0o711
"""Mode of that folder: PostgreSQL, as a user of its own, must reach its own files."""

SECRET = re.compile("KEY|PASSWORD|AUTH")
HIGHEST_PORT = 65535

PORTS = {"prefect": 4200, "mlflow": 5000, "postgres": 54320, "store": 9000}


def format_ports(ports: Mapping[str, int]) -> str:
    """Return ports as ``--port`` takes them."""
    return " ".join(f"{name}={number}" for name, number in ports.items())


def main(
    database: Annotated[
        Database, typer.Option(help="Database of Prefect and MLflow.")
    ] = Database.sqlite,
    files: Annotated[
        Files, typer.Option(help="File store of MLflow; DVC can use the S3 one, too.")
    ] = Files.folder,
    host: Annotated[
        str, typer.Option(help="Address to listen on; the default is for this machine alone.")
    ] = LOOPBACK,
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER",
            help=f"Where a server listens, if not at {format_ports(PORTS)}; 0 is any free port.",
        ),
    ] = None,
    folder: Annotated[Path, typer.Option(help="Folder of all data.")] = FOLDER,
    *,
    leashed: Annotated[
        bool, typer.Option("--leashed", help="Stop when the parent process ends.")
    ] = False,
) -> None:
    """Run Prefect and MLflow on this machine until told to stop."""
    if leashed:
        end_with_parent()
    console = Console(highlight=False)
    os.umask(0o077)  # what servers write is their user's alone
    with report_errors(), hold_folder(folder):
        check_host(host)
        ports = PORTS | parse_ports(port or [])
        topology = Topology(folder, database=database, files=files, host=host, ports=ports)
        with stop_on_signals():
            try:
                start(topology, console)
                with announce_servers(write_environment(topology, folder)) as known:
                    tell(topology, folder, console, known=known)
                    watch(
                        topology, lambda line: console.print(line, style="yellow", soft_wrap=True)
                    )
            finally:
                console.print("stopping")
                topology.stop()


def start(topology: Topology, console: Console) -> None:
    """Start all servers, and show which ones are waited for."""
    with console.status("starting") as status:

        def waiting(servers: Sequence[Server]) -> None:
            names = " and ".join(server.name for server in servers)
            status.update(f"waiting for {names}; the first time takes longest")

        topology.start(waiting)


def write_environment(topology: Topology, folder: Path) -> Path:
    """Write a file of variables for clients of the servers, for shells and for ``.env``."""
    path = folder / "environment"
    exports = [f"export {name}={shlex.quote(value)}" for name, value in list_variables(topology)]
    write_private(path, "\n".join(exports) + "\n")
    return path


@contextmanager
def announce_servers(environment: Path) -> Iterator[bool]:
    """Announce the servers in ``.env`` for programs of this folder, while they run.

    Yields:
        whether they are announced; an ``.env`` of the user's own is left alone.
    """
    if os.path.lexists(paths.DOTENV) and paths.DOTENV.resolve() != environment.resolve():
        yield False
        return
    paths.DOTENV.unlink(missing_ok=True)  # of a program that was killed
    paths.DOTENV.symlink_to(shorten_path(environment))
    try:
        yield True
    finally:
        paths.DOTENV.unlink(missing_ok=True)


def tell(topology: Topology, folder: Path, console: Console, *, known: bool) -> None:
    """Show the addresses of the servers, and the variables of clients."""
    table = Table("server", "address", "state", "log", box=None, pad_edge=False)
    for server in topology:
        table.add_row(server.name, server.address, "answers", shorten_path(server.log))
    console.print(table)
    runs = subprocess.run(
        [sys.executable, "-m", "stages.tracking", "ui"],
        env=os.environ | topology.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    console.print(f"\n{runs.stdout.strip()}", soft_wrap=True)
    path = shorten_path(folder / "environment")
    local = (
        f"by {paths.DOTENV}"
        if known
        else f"after: . {path}    ({paths.DOTENV}, which they would read, is not of this program)"
    )
    console.print(
        f"\nWorkers, flows and stages of this folder know all this {local}", soft_wrap=True
    )
    for name, value in list_variables(topology):
        shown = "..." if SECRET.search(name) else shlex.quote(value)
        console.print(f"  export {name}={shown}", soft_wrap=True)
    console.print(
        f"Those elsewhere need a copy of {path} as their {paths.DOTENV}. Prefect's pages ask for "
        f"what it calls PREFECT_API_AUTH_STRING.",
        soft_wrap=True,
    )
    if topology.store:
        console.print(
            f"For DVC, in each clone: {name_program('dvc')} remote add --local --force --default "
            f"shared s3://{BUCKET}/dvc",
            soft_wrap=True,
        )
    if topology.prefect.host != LOOPBACK:
        console.print(
            f"Passwords and data go to {topology.prefect.host} as plain text: listen in a private "
            "network only",
            style="yellow",
            soft_wrap=True,
        )


def list_variables(topology: Topology) -> Sequence[tuple[str, str]]:
    """Return the variables of clients, by name."""
    return sorted(topology.environment.items())


def shorten_path(path: Path) -> str:
    """Return the shortest form of a path."""
    folder = Path.cwd()
    return str(
        path.resolve().relative_to(folder) if path.resolve().is_relative_to(folder) else path
    )


def parse_ports(words: Sequence[str]) -> dict[str, int]:
    """Return ports by the name of their server.

    Raises:
        ConfigError: if one is no port, or of no server.
    """
    ports = {}
    for word in words:
        name, _, number = word.partition("=")
        if name not in PORTS or not number.isdecimal() or int(number) > HIGHEST_PORT:
            raise ConfigError(f"--port must be as one of {format_ports(PORTS)}, got {word!r}")
        ports[name] = int(number)
    return ports


def check_host(host: str) -> None:
    """Refuse addresses that servers can listen on but clients cannot call.

    Raises:
        ConfigError: naming an alternative.
    """
    with suppress(ValueError):  # a name, such as localhost
        host = "" if ip_address(host).is_unspecified else host
    if not host:
        raise ConfigError(
            "--host must be an address that workers can reach, such as 10.0.0.5, not all at once"
        )


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Hold the folder; the system gives it back however we end.

    Raises:
        NmtError: if others hold it.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(folder / "lock", wait=False))
        except BlockingIOError:
            raise NmtError(f"servers run in {folder} already; stop them, or use --folder") from None
        folder.chmod(PASSABLE)
        yield


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Let the first signal end the block as an exit does, and further ones not disturb its end."""

    def leave(*_: object) -> None:
        for number in processes.STOPPING:
            signal.signal(number, signal.SIG_IGN)
        raise SystemExit(0)

    for number in processes.STOPPING:
        signal.signal(number, leave)
    yield


if __name__ == "__main__":
    typer.run(main)

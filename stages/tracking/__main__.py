"""Show the runs, and send missing entries of journals to MLflow."""

import os
import secrets
import shutil
from typing import Annotated

import typer

from nmt_core.corpora.fetch.address import redact_url
from stages import paths
from stages.runtime.checkout import (
    OPTIONS,
    USER,
    find_free_port,
    find_server_python,
    list_login_variables,
    write_login_settings,
)
from stages.runtime.entry import run_stage
from stages.tracking.journal import Journal
from stages.tracking.tracker import send, tracking_uri

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)


@app.command()
def ui(
    port: Annotated[int, typer.Option(help="Port, reachable only from this machine.")] = 5000,
) -> None:
    """Show all runs in a browser; if they are on a server, print its address."""
    uri = tracking_uri()
    if not uri.startswith("sqlite:"):
        typer.echo(f"the runs are on a server: {redact_url(uri)}")
        return
    port = find_free_port("127.0.0.1", port, name="MLflow")
    folder, password = paths.RUNS.resolve() / f"login-{port}", secrets.token_urlsafe(12)
    shutil.rmtree(folder, ignore_errors=True)  # has the previous password
    folder.mkdir(mode=0o700, parents=True)
    typer.echo(f"runs of {uri.removeprefix('sqlite:///')} are at http://127.0.0.1:{port}")
    typer.echo(f"user {USER}, password {password}")
    write_login_settings(folder)
    os.environ |= list_login_variables(folder, password)
    python = find_server_python()
    command = [python, "-m", "mlflow", "ui", *OPTIONS, f"--port={port}"]
    os.execv(python, [*command, f"--backend-store-uri={uri}"])


@app.command()
def sync() -> None:
    """Send missing entries of all journals to MLflow; repeating this is safe."""
    for path in sorted(paths.RUNS.glob("*/journal.jsonl")):
        journal = Journal(path.parent.name)
        typer.echo(f"{journal.path}: sent {send(journal)} missing points to MLflow")


if __name__ == "__main__":
    run_stage(app)

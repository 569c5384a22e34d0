"""Show the runs, and send missing entries of journals to MLflow."""

import os
import secrets
import shutil
from typing import Annotated

import typer

from nmt_core.base.errors import NmtError
from nmt_core.corpora.fetch.address import redact_url
from stages import paths
from stages.runtime.checkout import (
    OPTIONS,
    USER,
    check_port,
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
    port: Annotated[int, typer.Option(help="On this machine alone.")] = 5000,
) -> None:
    """Show all runs in a browser, unless the server that they go to does."""
    uri = tracking_uri()
    if not uri.startswith("sqlite:"):
        typer.echo(f"runs go to a server, which shows them at {redact_url(uri)}")
        return
    check_port(port)
    folder, password = paths.RUNS.resolve() / f"login-{port}", secrets.token_urlsafe(12)
    shutil.rmtree(folder, ignore_errors=True)  # with the password of the last time
    folder.mkdir(mode=0o700, parents=True)
    typer.echo(f"runs of {uri.removeprefix('sqlite:///')} are at http://127.0.0.1:{port}")
    typer.echo(f"user {USER}, password {password}")
    write_login_settings(folder)
    os.environ |= list_login_variables(folder, password)
    python = find_server_python()
    command = [python, "-m", "mlflow", "ui", *OPTIONS, f"--port={port}"]
    os.execv(python, [*command, f"--backend-store-uri={uri}"])


@app.command()
def sync(
    fingerprints: Annotated[
        list[str] | None, typer.Argument(help="Runs to bring up to date; all by default.")
    ] = None,
) -> None:
    """Send missing entries of journals to MLflow; sending again does no harm."""
    for fingerprint in fingerprints or sorted(
        path.parent.name for path in paths.RUNS.glob("*/journal.jsonl")
    ):
        journal = Journal(fingerprint)
        if not journal.path.exists():
            raise NmtError(f"there is no {journal.path}; make sync sends all that are there")
        typer.echo(f"{journal.path}: {send(journal)} points were missing in MLflow")


if __name__ == "__main__":
    run_stage(app)

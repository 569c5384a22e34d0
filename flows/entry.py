"""Run flows as programs: errors, locks, the Prefect server and signals."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx2
import typer
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL

from flows.processes import STOPPED
from nmt_core.base.errors import NmtError
from nmt_core.base.files import locked
from nmt_core.base.interrupt import end_with_parent
from nmt_core.corpora.fetch.address import redact, redact_url
from stages import paths
from stages.runtime.checkout import find_servers

ANSWER_SECONDS = 5.0
"""Seconds to wait for an answer of the Prefect server."""


@contextmanager
def report_errors() -> Iterator[None]:
    """Print a ``NmtError`` as one sentence, and exit with code 1."""
    try:
        yield
    except NmtError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


@contextmanager
def hold_lock(path: Path, message: str) -> Iterator[None]:
    """Hold a lock; the system releases it when this process ends.

    Raises:
        NmtError: with the message, if another process holds it.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path, wait=False))
        except BlockingIOError:
            raise NmtError(message) from None
        yield


def require_server() -> str:
    """Return the address of the Prefect server.

    Raises:
        NmtError: if no server is configured, or ``check_server`` fails.
    """
    if address := check_server():
        return address
    raise NmtError(
        "no Prefect server is configured; start one with make server, or set PREFECT_API_URL"
    )


def check_server() -> str | None:
    """Return the address of the Prefect server; None if none is configured.

    PREFECT_API_URL or ``.env`` names it, which Prefect reads by itself.

    Raises:
        NmtError: if the server does not answer, or rejects the password.
    """
    find_servers()  # for child processes
    address = PREFECT_API_URL.value()
    if not address:
        return None
    user, _, password = (PREFECT_API_AUTH_STRING.value() or "").partition(":")
    try:
        httpx2.get(f"{address}/ready", timeout=ANSWER_SECONDS).raise_for_status()
        answer = httpx2.get(
            f"{address}/admin/version", auth=(user, password), timeout=ANSWER_SECONDS
        )
    except httpx2.HTTPError as error:
        remedy = f"remove {paths.DOTENV}" if paths.DOTENV.exists() else "unset PREFECT_API_URL"
        reason = redact(str(error)) or type(error).__name__
        raise NmtError(
            f"no Prefect server answers at {redact_url(address)} ({reason}); start it with make "
            f"server, set PREFECT_API_URL, or {remedy} to run without a server"
        ) from None
    if answer.status_code == httpx2.codes.UNAUTHORIZED:
        raise NmtError(
            f"the Prefect server at {redact_url(address)} rejects the password; copy "
            f"servers/environment of its machine to {paths.DOTENV}, or set PREFECT_API_AUTH_STRING"
        )
    return address


def move_to_child() -> None:
    """Fork, and return in the child process; its whole session ends with either process.

    If a flow is killed, its child still has time to stop Prefect's temporary server and to record
    the end of the flow run, which would otherwise stay Running.
    """
    gc.collect()  # an engine waits forever if it is destroyed where its threads do not run
    parent, child = os.getpid(), os.fork()
    if child:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(child, number))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os._exit(code if code >= 0 else 128 - code)
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have ignored it
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    end_with_parent(parent)


@contextmanager
def run_in_child() -> Iterator[None]:
    """Run the block in a child process; after a stop, print that saved work is kept."""
    move_to_child()
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        typer.echo(STOPPED, err=True)
        raise

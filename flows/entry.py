"""Start and end of every flow as a program."""

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


@contextmanager
def report_errors() -> Iterator[None]:
    """Report an error of ours in one sentence, with exit code 1."""
    try:
        yield
    except NmtError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


@contextmanager
def hold_lock(path: Path, message: str) -> Iterator[None]:
    """Hold a lock; the system releases it however this process ends.

    Raises:
        NmtError: with the message, if another process holds it.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(path, wait=False))
        except BlockingIOError:
            raise NmtError(message) from None
        yield


def require_server() -> str:
    """Return the address of the Prefect server, which works for us.

    Raises:
        NmtError: if none is known, or as by ``check_server``.
    """
    if address := check_server():
        return address
    raise NmtError(
        "no Prefect server is known here; start one with make server, or set PREFECT_API_URL to "
        "yours"
    )


def check_server() -> str | None:
    """Return the address of the Prefect server, if one is known: flows would start their own.

    It is known by PREFECT_API_URL or by ``.env``, which Prefect reads by itself.

    Raises:
        NmtError: if it does not answer, or not to us.
    """
    find_servers()  # for the programs that we start
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
        without = f"remove {paths.DOTENV}" if paths.DOTENV.exists() else "unset PREFECT_API_URL"
        reason = redact(str(error)) or type(error).__name__
        raise NmtError(
            f"no Prefect server is ready at {redact_url(address)} ({reason}); start it with make "
            f"server, set PREFECT_API_URL to yours, or {without} to do without one"
        ) from None
    if answer.status_code == httpx2.codes.UNAUTHORIZED:
        raise NmtError(
            f"the Prefect server at {redact_url(address)} wants another password; copy "
            f"servers/environment of its machine to {paths.DOTENV}, or set PREFECT_API_AUTH_STRING"
        )
    return address


def move_to_child() -> None:
    """Return in a child process; its whole session ends with either of the two.

    Prefect's temporary server would outlive a flow that is killed outright, and so would the flow
    run, as Running, in the database; the child still has time to put both in order.
    """
    parent, child = os.getpid(), os.fork()
    if child:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(child, number))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os._exit(code if code >= 0 else 128 - code)
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell had it ignored
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    end_with_parent(parent)


@contextmanager
def leave_nothing_behind() -> Iterator[None]:
    """Work in a child process, and say what a stop has cost: nothing that was saved.

    That is said below what Prefect calls a crash.
    """
    move_to_child()
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        typer.echo(STOPPED, err=True)
        raise

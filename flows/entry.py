"""How every flow starts and ends as a program."""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import typer
from prefect.settings import PREFECT_API_URL

from nmt_core.errors import NmtError

LOCAL_SERVER = "http://127.0.0.1:4200/api"
"""Where ``make server`` has Prefect."""

ANSWER_SECONDS = 5.0


@contextmanager
def as_program() -> Iterator[None]:
    """Tell an error of ours in one sentence, with exit code 1."""
    try:
        yield
    except NmtError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


def check_server() -> str:
    """Return the address of the Prefect server, which is a local one unless PREFECT_API_URL is set.

    Raises:
        NmtError: if it does not answer.
    """
    address = PREFECT_API_URL.value() or LOCAL_SERVER
    try:
        httpx.get(f"{address}/ready", timeout=ANSWER_SECONDS).raise_for_status()
    except httpx.HTTPError as error:
        raise NmtError(
            f"no Prefect server is ready at {address} ({error or type(error).__name__}); start one "
            f"with make server, or set PREFECT_API_URL to yours"
        ) from None
    return address


def leave_nothing_behind() -> None:
    """Return in a child process, whose whole session is ended when either of the two ends.

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
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            sys.exit(128 + signal.SIGTERM)

"""Restart servers that end by themselves, and report it."""

import time
from collections.abc import Callable, Iterable, Iterator
from signal import Signals

from infra.servers.server import Server, StartError

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 1.0, 60.0
"""Before a server is started again; the wait doubles, and is short again once it has answered."""


def describe_exit(code: int | None) -> str:
    """Describe an exit code; 0 also means that a child was killed."""
    if code is not None and code < 0:
        return f"was killed by {Signals(-code).name}"
    return f"ended with code {code}" if code else "ended"


def restart(server: Server, say: Callable[[str], None]) -> Iterator[None]:
    """Restart a server whenever it ends; each step checks it once."""
    wait, silent, failure = FIRST_WAIT_SECONDS, False, ""
    while True:
        if server.running:
            if silent and server.answers():
                wait, silent = FIRST_WAIT_SECONDS, False
                say(f"{server.name} answers again")
            yield
            continue
        reason = failure or f"{describe_exit(server.code)}, see {server.log}"
        say(f"{server.name}: {reason}; starting it again in {wait:.0f} s")
        due, wait = time.monotonic() + wait, min(2 * wait, LONGEST_WAIT_SECONDS)
        silent, failure = True, ""
        yield
        while time.monotonic() < due:
            yield
        try:
            server.launch()
        except StartError as error:
            failure = str(error)
        else:
            yield


def watch(servers: Iterable[Server], say: Callable[[str], None], *, every: float = 0.5) -> None:
    """Restart servers until an exception, such as a signal raises, ends it."""
    watched = [restart(server, say) for server in servers]
    while True:
        for one in watched:
            next(one)
        time.sleep(every)

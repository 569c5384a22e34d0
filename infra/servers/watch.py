"""Restart servers that end by themselves, and report it."""

import time
from collections.abc import Callable, Iterable
from signal import Signals

from infra.servers.server import Server, ServerFailed

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 1.0, 60.0
"""Before a server is started again; the wait doubles, and is short again once it has answered."""


class Watch:
    """One server, restarted whenever it ends."""

    def __init__(self, server: Server, say: Callable[[str], None]) -> None:
        self._server = server
        self._say = say
        self._wait = FIRST_WAIT_SECONDS
        self._due: float | None = None
        """When it is started again, if it is down."""
        self._silent = False
        """Whether it has not answered since it was started again."""

    def look(self) -> None:
        """Check the server once; called repeatedly, by the thread that lives longest."""
        if self._server.running:
            if self._silent and self._server.answers():
                self._silent, self._wait = False, FIRST_WAIT_SECONDS
                self._say(f"{self._server.name} answers again")
        elif self._due is None:
            self._put_off(f"{describe_exit(self._server.code)}, see {self._server.log}")
        elif time.monotonic() >= self._due:
            self._start_again()

    def _start_again(self) -> None:
        self._due, self._silent = None, True
        try:
            self._server.launch()
        except ServerFailed as error:
            self._put_off(str(error))

    def _put_off(self, reason: str) -> None:
        self._say(f"{self._server.name}: {reason}; starting it again in {self._wait:.0f} s")
        self._due = time.monotonic() + self._wait
        self._wait = min(2 * self._wait, LONGEST_WAIT_SECONDS)


def describe_exit(code: int | None) -> str:
    """Describe an exit code; 0 also means that a child was killed."""
    if code is not None and code < 0:
        return f"was killed by {Signals(-code).name}"
    return f"ended with code {code}" if code else "ended"


def watch(servers: Iterable[Server], say: Callable[[str], None], *, every: float = 0.5) -> None:
    """Watch until an exception, such as a signal raises, ends it."""
    watches = [Watch(server, say) for server in servers]
    while True:
        for watched in watches:
            watched.look()
        time.sleep(every)

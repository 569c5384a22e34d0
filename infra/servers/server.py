"""A program that answers at an address until it is stopped, and what all such programs share."""

import errno
import functools
import logging
import os
import signal
import socket
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

import httpx

from flows import processes
from nmt_core.base.errors import NmtError

READY_SECONDS = 180.0
"""How long a server may take to answer; Prefect and MLflow make their tables in this time."""

GRACE_SECONDS = 10.0
"""What a server gets to end by itself between the polite signal and the last one."""

SWEEP_SECONDS = 10.0
"""What the system gets to end what was killed."""

LOG_BYTES = 10_000_000
"""Where a log is put aside, over the one before: without its database, Prefect writes a million
lines an hour."""

ANSWER_SECONDS = 2.0
PRIVATE = 0o700
"""Who may see what a server keeps: its user alone; records hold all parameters of all runs."""

LOOPBACK = "127.0.0.1"


class ServerFailed(NmtError):  # noqa: N818 - what happened, as with stages
    """A server cannot be started, or ended before it answered."""


class Server(ABC):
    """A program in a session of its own, which dies with us."""

    name: str
    parting = signal.SIGTERM
    """What tells it to end: when it is stopped, and when we die."""
    user = ""
    """Who runs it, if not we."""

    def __init__(self, folder: Path, *, host: str = LOOPBACK, port: int = 0) -> None:
        self.folder = folder.resolve() / self.name
        self.host = host
        self.port = port or find_free_port(host, name=self.name)
        self.log = folder.resolve() / f"{self.name}.log"
        self._process: subprocess.Popen[str] | None = None
        self._reader: _Reader | None = None

    @property
    @abstractmethod
    def address(self) -> str:
        """Where clients find it."""

    @property
    def environment(self) -> dict[str, str]:
        """What clients know it by: variables for workers and stages."""
        return {}

    @abstractmethod
    def command(self) -> list[str]:
        """Return the program and its arguments, which everybody on this machine can read."""

    def variables(self) -> Mapping[str, str]:
        """Return what the program itself finds in its environment, secrets included."""
        return {}

    def prepare(self) -> None:
        """Make what has to be there before the program starts; called before each start."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(PRIVATE)

    @abstractmethod
    def answers(self) -> bool:
        """Tell whether it does its work now."""

    @property
    def running(self) -> bool:
        """Whether the program has been started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def code(self) -> int | None:
        """What it ended with, if it did so by itself."""
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        """Launch it and wait until it answers.

        Raises:
            ServerFailed: if it does not.
        """
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Run the program, without waiting for its answer; it lives as long as our thread.

        Raises:
            ServerFailed: if its port is taken.
        """
        assert not self.running
        self.kill()  # what a main process leaves that was killed
        find_free_port(self.host, self.port, name=self.name)
        self.prepare()
        self._process = subprocess.Popen(
            processes.leash(self.command(), last_word=self.parting, user=self.user),
            cwd=self.folder,
            env=os.environ | dict(self.variables()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._reader = _Reader(self._process.stdout, self.log)
        self._reader.start()

    def wait(self) -> None:
        """Wait until it answers.

        Raises:
            ServerFailed: if it ends before that, or takes too long.
        """
        end = time.monotonic() + READY_SECONDS
        while not self.answers():
            if not self.running:
                raise ServerFailed(f"{self.name} ended before it answered; {self._last_line()}")
            if time.monotonic() > end:
                raise ServerFailed(
                    f"{self.name} does not answer at {self.address} after {READY_SECONDS:.0f} "
                    f"seconds; {self._last_line()}"
                )
            time.sleep(0.1)

    def ask_to_stop(self) -> None:
        """Send the polite signal to all of it, and do not wait."""
        if self._process is not None:
            processes.signal_all(self._process.pid, self.parting)

    def stop(self) -> None:
        """End it: politely, and after a grace for certain; nothing of it is left then."""
        self.ask_to_stop()
        if self._reader is not None:
            self._reader.join(GRACE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End it at once, as a crash would, and wait until nothing of it is left."""
        if self._process is None or self._reader is None:
            return
        processes.signal_all(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(SWEEP_SECONDS)
        self._process = self._reader = None

    def _last_line(self) -> str:
        assert self._reader is not None
        if not self.running:  # or it may go on to speak for ever
            self._reader.join(10.0)
        return f"its log ends with {self._reader.last!r}, all is in {self.log}"


class _Reader(threading.Thread):
    """Copies what a program says to its log, until nobody is left who could say anything."""

    def __init__(self, lines: IO[str], log: Path) -> None:
        super().__init__(daemon=True)
        self._lines = lines
        self._log = RotatingFileHandler(log, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
        log.chmod(PRIVATE & ~0o100)
        self._latest = deque([""], maxlen=1)

    @property
    def last(self) -> str:
        """The last line that says anything."""
        return self._latest[0]

    def run(self) -> None:
        with self._lines:
            for line in self._lines:
                self._log.emit(logging.makeLogRecord({"msg": line.rstrip()}))
                if line.strip():
                    self._latest.append(line.strip())
        self._log.close()


def answers_http(url: str) -> bool:
    """Tell whether a GET succeeds, through no proxy."""
    with suppress(httpx.HTTPError):
        return make_client().get(url).is_success
    return False


@functools.cache
def make_client() -> httpx.Client:
    """Return what asks servers; to make one reads all certificates, longer than an answer takes."""
    alone = httpx.Limits(max_keepalive_connections=0)
    return httpx.Client(timeout=ANSWER_SECONDS, trust_env=False, limits=alone)


def find_free_port(host: str, port: int = 0, *, name: str = "a server") -> int:
    """Return a port that nobody listens on now: the one given, any for 0.

    Raises:
        ServerFailed: if somebody listens there, or we may not, which many a server would report
            late or never.
    """
    try:
        with socket.create_server((host, port)) as listener:
            number: int = listener.getsockname()[1]
            return number
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ServerFailed(
                f"{name} cannot listen on {host}:{port}, where another program does; end that, or "
                f"choose another port (0: any that is free)"
            ) from None
        raise ServerFailed(f"{name} cannot listen on {host}:{port}: {error.strerror}") from None

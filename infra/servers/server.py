"""Base of servers: programs that answer at an address until they are stopped."""

import errno
import functools
import logging
import signal
import socket
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import KW_ONLY, dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, ClassVar

import httpx2

from flows import processes
from nmt_core.base.errors import NmtError

READY_SECONDS = 180.0
"""Seconds until a server must answer; Prefect and MLflow make their tables in this time."""

GRACE_SECONDS = 10.0
"""Seconds that a server gets to end between SIGTERM and SIGKILL."""

SWEEP_SECONDS = 10.0
"""Seconds that the system gets to end killed processes."""

LOG_BYTES = 10_000_000
"""Bytes at which a log is rotated, over the one before: Prefect writes a million lines an hour
without its database."""

ANSWER_SECONDS = 2.0
PRIVATE = 0o700
"""Mode of a server's files: for its user alone, since records hold all parameters of all runs."""

LOOPBACK = "127.0.0.1"


class StartError(NmtError):
    """A server cannot be started, or ended before it answered."""


@dataclass(eq=False, repr=False)
class Server(ABC):
    """A program in a session of its own, which ends with this process."""

    home: Path
    """The folder of all servers, each of which has a folder of its name there."""
    _: KW_ONLY
    host: str = LOOPBACK
    port: int = 0
    """0 is any free port."""

    name: ClassVar[str]
    parting: ClassVar = signal.SIGTERM
    """The signal that ends it: when it is stopped, and when this process ends."""
    health: ClassVar = ""
    """The path at which a GET succeeds while it works."""

    def __post_init__(self) -> None:
        self.folder = self.home.resolve() / self.name
        self.log = self.home.resolve() / f"{self.name}.log"
        self.port = self.port or find_free_port(self.host, name=self.name)
        self.user = ""
        """The user that runs it, if it is another one."""
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._last = ""
        """The last line of its log that says anything."""

    @property
    def address(self) -> str:
        """The address for clients."""
        return f"http://{self.host}:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """Variables for its clients: workers and stages."""
        return {}

    @abstractmethod
    def command(self) -> list[str]:
        """Return the program and its arguments, which all users of this machine can read."""

    def variables(self) -> Mapping[str, str]:
        """Return the variables of the program itself, secrets included."""
        return {}

    def prepare(self) -> None:
        """Prepare a start of the program; called before each start."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(PRIVATE)

    def answers(self) -> bool:
        """Tell whether it works now."""
        return answers_http(f"{self.address}{self.health}")

    @property
    def running(self) -> bool:
        """Tells whether the program is running."""
        return self._process is not None and self._process.poll() is None

    @property
    def code(self) -> int | None:
        """The exit code, if it ended by itself."""
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        """Launch it and wait until it answers.

        Raises:
            StartError: if it does not.
        """
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Run the program, without waiting for its answer; it lives as long as our thread.

        Raises:
            StartError: if its port is taken.
        """
        assert not self.running
        self.kill()  # what a main process leaves that was killed
        find_free_port(self.host, self.port, name=self.name)
        self.prepare()
        self._process = processes.start_session(
            self.command(),
            self.variables(),
            folder=self.folder,
            last_word=self.parting,
            user=self.user,
        )
        self._reader = threading.Thread(
            target=self._write_log, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()

    def wait(self) -> None:
        """Wait until it answers.

        Raises:
            StartError: if it ends before that, or takes too long.
        """
        end = time.monotonic() + READY_SECONDS
        while not self.answers():
            if not self.running:
                raise StartError(f"{self.name} ended before it answered; {self._last_line()}")
            if time.monotonic() > end:
                raise StartError(
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
        return f"its log ends with {self._last!r}, all is in {self.log}"

    def _write_log(self, lines: IO[str]) -> None:
        """Copy the output of the program to its log, until all its processes have ended."""
        log = RotatingFileHandler(self.log, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
        self.log.chmod(PRIVATE & ~0o100)
        self._last = ""
        with lines, closing(log):
            for line in lines:
                log.emit(logging.makeLogRecord({"msg": line.rstrip()}))
                self._last = line.strip() or self._last


def answers_http(url: str) -> bool:
    """Tell whether a GET succeeds, through no proxy."""
    with suppress(httpx2.HTTPError):
        return make_client().get(url).is_success
    return False


@functools.cache
def make_client() -> httpx2.Client:
    """Return an HTTP client; making one reads all certificates, longer than an answer takes."""
    alone = httpx2.Limits(max_keepalive_connections=0)
    return httpx2.Client(timeout=ANSWER_SECONDS, trust_env=False, limits=alone)


def find_free_port(host: str, port: int = 0, *, name: str = "a server") -> int:
    """Return a free port: the given one, or any for 0.

    Raises:
        StartError: if the port is taken or forbidden, which many servers report late or never.
    """
    try:
        with socket.create_server((host, port)) as listener:
            number: int = listener.getsockname()[1]
            return number
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise StartError(
                f"{name} cannot listen on {host}:{port}, where another program does; end that, or "
                f"choose another port (0: any that is free)"
            ) from None
        raise StartError(f"{name} cannot listen on {host}:{port}: {error.strerror}") from None

"""Start a server program, watch it, restart it, and stop it with all its processes."""

import logging
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

from flows import processes
from nmt_core.base.errors import NmtError
from stages.runtime.checkout import find_free_port

READY_SECONDS = 180.0
"""Seconds until a server must answer; Prefect and MLflow create their tables in this time."""

GRACE_SECONDS = 10.0
"""Seconds between SIGTERM and SIGKILL."""

ANSWER_SECONDS = 2.0
"""Seconds to wait for an answer to a health check."""

PAUSE_SECONDS = 5.0
"""Seconds before a server that ended is restarted."""

LOG_BYTES = 10_000_000
"""Size at which a log is rotated; one older log is kept."""

LOOPBACK = "127.0.0.1"


@dataclass(eq=False)
class Server:
    """A server program in its own session, which ends with this process."""

    name: str
    folder: Path
    """Folder of its data; the log is beside the folder."""
    host: str
    port: int
    command: list[str]
    """The program and its arguments, without secrets: all users of this machine can read them."""
    variables: dict[str, str]
    """Environment variables, added to those of this process."""
    health: str
    """Path of the health check."""
    _process: subprocess.Popen[str] | None = field(default=None, init=False)
    _reader: threading.Thread | None = field(default=None, init=False)
    _last_line: str = field(default="", init=False)

    @property
    def address(self) -> str:
        """The address for clients."""
        return f"http://{self.host}:{self.port}"

    @property
    def log(self) -> Path:
        """The file with its output."""
        return self.folder.with_suffix(".log")

    @property
    def running(self) -> bool:
        """Whether the main process runs."""
        return self._process is not None and self._process.poll() is None

    def answers(self) -> bool:
        """Return whether the server answers its health check."""
        with (
            suppress(OSError, HTTPException),
            closing(HTTPConnection(self.host, self.port, timeout=ANSWER_SECONDS)) as connection,
        ):
            connection.request("GET", self.health)
            return connection.getresponse().status == HTTPStatus.OK
        return False

    def launch(self) -> None:
        """Start the program, which ends with the calling thread; do not wait for its answer."""
        self.kill()  # children of a main process that was killed
        find_free_port(self.host, self.port, name=self.name)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process = processes.start_session(self.command, self.variables, folder=self.folder)
        self._reader = threading.Thread(
            target=self._write_log, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()

    def wait(self) -> None:
        """Wait until it answers; raise a ``NmtError`` if it ends or takes too long."""
        end = time.monotonic() + READY_SECONDS
        while not self.answers():
            if not self.running or time.monotonic() > end:
                problem = f"does not answer at {self.address} after {READY_SECONDS:.0f} seconds"
                if self._reader and not self.running:
                    problem = "ended before it answered"
                    self._reader.join(GRACE_SECONDS)
                raise NmtError(
                    f"{self.name} {problem}; its log ends with {self._last_line!r}, see {self.log}"
                )
            time.sleep(0.1)

    def ask_to_stop(self) -> None:
        """Send SIGTERM to all its processes, without waiting."""
        if self._process is not None:
            processes.signal_all(self._process.pid, signal.SIGTERM)

    def stop(self) -> None:
        """End all its processes by SIGTERM, and after ``GRACE_SECONDS`` by SIGKILL."""
        self.ask_to_stop()
        if self._reader is not None:
            self._reader.join(GRACE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End all its processes by SIGKILL, and wait for them."""
        if self._process is None or self._reader is None:
            return
        processes.signal_all(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(GRACE_SECONDS)
        self._process = self._reader = None

    def _write_log(self, lines: IO[str]) -> None:
        """Copy the program's output to its log until all its processes have ended."""
        log = RotatingFileHandler(self.log, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
        with lines, closing(log):
            for line in lines:
                log.emit(logging.makeLogRecord({"msg": line.rstrip()}))
                self._last_line = line.strip() or self._last_line


def watch(servers: Iterable[Server], say: Callable[[str], None]) -> None:
    """Restart servers that end, until an exception is raised; ``say`` receives messages."""
    while True:
        for server in servers:
            if not server.running:
                say(f"{server.name} has ended, see {server.log}; restarting it")
                time.sleep(PAUSE_SECONDS)
                try:
                    server.launch()
                except NmtError as error:  # such as a port in use; retried after a pause
                    say(str(error))
        time.sleep(0.5)

"""A server as a process of its own."""

import subprocess
import sys
from contextlib import contextmanager, suppress

import httpx

from tests.support.processes import wait_for
from tests.support.projects import PROJECT


class Served:
    """A server that was started."""

    def __init__(self, process, port):
        self.process = process
        self.address = f"http://127.0.0.1:{port}"
        self.port = port

    def is_up(self):
        assert self.process.poll() is None
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.address}/health", trust_env=False).is_success

    def health(self):
        return httpx.get(f"{self.address}/health", trust_env=False).json()

    def ask(self, q, **fields):
        body = {"q": q, "source": "de", "target": "en", **fields}
        return httpx.post(f"{self.address}/translate", json=body, timeout=60, trust_env=False)


@contextmanager
def served(*command, port, log):
    """Yield a server, whose log is written to a file; end it."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=PROJECT, stdout=file, stderr=file
        )
    server = Served(process, port)
    try:
        assert wait_for(server.is_up, seconds=120), log.read_text()
        yield server
    finally:
        process.terminate()
        process.wait(60)

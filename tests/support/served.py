"""A server as a process."""

import subprocess
import sys
from contextlib import contextmanager, suppress

import httpx2

from tests.support.processes import wait_for
from tests.support.projects import PROJECT


def lasting_client(**settings):
    """Return a function that sends requests, each over its own connection.

    Creating a client reads all certificates, which takes longer than a request.
    """
    alone = httpx2.Limits(max_keepalive_connections=0, max_connections=None)
    return httpx2.Client(timeout=60, trust_env=False, limits=alone, **settings)


class Served:
    """A started server."""

    def __init__(self, process, port, client):
        self.process = process
        self.client = client
        self.address = f"http://127.0.0.1:{port}"
        self.port = port

    def is_up(self):
        assert self.process.poll() is None
        with suppress(httpx2.TransportError):
            return self.client.get(f"{self.address}/health").is_success

    def status(self):
        return self.client.get(f"{self.address}/status").json()

    def ask(self, q, **fields):
        body = {"q": q, "source": "de", "target": "en", **fields}
        return self.client.post(f"{self.address}/translate", json=body)


@contextmanager
def served(*command, port, log):
    """Yield a server, whose log is written to a file; end it."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=PROJECT, stdout=file, stderr=file
        )
    try:
        with lasting_client() as client:
            server = Served(process, port, client)
            assert wait_for(server.is_up, seconds=120), log.read_text()
            yield server
    finally:
        process.terminate()
        process.wait(60)

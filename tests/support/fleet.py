"""Clones of a miniature project, workers in them, and runs of its deployments on real servers."""

import shutil
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx2

from tests.support.processes import marked, read_command, wait_for
from tests.support.projects import Copy, begin
from tests.support.served import lasting_client

BRIEFLY = "train.budget.steps=40 train.training.validate_every=20"
"""Factor for trainings, which do everything twice."""

ENDS = ("FAILED", "CRASHED", "CANCELLED", "COMPLETED")


@dataclass
class Clone(Copy):
    """A project whose programs use the servers, and have a mark in their environment."""

    servers: dict[str, str] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def environment(self):
        ours = super().environment | self.servers
        home = str(self.shared / f"prefect-{self.folder.parent.name}-{self.folder.name}")
        return ours | {"FLEET": self.mark, "PREFECT_HOME": home}

    def processes(self):
        """Return all processes with this test's mark in their environment."""
        return marked("FLEET", self.mark)

    def process(self, *words):
        """Return the process with these words in its command."""
        [found] = [p for p in self.processes() if all(w in read_command(p) for w in words)]
        return found

    def remote(self, url):
        """Share results with all clones that name the same remote."""
        self.run(f"dvc remote add --quiet --local --force --default shared {url}")


class Fleet:
    """The clones, workers and runs of a test."""

    def __init__(self, servers, folder):
        self.servers = servers
        address = servers.environment["PREFECT_API_URL"]
        login = tuple(servers.environment["PREFECT_API_AUTH_STRING"].split(":"))
        self.client = lasting_client(base_url=address, auth=login)
        self.folder = folder
        self.shared = folder / "shared"
        self.shared.mkdir()
        self.origin = begin(folder / "origin", self.shared, settings=BRIEFLY)
        self.deploy()

    def deploy(self, **variables):
        environment = self.origin.environment | self.servers.environment | variables
        done = subprocess.run(
            [sys.executable, "-m", "flows.deploy"],
            cwd=self.origin.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def clone(self, name, *, source=None):
        """Return a clone of the origin, or a copy of a clone with all its results."""
        folder = self.folder / name
        if source is None:
            subprocess.run(["git", "clone", "--quiet", self.origin.folder, folder], check=True)
            (folder / ".git/info/exclude").write_text("/log.txt\n/worker.log\n")
        else:
            shutil.copytree(source.folder, folder, symlinks=True)
        return Clone(folder, self.shared, servers=self.servers.environment)

    @contextmanager
    def worker(self, clone, pool, *options):
        """Run a worker in a clone, and end it with all its processes."""
        with (clone.folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "flows.worker", pool, *options],
                cwd=clone.folder,
                env=clone.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for left in clone.processes():
                left.kill()

    def own_deployment(self, name, pool):
        """Create a deployment in another pool, so that only its own worker runs it."""
        flow, _, _ = name.partition("/")
        found = self.api("GET", f"/deployments/name/{name}")
        self.api(
            "POST",
            "/work_pools/",
            name=pool,
            type="process",
            base_job_template=self.api("GET", "/work_pools/cpu")["base_job_template"],
        )
        copied = ("flow_id", "entrypoint", "path", "parameters", "pull_steps")
        copied += ("parameter_openapi_schema", "enforce_parameter_schema")
        values = {key: found[key] for key in copied}
        self.api("POST", "/deployments/", name=pool, work_pool_name=pool, **values)
        return f"{flow}/{pool}"

    def submit(self, name, **parameters):
        """Start a run of a deployment; return its id."""
        deployment = self.api("GET", f"/deployments/name/{name}")
        run = self.api(
            "POST",
            f"/deployments/{deployment['id']}/create_flow_run",
            parameters=parameters,
            state={"type": "SCHEDULED"},
        )
        return run["id"]

    def state(self, run):
        return self.api("GET", f"/flow_runs/{run}")["state"]

    def wait(self, run, *names, seconds):
        """Wait until a run is in one of some states."""

        def has_ended():
            state = self.state(run)
            return state["name"] in names or state["type"] in ENDS

        wait_for(has_ended, seconds=seconds)
        state = self.state(run)
        assert state["name"] in names, f"{state['message']}\n{self.said(run)}"

    def said(self, run):
        """Return the log of a run from Prefect."""
        filters = {"logs": {"flow_run_id": {"any_": [run]}}, "limit": 200}
        return "\n".join(entry["message"] for entry in self.api("POST", "/logs/filter", **filters))

    def artifacts(self, run):
        """Return the artifacts of a run by key."""
        found = self.api("POST", "/artifacts/filter", artifacts={"flow_run_id": {"any_": [run]}})
        return {artifact["key"]: artifact["data"] for artifact in found}

    def api(self, method, route, /, **body):
        """Send a request to Prefect; retry while the server restarts."""
        end = time.monotonic() + 60
        while True:
            try:
                answer = self.client.request(method, route, json=body or None)
                if answer.status_code < 500:
                    break
            except httpx2.HTTPError:
                pass
            assert time.monotonic() < end, f"Prefect does not answer {method} {route}"
            time.sleep(0.5)
        assert answer.is_success, f"{method} {route}: {answer.text}"
        return answer.json() if answer.content else None

"""An Indexed Job of Kubernetes: created by kubectl, and asked about until it has ended."""

import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

from flows.nodes.job import LAST_LINES, Job, find_program, make_failure, write_job
from nmt_core.base.errors import NmtError

PROGRAM = "kubectl"

TEMPLATE = "kubernetes.yaml"

POLL_SECONDS = 5.0
"""Between two questions to the cluster."""

PATIENCE = 120
"""Questions in a row without an answer, after which nobody is asked any more: ten minutes."""


def run_job(job: Job, say: Callable[[str], object]) -> None:
    """Create the job, wait until it has ended well, and delete it, also if we are stopped.

    One that an earlier command has left is deleted first; its processes save what they have.

    Raises:
        NmtError: if Kubernetes does not take it, or does not answer any more.
        StageError: if it ends badly.
    """
    write_job(job, TEMPLATE, json.dumps)
    delete_job(job)
    try:
        ask_kubectl("create", "--filename", job.file)
        say(f"job {job.name} of Kubernetes is to train on {job.nodes} nodes")
        if reason := wait_for_end(job, say):
            say(said := read_last_lines(job))
            raise make_failure(job, f"job {job.name} of Kubernetes has failed ({reason})", said)
    finally:
        try:
            delete_job(job)
        except NmtError as error:  # what came before counts
            say(f"{error}; delete it by: kubectl delete --filename {job.file}")


def delete_job(job: Job) -> None:
    """Delete what the job consists of, if it is there, and wait until it is gone."""
    ask_kubectl("delete", "--filename", job.file, "--ignore-not-found", "--cascade", "foreground")


def wait_for_end(job: Job, say: Callable[[str], object]) -> str:
    """Return why the job has failed, once it has ended; empty if it has ended well.

    Args:
        job: the job.
        say: takes a message whenever another number of its nodes is at work.

    Raises:
        NmtError: if it is gone, or Kubernetes does not answer for ten minutes.
    """
    silent, at_work = 0, 0
    while True:
        try:
            found = find_job(job).get("status", {})
            silent = 0
        except NmtError as error:
            silent += 1
            if silent == PATIENCE or "NotFound" in str(error):
                raise
        else:
            if at_work != (at_work := found.get("ready", 0)):
                say(f"{at_work} of {job.nodes} nodes are at work")
            for condition in found.get("conditions", ()):
                if condition["status"] == "True" and condition["type"] == "Complete":
                    return ""
                if condition["status"] == "True" and condition["type"] == "Failed":
                    return f"{condition.get('reason', '')}: {condition.get('message', '')}"
        time.sleep(POLL_SECONDS)


def find_job(job: Job) -> dict[str, Any]:
    """Return what Kubernetes knows of the job."""
    answer = json.loads(ask_kubectl("get", "--filename", job.file, "--output", "json"))
    [found] = [item for item in answer["items"] if item["kind"] == "Job"]
    return found


def read_last_lines(job: Job) -> str:
    """Return the end of what each of the nodes has said; empty if nobody can tell any more."""
    try:
        namespace = find_job(job)["metadata"]["namespace"]
        chosen = [
            "--namespace",
            namespace,
            "--selector",
            f"batch.kubernetes.io/job-name={job.name}",
        ]
        return ask_kubectl("logs", *chosen, "--prefix", "--tail", str(LAST_LINES))
    except NmtError as error:
        return str(error)


def ask_kubectl(*arguments: str) -> str:
    """Return what kubectl answers.

    Raises:
        NmtError: with its own words, if it refuses.
    """
    answer = subprocess.run(
        [find_program(PROGRAM), *arguments], capture_output=True, text=True, check=False
    )
    if answer.returncode:
        said = " ".join(answer.stderr.split()) or f"exit code {answer.returncode}"
        raise NmtError(f"kubectl {arguments[0]} failed: {said}")
    return answer.stdout

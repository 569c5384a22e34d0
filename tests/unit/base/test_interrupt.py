"""Processes that end with the process that started them."""

import os
import signal
import subprocess
import sys

import pytest

from tests.support.projects import PROJECT

BOUND = """\
import time
from nmt_core.base.interrupt import end_with_parent
end_with_parent({})
print("bound", flush=True)
time.sleep(5)
print("alone", flush=True)
"""
STARTS = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells of a parent's end")


def start(*command):
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    return subprocess.Popen(
        [sys.executable, "-c", *command], env=environment, stdout=subprocess.PIPE, text=True
    )


def test_a_process_ends_when_its_parent_is_killed():
    with start(STARTS, BOUND.format("")) as parent:
        assert parent.stdout.readline() == "bound\n"
        parent.kill()

        assert parent.stdout.read() == ""


def test_a_process_without_a_parent_ends_at_once():
    with start(BOUND.format(os.getppid())) as orphan:
        assert orphan.stdout.read() == ""
    assert orphan.returncode == -signal.SIGTERM

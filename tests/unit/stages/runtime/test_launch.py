import json
import os
import signal
import subprocess
import sys

import pytest

from nmt_core.base.errors import NmtError
from nmt_core.training.settings import WorldConfig
from stages.runtime import launch


@pytest.mark.parametrize(
    ("codes", "rank", "end"),
    [
        ([-9, -6], 0, "killed by SIGKILL"),
        ([143, -9], 1, "killed by SIGKILL"),
        ([1, -9], 1, "killed by SIGKILL"),
        ([0, 3], 1, "exit code 3"),
    ],
)
def test_a_killed_process_is_named(codes, rank, end):
    with pytest.raises(NmtError, match=f"^rank {rank}: {end}; the same command continues"):
        launch.fail(codes)


@pytest.mark.parametrize(
    ("codes", "code"), [([1, 1], 1), ([-15, 1], 1), ([143, 1], 1), ([143, -15], 143), ([130], 143)]
)
def test_an_error_that_was_printed_is_not_repeated(codes, code):
    with pytest.raises(SystemExit) as ended:
        launch.fail(codes)
    assert ended.value.code == code


PROGRAM = """
import json, os, sys, time
from pathlib import Path
rank = os.environ["RANK"]
Path(f"started-{rank}.json").write_text(json.dumps(dict(os.environ)))
CODES = {"done": (0, 0), "failed": (None, 7), "stopped": (None, 143)}
code = CODES[os.environ["STORY"]][int(rank)]
while not Path("started-0.json").exists() or not Path("started-1.json").exists():
    time.sleep(0.05)
if code is None:
    time.sleep(60)
sys.exit(code)
"""


@pytest.fixture
def start(monkeypatch, tmp_path):
    """Start two processes of a small program, and return what each reads from its environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "small.py").write_text(PROGRAM)

    def start(story):
        monkeypatch.setenv("STORY", story)
        launch.launch("small", WorldConfig(processes=2, timeout_seconds=5))
        return [json.loads((tmp_path / f"started-{rank}.json").read_text()) for rank in (0, 1)]

    return start


def test_processes_share_a_machine(start, monkeypatch):
    monkeypatch.setattr("torch.get_num_threads", lambda: 7)
    for rank, environment in enumerate(start("done")):
        assert (environment["RANK"], environment["LOCAL_RANK"]) == (str(rank), str(rank))
        assert environment["WORLD_SIZE"] == environment["LOCAL_WORLD_SIZE"] == "2"
        assert environment["GLOO_SOCKET_IFNAME"] == launch.LOOPBACK
        assert environment["OMP_NUM_THREADS"] == "3"
        assert environment[launch.RENDEZVOUS].startswith("file:///")
        assert environment[launch.PARENT] == str(os.getpid())


def test_a_failure_ends_the_other_processes(start):
    with pytest.raises(NmtError, match=r"^rank 1: exit code 7; "):
        start("failed")


def test_stopped_processes_count_as_no_failure(start):
    with pytest.raises(SystemExit) as ended:
        start("stopped")
    assert ended.value.code == 143


def test_a_process_that_does_not_end_is_killed():
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); "
    command = [sys.executable, "-c", f"{deaf}time.sleep(60)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.read(1)
        launch.end_processes([process], 0.2)
    assert process.returncode == -signal.SIGKILL


@pytest.fixture
def rank(monkeypatch):
    """Act as one of several processes."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "nmt")
    monkeypatch.setenv(launch.PARENT, str(os.getppid()))
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_an_ending_process_is_not_stopped(rank):
    with pytest.raises(ValueError, match="ours"), launch.ignore_late_stop():
        raise ValueError("ours")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_orphans_do_not_start(rank, monkeypatch):
    monkeypatch.setenv(launch.PARENT, "1")
    with pytest.raises(SystemExit) as ended, launch.ignore_late_stop():
        pytest.fail("it has begun")
    assert ended.value.code == 143

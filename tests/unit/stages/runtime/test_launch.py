import json
import logging
import os
import signal
import sys

import pytest
import torch
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.training.distributed import RENDEZVOUS, PeerError
from nmt_core.training.settings import WorldConfig
from stages.runtime import launch
from stages.runtime.launch import AGAIN, find_cause, record_errors


@pytest.fixture
def rank(monkeypatch, tmp_path):
    """What a process of torchrun finds in its environment."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "nmt")
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    monkeypatch.setenv(launch.PARENT, str(os.getppid()))
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def failures(tmp_path, *ends):
    """Processes that have ended with these codes, and with these errors if any."""
    failed = {}
    for number, (code, error) in enumerate(ends):
        file = tmp_path / f"{number}.json"
        if error is not None:
            os.environ["TORCHELASTIC_ERROR_FILE"] = str(file)
            with pytest.raises(SystemExit), record_errors():
                raise error
        failed[number] = ProcessFailure(number, 100 + number, code, str(file))
    return failed


LOST = PeerError("rank 0 has lost another process of the training (Timed out)")
ALSO_LOST = PeerError("rank 1 has lost another process of the training (Closed)")
BROKEN = NmtError("the loss is nan near step 3: lower it")


@pytest.mark.parametrize(
    ("ends", "sentence"),
    [
        ([(1, ConfigError("no GPU")), (1, ConfigError("no GPU"))], "no GPU"),
        ([(1, LOST), (1, BROKEN)], str(BROKEN)),
        ([(-9, None), (1, BROKEN)], str(BROKEN)),
        ([(1, LOST), (-9, None)], f"rank 1 was ended by SIGKILL; {LOST}; {AGAIN}"),
        ([(-9, None), (-6, None)], f"rank 0 was ended by SIGKILL; {AGAIN}"),
        ([(143, None), (-9, None)], f"rank 1 was ended by SIGKILL; {AGAIN}"),
        ([(-15, None), (1, None)], f"rank 1 ended with exit code 1; {AGAIN}"),
        ([(1, LOST), (143, None)], f"{LOST}; {AGAIN}"),
        ([(1, LOST), (1, ALSO_LOST)], f"{LOST}; {AGAIN}"),
        ([(1, LOST), (1, LOST), (-9, None)], f"rank 2 was ended by SIGKILL; {LOST}; {AGAIN}"),
        ([(3, None), (1, None)], f"rank 0 ended with exit code 3; {AGAIN}"),
    ],
)
def test_the_first_cause_is_reported(rank, tmp_path, ends, sentence):
    assert find_cause(failures(tmp_path, *ends)) == sentence


@pytest.fixture
def agent(monkeypatch):
    """Stand in for torchrun's agent, record its arguments and end as the test sets."""

    class Agent:
        end = None

        def __init__(self, config, program):
            Agent.config, Agent.program, Agent.environment = config, program, dict(os.environ)

        def __call__(self, *arguments):
            Agent.arguments = arguments
            logging.getLogger("torch.distributed").error("it ended, in many lines")
            if self.end:
                raise self.end

    names = ("TORCHELASTIC_RUN_ID", "OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", launch.PARENT)
    here = {name: text for name, text in os.environ.items() if name not in names}
    monkeypatch.setattr(os, "environ", here)
    monkeypatch.setattr(launch, "elastic_launch", Agent)
    yield Agent
    logging.disable(logging.NOTSET)


def test_processes_start_on_this_machine(agent, caplog):
    launch.launch("stages.train", WorldConfig(processes=3, timeout_seconds=1.5))
    config, environment = agent.config, agent.environment

    assert (agent.program, agent.arguments) == (sys.executable, ("-u", "-m", "stages.train"))
    assert (config.min_nodes, config.max_nodes, config.nproc_per_node) == (1, 1, 3)
    assert (config.max_restarts, config.shutdown_timeout, config.local_addr) == (0, 2, "127.0.0.1")
    assert config.rdzv_configs["store_type"] == "file"
    assert environment[launch.PARENT] == str(os.getpid())
    assert environment["OMP_NUM_THREADS"] == str(max(1, torch.get_num_threads() // 3))
    assert environment["GLOO_SOCKET_IFNAME"] == launch.LOOPBACK
    assert environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] == "1"
    assert environment[RENDEZVOUS].startswith("file:///")
    assert caplog.records == []


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        (None, 129),
        ([(143, None)], 143),
        ([(-15, None), (130, None)], 143),
        ([(143, None), (-9, None)], None),
    ],
)
def test_stopped_processes_have_not_failed(agent, tmp_path, ends, code):
    stopped = SignalException("", signal.SIGHUP)
    agent.end = ChildFailedError("", failures(tmp_path, *ends)) if ends else stopped
    if code is None:
        with pytest.raises(NmtError, match=r"^rank 1 was ended by SIGKILL; "):
            launch.launch("stages.train", WorldConfig(processes=2))
        return
    with pytest.raises(SystemExit) as ended:
        launch.launch("stages.train", WorldConfig(processes=2))
    assert ended.value.code == code


def test_errors_are_written_for_torchrun(rank, tmp_path, capfd):
    with pytest.raises(SystemExit) as ended, record_errors():
        raise BROKEN

    left = json.loads((tmp_path / "error.json").read_text())
    assert left["message"]["message"] == f"NmtError: {BROKEN}"
    assert ended.value.code == 1
    assert capfd.readouterr() == ("", "")


def test_programming_errors_are_raised(rank, tmp_path):
    with pytest.raises(ValueError, match="ours"), record_errors():
        raise ValueError("ours")

    assert not (tmp_path / "error.json").exists()


def test_orphans_do_not_start(rank, monkeypatch):
    monkeypatch.setenv(launch.PARENT, "1")
    with pytest.raises(SystemExit) as ended, record_errors():
        pytest.fail("it has begun")

    assert ended.value.code == 143

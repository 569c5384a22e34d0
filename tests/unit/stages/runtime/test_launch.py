import json
import os
import signal

import pytest
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

from nmt_core.base.errors import ConfigError, TrainingError
from nmt_core.training.distributed import PeerError
from stages.runtime import launch
from stages.runtime.launch import AGAIN, find_cause, is_rank, record_errors


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
BROKEN = TrainingError("the loss is nan near step 3: lower it")


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
    ],
)
def test_what_went_wrong_first_is_told_once(rank, tmp_path, ends, sentence):
    assert find_cause(failures(tmp_path, *ends)) == sentence


def test_an_error_is_left_for_torchrun(rank, tmp_path, capfd):
    with pytest.raises(SystemExit) as ended, record_errors():
        raise BROKEN

    left = json.loads((tmp_path / "error.json").read_text())
    assert left["message"]["message"] == f"TrainingError: {BROKEN}"
    assert ended.value.code == 1
    assert capfd.readouterr() == ("", "")


def test_a_process_that_ends_is_not_asked_to_end(rank):
    """Its interpreter would tell of that, in many lines."""
    with pytest.raises(SystemExit), record_errors():
        raise BROKEN

    os.kill(os.getpid(), signal.SIGTERM)


def test_a_mistake_of_ours_is_no_message(rank, tmp_path):
    with pytest.raises(ValueError, match="ours"), record_errors():
        raise ValueError("ours")

    assert not (tmp_path / "error.json").exists()


def test_a_process_whose_parent_is_gone_does_not_begin(rank, monkeypatch):
    monkeypatch.setenv(launch.PARENT, "1")
    with pytest.raises(SystemExit) as ended, record_errors():
        pytest.fail("it has begun")

    assert ended.value.code == 143


def test_one_process_keeps_its_errors(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert not is_rank()
    with pytest.raises(TrainingError), record_errors():
        raise BROKEN

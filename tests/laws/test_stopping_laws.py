"""A training that is asked to stop saves where it is, whoever asks."""

import signal

import pytest

from nmt_core.base import interrupt as module
from nmt_core.base.interrupt import Interrupted
from tests.support import trainings

pytestmark = pytest.mark.usefixtures("heard")


class Asks(trainings.Log):
    """Sends signals to this process after the third update."""

    def __init__(self, *signals, between=lambda: None):
        super().__init__()
        self.signals = signals
        self.between = between

    def step(self, *, step, **_):
        if step == 3:
            for number in self.signals:
                signal.raise_signal(number)
                self.between()


@pytest.mark.parametrize(
    "signals",
    [
        (signal.SIGTERM,),
        (signal.SIGHUP,),
        (signal.SIGINT,),
        (signal.SIGINT, signal.SIGINT),
        (signal.SIGHUP, signal.SIGTERM),
    ],
)
def test_whoever_asks_it_saves(dataset, tmp_path, signals):
    """Some programs pass a Ctrl-C on that their children have seen themselves."""
    before = [signal.getsignal(number) for number in module.STOPPING]
    training = trainings.trainer(dataset, tmp_path, Asks(*signals))
    with pytest.raises(Interrupted) as stopped:
        training.fit()

    assert stopped.value.signal == signals[0]
    assert training.checkpoints.newest().progress["step"] == 4  # the update that follows
    assert before == [signal.getsignal(number) for number in module.STOPPING]


def test_stopping_between_reports_is_continuing(dataset, tmp_path):
    """The loss of an update that was not reported yet is in the checkpoint, too."""
    settings = {"log_every": 3, "validate_every": 6}
    whole = trainings.trainer(dataset, tmp_path / "whole", trainings.Log(), **settings).fit()
    with pytest.raises(Interrupted):
        trainings.trainer(dataset, tmp_path / "cut", Asks(signal.SIGTERM), **settings).fit()
    again = trainings.trainer(dataset, tmp_path / "cut", trainings.Log(), **settings).fit()

    assert trainings.untimed(again) == trainings.untimed(whole)


def test_who_presses_again_later_waits_no_longer(dataset, tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])

    def wait():
        now[0] += 1.1

    asks = Asks(signal.SIGINT, signal.SIGINT, between=wait)
    training = trainings.trainer(dataset, tmp_path, asks)
    with pytest.raises(KeyboardInterrupt):
        training.fit()

    assert training.checkpoints.newest() is None


def test_what_was_to_be_ignored_still_is(dataset, tmp_path, monkeypatch):
    """As by nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        progress = trainings.trainer(dataset, tmp_path, Asks(signal.SIGHUP)).fit()
    finally:
        signal.signal(signal.SIGHUP, before)

    assert progress.step == trainings.STEPS

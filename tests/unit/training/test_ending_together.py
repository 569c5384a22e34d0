"""All processes of a training end after the same update, whichever notices the end."""

import signal
import threading
from contextlib import nullcontext

import pytest

from nmt_core.training import trainer as module
from nmt_core.training.settings import Budget
from tests.support import ranks
from tests.support.threads import ThreadGroup


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    top = tmp_path_factory.mktemp("together")
    ranks.write_texts(top)
    return top


@pytest.fixture
def folder(texts, tmp_path):
    (tmp_path / "pairs").symlink_to(texts / "pairs")
    return tmp_path / "checkpoints"


def train(monkeypatch, folder, *, asked_at=(0, 0), **settings):
    """Train as two processes; return the signal that stopped each, and its update.

    Args:
      monkeypatch: replaces communication between processes.
      folder: of the checkpoints.
      asked_at: updates after which each gets a signal; 0 for never.
      settings: of the training.
    """
    trainings = {}

    def ask():
        rank = threading.current_thread().rank
        is_asked = 0 < asked_at[rank] <= trainings[rank].progress.step
        return signal.SIGTERM if is_asked else 0

    def work(world):
        training = trainings[world.rank] = ranks.trainer(folder, world, **settings)
        try:
            training.fit()
        except SystemExit as interrupted:
            return interrupted.code - 128, training.progress.step
        return 0, training.progress.step

    monkeypatch.setattr(module, "catch_stop_signals", lambda: nullcontext(ask))
    found = ThreadGroup(monkeypatch).run(work)
    return found, trainings[0].checkpoints.newest().progress["step"]


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"budget": Budget(steps=4)}, 4),
        ({"budget": Budget(epochs=1)}, None),
        ({"budget": Budget(seconds=0.05)}, None),
        ({"patience": 2, "validate_every": 1, "select_by": "bleu"}, 3),
    ],
    ids=["steps", "epochs", "seconds", "patience"],
)
def test_all_end_at_once(monkeypatch, folder, settings, steps):
    """Although only the first process knows the validation scores."""
    found, saved = train(monkeypatch, folder, **settings)

    assert found == [(0, steps or saved)] * 2
    assert saved == found[0][1]


@pytest.mark.parametrize("asked_at", [(3, 0), (0, 3), (3, 4)])
@pytest.mark.parametrize("every", [3, 100])
def test_a_signal_to_any_process_stops_all(monkeypatch, folder, asked_at, every):
    """After a validation, too, and after the same update, which is saved."""
    found, saved = train(monkeypatch, folder, asked_at=asked_at, validate_every=every)

    assert found == [(signal.SIGTERM, 3)] * 2
    assert saved == 3


def test_a_signal_in_the_last_validation_stops_nothing(monkeypatch, folder):
    """A finished training was not interrupted."""
    found, _ = train(monkeypatch, folder, asked_at=(3, 3), budget=Budget(steps=3))

    assert found == [(0, 3)] * 2

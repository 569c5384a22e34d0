"""All processes of a training end after the same update, whichever notices the end."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
import torch
import torch.distributed as dist

from nmt_core.training import trainer as module
from nmt_core.training.distributed import World
from nmt_core.training.settings import Budget
from tests.support import ranks

PATIENCE_SECONDS = 20.0
"""Seconds that one thread waits for another before it takes the other for ended."""


class ThreadGroup:
    """Does for two threads what ``torch.distributed`` does for two processes."""

    def __init__(self, monkeypatch):
        self._turn = threading.Barrier(2, timeout=PATIENCE_SECONDS)
        self._told = {}
        monkeypatch.setattr(dist, "all_reduce", self._all_reduce)
        monkeypatch.setattr(dist, "broadcast", self._broadcast)

    def run(self, work):
        """Return the result of a function for each rank of two threads."""

        def run_one(rank):
            threading.current_thread().rank = rank
            try:
                return work(World(rank, 2))
            except BaseException:
                self._turn.abort()  # a thread that has ended is not waited for
                raise

        with ThreadPoolExecutor(2) as pool:
            return [*pool.map(run_one, (0, 1))]

    def _gather(self, told):
        self._turn.wait()
        self._told[threading.current_thread().rank] = told.clone()
        self._turn.wait()
        return [self._told[rank] for rank in (0, 1)]

    def _all_reduce(self, told, op=dist.ReduceOp.SUM):
        both = torch.stack(self._gather(told))
        told.copy_(both.amax(0) if op == dist.ReduceOp.MAX else both.sum(0))

    def _broadcast(self, told, src):
        told.copy_(self._gather(told)[src])


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

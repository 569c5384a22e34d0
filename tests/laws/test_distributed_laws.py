"""Any number of processes makes the updates of one process."""

import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.data.batch import Position
from nmt_core.training.distributed import World
from nmt_core.training.progress import Point
from tests.support import ranks
from tests.support.presets import PRESETS
from tests.support.projects import PROJECT

MEASURES_BATCHES = [name for name in PRESETS if PRESETS[name].get("block") == "article"]
DIVISIBLE = [name for name in PRESETS if name not in MEASURES_BATCHES]
LOSSES = [{"normalize_loss": "sentence"}, {"sampled_softmax": 4, "label_smoothing": 0.0}]


@pytest.fixture(scope="module")
def top(tmp_path_factory):
    top = tmp_path_factory.mktemp("distributed")
    ranks.write_texts(top)
    return top


def shares(training, size):
    """The rows that each process reads of a batch."""
    return [
        next(
            share
            for share in training.objective.batches.start_from(Position(), rank=rank, size=size)
            if len(share.pairs) > 2
        )
        for rank in range(size)
    ]


def read_whole(training):
    """A batch read by one process in one pass: the batch, its loss, the gradients."""
    [batch] = shares(training, 1)
    plain = training.forward_backward(batch, done=0.5)
    return batch, plain, [weight.grad.clone() for weight in training._weights]


@pytest.mark.parametrize("passes", [False, True])
@pytest.mark.parametrize(
    ("preset", "loss"),
    [*((name, {}) for name in DIVISIBLE), *((DIVISIBLE[0], loss) for loss in LOSSES)],
    ids=str,
)
def test_parts_add_up_to_the_batch(top, preset, loss, passes):
    """It compares loss and gradient of processes or passes, also with more of them than rows."""
    training = ranks.trainer(top / "one", preset=preset, **loss)
    batch, plain, expected = read_whole(training)

    for size in (3, len(batch.pairs) + 2):
        training.optimizer.zero_grad()
        training.accumulate = size if passes else 1
        parts = [batch] if passes else shares(training, size)

        assert_close(plain, sum(training._accumulate(part, 0.5) for part in parts))
        assert_close(expected, [weight.grad for weight in training._weights])


@pytest.mark.parametrize(("size", "passes"), [(1, 2), (1, 3), (2, 2)])
def test_passes_draw_like_several_processes(top, size, passes):
    """The same features are dropped, so a small machine trains like a large one, to the bit."""
    training = ranks.trainer(top / "one", dropout=0.5)
    losses = []
    for rank, share in enumerate(shares(training, size * passes)):
        training.world = World(rank, size * passes)
        losses.append(training.forward_backward(share, done=0.5))
    expected = [weight.grad.clone() for weight in training._weights]
    training.optimizer.zero_grad()
    training.accumulate = passes
    found = []
    for rank, share in enumerate(shares(training, size)):
        training.world = World(rank, size)
        found.append(training._accumulate(share, 0.5))

    assert_close(sum(losses), sum(found))
    assert_close(expected, [weight.grad for weight in training._weights])


class Memory:
    """Raise an out-of-memory error for a batch with more than a number of rows."""

    def __init__(self, training, rows):
        self.rows, self.passes, self._pass = rows, [], training.forward_backward

    def __call__(self, share, done, passes):
        loss = self._pass(share, done, passes)  # leaves gradients behind
        self.passes.append(passes.size)
        if len(share.batch.source) > self.rows:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return loss


def test_batch_beyond_memory_is_read_in_passes(top):
    """The gradient is the same; the number of passes is remembered and reported once."""
    training = ranks.trainer(top / "one")
    [batch] = shares(training, 1)
    training.forward_backward(batch, done=0.5)
    expected = [weight.grad.clone() for weight in training._weights]
    notes = []
    training.display.note = notes.append
    training.forward_backward = memory = Memory(training, rows=1)
    tried = []
    for _ in range(2):
        training.optimizer.zero_grad()
        memory.passes.clear()
        training._accumulate(batch, 0.5)
        tried.append({*memory.passes})

        assert_close(expected, [weight.grad for weight in training._weights])
    assert {1, 2} < tried[0]
    assert {max(tried[0])} == tried[1]
    [note] = notes
    assert "does not fit into memory" in note


@pytest.mark.parametrize("preset", MEASURES_BATCHES)
def test_model_with_batch_statistics_is_an_error(top, preset):
    ranks.trainer(top / "one", preset=preset)
    with pytest.raises(ConfigError, match="batch normalisation needs whole batches"):
        ranks.trainer(top / "one", World(0, 2), preset=preset)
    with pytest.raises(ConfigError, match=r"accumulate to 1"):
        ranks.trainer(top / "one", preset=preset, accumulate=2)


@pytest.fixture(scope="module")
def both(top):
    """The results of both processes."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.ranks", str(top), str(rank)],
            cwd=PROJECT,
            env=environment,
        )
        for rank in (0, 1)
    ]
    assert [process.wait() for process in running] == [0, 0]
    return {
        name: [files.read_json(top / name / f"{rank}.json") for rank in (0, 1)]
        for name in ranks.PATIENTLY | ranks.IMPATIENTLY
    }


def last(top, scenario):
    """Weights, optimizer and averages of the last checkpoint, and its other content."""
    *_, newest = sorted((top / scenario / "checkpoints0").glob("step-*.json"))
    return load_file(newest.with_suffix(".safetensors")), files.read_json(newest)["record"][
        "progress"
    ]


def records(folder):
    """The files of a training with digests of the tensors, without times."""
    found = {path.name: files.read_json(path)["record"] for path in folder.glob("*.json")}
    for record in found.values():
        for clock in ("seconds", "validated_seconds"):
            record["progress"].pop(clock, None)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ranks.SAME)
def test_two_processes_train_as_one(top, both, scenario):
    """All losses, validations and final weights are the same."""
    alone = ranks.trainer(top / f"{scenario}_alone", **ranks.SAME[scenario])
    alone.fit()
    tensors, progress = last(top, f"{scenario}_alone")
    found, found_progress = last(top, scenario)

    assert both[scenario][0]["losses"] == pytest.approx(alone.tracker.losses, rel=1e-9)
    assert len(alone.tracker.losses) == ranks.STEPS
    assert_close(found, tensors, rtol=1e-6, atol=1e-9)
    for point, expected in zip(found_progress["history"], progress["history"], strict=True):
        assert Point(**point).row() == pytest.approx(Point(**expected).row(), rel=1e-9)
    assert found_progress["position"] == progress["position"]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [*ranks.SAME, "whole"])
def test_both_processes_end_with_equal_weights(top, both, scenario):
    """They are equal to the bit after different starts; the second process writes nothing."""
    tensors, _ = last(top, scenario)
    second = load_file(top / scenario / "1.safetensors")

    assert second
    for name, weight in second.items():
        assert torch.equal(weight, tensors[f"model.{name}"])
    assert not (top / scenario / "checkpoints1").exists()
    assert both[scenario][1]["losses"] == []


@pytest.mark.slow
def test_resuming_is_continuing(top, both):
    """It includes dropout, and files that only rank 0 has."""
    resumed = both["cut_and_whole"][0]["losses"]

    assert 0 < len(resumed) < ranks.STEPS
    assert both["whole"][0]["losses"][-len(resumed) :] == resumed
    whole, cut = (records(top / name / "checkpoints0") for name in ("whole", "cut_and_whole"))
    assert whole == cut


@pytest.mark.slow
def test_one_process_continues_a_training_of_two(top, both):
    """A checkpoint does not depend on the number of processes."""
    whole = ranks.trainer(top / "transformer_alone_again")
    whole.fit()
    continued = ranks.trainer(top / "cut")
    continued.fit()
    losses = continued.tracker.losses

    assert 0 < len(losses) < ranks.STEPS
    assert losses == pytest.approx(whole.tracker.losses[-len(losses) :], rel=1e-9)


@pytest.mark.slow
def test_processes_wait_while_rank_0_works(both):
    for found in both["long"]:
        assert found["seconds"] > ranks.IMPATIENT
        assert found["sum"] == [1]


@pytest.mark.slow
@pytest.mark.parametrize(("how", "reason"), [("hung", "Timed out"), ("left", "onnection")])
def test_lost_process_ends_the_others(both, how, reason):
    error = both[how][0]["error"]

    assert error.startswith("rank 0 lost another process of the training (")
    assert reason in error
    assert len(error) < 160

"""A GPU computes the same as a CPU, and a training on it can be interrupted.

Without a GPU, the CPU replaces it, so that the code always runs. Tests that need a GPU are skipped
then; ``make gpu-check`` runs them.
"""

import os
import subprocess
import sys

import pytest
import torch
from torch.testing import assert_close

from nmt_core.base.compute import Compute, prepare_compute
from nmt_core.data.batch import collate
from nmt_core.search.beam import beam_search
from nmt_core.search.settings import BeamConfig
from nmt_core.text.vocabulary import PAD
from nmt_core.training.loss import batch_loss
from tests.support import devices
from tests.support.presets import SHAPES, tiny_config, tiny_model
from tests.support.projects import PROJECT
from tests.support.torch_settings import torchs_own_settings
from tests.support.trainings import STEPS, Log, PowerCut, trainer, untimed, weights

PAIRS = [([4, 5, 6, 7], [4, 5]), ([8], [6, 4, 5, 5]), ([4, 4, 5], [7])]
DEVICE = devices.find()
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CLOSE = {"float32": {"rtol": 1e-4, "atol": 1e-5}, "bfloat16": {"rtol": 0.1, "atol": 0.05}}
"""Tolerance of losses of a few nats: order of sums in float32, eight bits in bfloat16."""

pytestmark = pytest.mark.slow
needs_gpu = pytest.mark.skipif(DEVICE.type != "cuda", reason="there is no GPU here")
every_precision = pytest.mark.parametrize("precision", PRECISIONS)
every_model = pytest.mark.parametrize("name", SHAPES)
one_of_each_family = pytest.mark.parametrize("name", ["transformer", "convs2s", "rnn_attention"])


@pytest.fixture(autouse=True)
def _prepared():
    """Precisions of trainings."""
    with torchs_own_settings():
        prepare_compute(DEVICE.type)
        yield


def learning_model(name):
    """A model in training mode, which cuDNN needs for backward recurrences, but without dropout."""
    config = tiny_config(name)
    rates = ("dropout", "attention_dropout", "embedding_dropout")
    return tiny_model(name, **{rate: 0.0 for rate in rates if hasattr(config, rate)}).train()


def loss_and_gradients(model, batch, compute):
    model.zero_grad()
    with compute.autocast():
        loss, _ = batch_loss(model, batch.to(compute.device), label_smoothing=0.1, per="token")
    compute.backward(loss)
    gradients = [w.grad.cpu() for w in model.parameters() if w.grad is not None]
    return loss.item(), gradients


@every_model
def test_loss_and_gradients_equal_the_cpus(name):
    batch, float32 = collate(PAIRS), PRECISIONS["float32"]
    expected = loss_and_gradients(
        learning_model(name), batch, Compute(torch.device("cpu"), float32)
    )
    model = learning_model(name).to(DEVICE)
    found = loss_and_gradients(model, batch, Compute(DEVICE, float32))

    assert_close(found, expected, **CLOSE["float32"])
    if not devices.can_round(DEVICE, name):
        return
    rounded, _ = loss_and_gradients(model, batch, Compute(DEVICE, PRECISIONS["bfloat16"]))
    assert_close(rounded, expected[0], **CLOSE["bfloat16"])


@one_of_each_family
def test_beams_equal_the_cpus(name):
    source = collate(PAIRS).source
    config = BeamConfig(beam_size=3)
    model = tiny_model(name).eval()
    expected = beam_search(model, source, source == PAD, config)
    there = source.to(DEVICE)
    found = beam_search(model.to(DEVICE), there, there == PAD, config)

    for (mine, *_), (others, *_) in zip(found, expected, strict=True):
        assert mine.tokens == others.tokens
        assert mine.score == pytest.approx(others.score, rel=1e-4)


@one_of_each_family
@every_precision
def test_resuming_is_continuing(dataset, tmp_path, name, precision):
    if precision == "bfloat16" and not devices.can_round(DEVICE, name):
        pytest.skip("this CPU may not run LSTM layers in bfloat16")
    compute = Compute(DEVICE, PRECISIONS[precision])
    whole = trainer(dataset, tmp_path / "whole", Log(), name=name, compute=compute)
    whole.fit()
    with pytest.raises(PowerCut):
        trainer(dataset, tmp_path / "cut", Log(7), name=name, compute=compute).fit()
    again = trainer(dataset, tmp_path / "cut", Log(), name=name, compute=compute)
    again.fit()

    assert again.progress.step == STEPS
    assert weights(whole.model) == weights(again.model)
    assert untimed(whole.progress) == untimed(again.progress)


@needs_gpu
@pytest.mark.parametrize("name", ["transformer", "rnn_attention"])  # positions without a limit
def test_batch_beyond_memory_is_split(tmp_path, name):
    """With half of the memory of an update, the result is the same except for rounding."""
    compute = Compute(DEVICE, torch.float32)
    large, notes = devices.make_large_training(tmp_path / "large", name, compute)
    expected, most_bytes = devices.update_once(large)
    assert not notes

    scarce, notes = devices.make_large_training(tmp_path / "scarce", name, compute)
    with devices.at_most(most_bytes * 0.6):
        found, _ = devices.update_once(scarce)
    assert len(notes) == 1
    for rounded in [each for each in found if each.endswith("key.bias")]:
        del found[rounded], expected[rounded]  # without a gradient, AdamW still makes a step
    assert_close(found, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.skipif(torch.cuda.device_count() == 1, reason="there is but one GPU here")
def test_two_processes_train_as_one(tmp_path):
    """They use NCCL with GPUs, and Gloo without."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", "-m", "tests.support.devices", str(tmp_path)]
    subprocess.run(command, cwd=PROJECT, env=environment, check=True)
    subprocess.run(
        [sys.executable, "-m", "tests.support.devices", str(tmp_path)], cwd=PROJECT, check=True
    )

    alone, together = (devices.read_weights(tmp_path, size) for size in (1, 2))
    assert_close(together, alone, rtol=1e-6, atol=1e-7)

"""The benchmark of GPUs, as far as a processor can run it."""

from functools import partial

import pytest
import torch
from typer.testing import CliRunner

from benchmarks import gpu
from benchmarks.training import loops
from nmt_core.base.compute import Compute
from nmt_core.data.batch import collate
from tests.support.presets import tiny_model
from tests.support.trainings import PROCESSOR


@pytest.mark.slow
def test_operations_are_those_of_the_formula():
    """Two for each weight and token there, four back; and those of attention, by the lengths."""
    model = gpu.build_preset("transformer", vocabulary=100)
    batches = gpu.make_batches(500, vocabulary=100)[:3]
    [width] = {norm.weight.numel() for norm in model.encoder_norm.modules()}
    of_target = sum(w.numel() for w in model.decoder.parameters() if w.dim() == 2)
    of_source = sum(w.numel() for w in model.encoder.parameters() if w.dim() == 2)
    cross = len(model.decoder) * 2 * width**2  # keys and values are made of the source
    expected = 0
    for batch in batches:
        rows, source = batch.source.shape
        target = batch.target_input.size(1)
        products = rows * source * (of_source + cross) + rows * target * (of_target - cross)
        products += batch.target_tokens * 100 * width
        scores = len(model.encoder) * source**2 + len(model.decoder) * (target**2 + target * source)
        expected += 6 * products + 12 * rows * scores * width

    found = gpu.count_operations(model, batches, PROCESSOR)
    tokens = sum(batch.target_tokens for batch in batches)
    assert found * tokens == pytest.approx(expected)


@pytest.mark.slow
def test_a_model_is_measured():
    model = gpu.build_preset("transformer", vocabulary=50)
    batches = gpu.make_batches(100, vocabulary=50)[:3]
    before = model.decoder_norm.weight.clone()
    speed = gpu.measure(model, batches, PROCESSOR, steps=2)

    assert speed.tokens_per_second > 0
    assert speed.operations_per_second > speed.tokens_per_second
    assert not torch.equal(before, model.decoder_norm.weight)
    assert gpu.measure_products(PROCESSOR, size=32, times=2) > 0


def test_products_are_of_numbers_that_differ(monkeypatch):
    """Those of equal ones need less power, so a GPU multiplies them faster."""
    multiplied, plain = [], torch.mm
    monkeypatch.setattr(
        torch, "mm", lambda *pair, out: multiplied.extend(pair) or plain(*pair, out=out)
    )
    gpu.measure_products(PROCESSOR, size=32, times=2)

    assert len(multiplied) == 4
    assert all(len(numbers.unique()) > 500 for numbers in multiplied)


def test_gradients_are_computed_as_those_of_trainings(monkeypatch):
    asked, plain = [], Compute.backward
    monkeypatch.setattr(
        Compute, "backward", lambda own, loss: asked.append(own) or plain(own, loss)
    )
    model = tiny_model("transformer")
    batch = collate([([4, 5, 6], [5, 4])])
    loops.add_gradients(partial(loops.compute_loss, model), batch, PROCESSOR)

    assert asked == [PROCESSOR]
    assert all(weight.grad is not None for weight in model.decoder.parameters())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_a_sentence_says_so():
    done = CliRunner().invoke(gpu.app, [])

    assert done.exit_code == 2
    assert "there is no GPU here" in done.output

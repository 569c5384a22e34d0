"""The benchmark of GPUs, as far as a processor can run it."""

import pytest
import torch
from typer.testing import CliRunner

from benchmarks import gpu
from tests.support.trainings import PROCESSOR


@pytest.mark.slow
def test_operations_match_the_formula():
    """Two per weight and token forwards, four backwards; attention by the lengths."""
    model = gpu.build_preset("transformer", vocabulary=100)
    batches = gpu.make_batches(500, vocabulary=100)[:3]
    [width] = {norm.weight.numel() for norm in model.encoder_norm.modules()}
    of_target = sum(w.numel() for w in model.decoder.parameters() if w.dim() == 2)
    of_source = sum(w.numel() for w in model.encoder.parameters() if w.dim() == 2)
    cross = len(model.decoder) * 2 * width**2  # keys and values are computed from the source
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
    tokens, operations, _ = gpu.measure(model, batches, PROCESSOR, steps=2)

    assert operations > tokens > 0
    assert not torch.equal(before, model.decoder_norm.weight)
    assert gpu.measure_products(PROCESSOR, size=32, times=2) > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_missing_gpu_is_reported():
    done = CliRunner().invoke(gpu.app, [])

    assert done.exit_code == 2
    assert "no GPU" in done.output

"""The benchmark of GPUs, as far as a processor can run it."""

from functools import partial
from itertools import cycle

import pytest
import torch
from torch.testing import assert_close
from typer import BadParameter

from benchmarks import gpu
from benchmarks.training import compute_loss, make_batches, train
from benchmarks.variants import VARIANTS, pad_shape
from tests.support.presets import TARGET_SIZE, tiny_model
from tests.support.trainings import PROCESSOR


@pytest.mark.slow
def test_operations_match_the_formula():
    """Two per weight and token forwards, four backwards; attention by the lengths."""
    model = gpu.build_preset("transformer", vocabulary=100)
    batches = make_batches(gpu.draw_lengths(), 500, vocabulary=100)[:3]
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
    batches = make_batches(gpu.draw_lengths()[:50], 100, vocabulary=50)
    before = model.decoder_norm.weight.clone()
    updates = train(model, partial(compute_loss, model), cycle(batches), PROCESSOR)

    assert min(gpu.measure(updates, 1, 2, PROCESSOR.device)) > 0
    assert not torch.equal(before, model.decoder_norm.weight)
    assert gpu.measure_products(PROCESSOR, size=32, times=2) > 0


def loss_and_gradients(loss_of, model, batch):
    model.zero_grad()
    loss = loss_of(batch)
    loss.backward()
    return loss.detach(), [weight.grad.clone() for weight in model.parameters()]


@pytest.mark.parametrize("name", [name for name, v in VARIANTS.items() if v.options is None])
def test_variants_have_the_same_loss_and_gradients(name):
    """Compiled variants would take minutes on a CPU."""
    variant, model = VARIANTS[name], tiny_model("transformer_base", dropout=0.0).train()
    [batch, *_] = make_batches(gpu.draw_lengths()[:40], 200, TARGET_SIZE, variant.multiple)
    expected = loss_and_gradients(partial(compute_loss, model), model, batch)
    padded = pad_shape(batch, variant.multiple, 200)
    found = loss_and_gradients(variant.build(model), model, padded)

    assert_close(found, expected, rtol=1e-4, atol=1e-6)
    assert padded.target_tokens == batch.target_tokens
    assert padded.source.size(1) % variant.multiple == 0
    assert padded.target_input.size(1) % variant.multiple == 0


def test_slow_kernels_are_listed():
    table = gpu.list_kernels(lambda: torch.ones(8, 8) @ torch.ones(8, 8), PROCESSOR.device)

    assert "aten::mm" in table


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_missing_gpu_is_reported():
    with pytest.raises(BadParameter, match="no GPU"):
        gpu.main()

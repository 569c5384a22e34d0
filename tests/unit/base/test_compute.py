from contextlib import nullcontext
from typing import ClassVar

import pytest
import torch

from nmt_core.base import compute as module
from nmt_core.base.compute import Compute, cpu_has_bfloat16, prepare_compute
from nmt_core.base.errors import ConfigError
from tests.support.torch_settings import torchs_own_settings

WARN, ERROR = 1, 2
"""Settings of PyTorch for operations without a deterministic version."""


@pytest.fixture(autouse=True)
def settings():
    """Restore torch's settings."""
    with torchs_own_settings():
        yield


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.parametrize("fast", [True, False])
def test_auto_takes_what_the_processor_does_fast(no_gpu, monkeypatch, fast):
    monkeypatch.setattr(module, "cpu_has_bfloat16", lambda: fast)
    compute = prepare_compute()

    assert compute.device == torch.device("cpu")
    assert compute.dtype == (torch.bfloat16 if fast else torch.float32)


@pytest.mark.parametrize("supported", [True, False])
@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_lstm_in_unsupported_bfloat16_is_refused(monkeypatch, layer, dtype, supported):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: supported)
    refused = layer is torch.nn.LSTM and dtype == torch.bfloat16 and not supported
    with pytest.raises(ConfigError, match="to float32") if refused else nullcontext():
        Compute(torch.device("cpu"), dtype).check_layers(layer(2, 2))


def test_auto_takes_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    monkeypatch.setattr(module, "probe", lambda device: device)

    assert prepare_compute().device.type == "cuda"
    assert prepare_compute().dtype == torch.bfloat16
    assert prepare_compute("cpu").device.type == "cpu"


def test_a_gpu_that_is_not_there_is_refused(no_gpu):
    with pytest.raises(ConfigError, match=r"there is no device 'cuda' here; use auto or cpu"):
        prepare_compute("cuda")


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_products_have_the_configured_type(no_gpu, name):
    compute = prepare_compute(precision=name)
    layer = torch.nn.Linear(2, 2)
    with compute.autocast():
        product = layer(torch.ones(1, 2))

    assert product.dtype == getattr(torch, name)
    assert layer.weight.dtype == torch.float32


def test_threads_are_set(no_gpu):
    prepare_compute(threads=1)
    assert torch.get_num_threads() == 1

    prepare_compute(threads=0)
    assert torch.get_num_threads() == 1


def test_algorithms_are_deterministic_and_float32_is_float32(no_gpu):
    prepare_compute()

    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cuda.matmul.allow_tf32


class Watched(torch.autograd.Function):
    """Passes a number on, and records how deterministic the backward pass has to be."""

    seen: ClassVar = []

    @staticmethod
    def forward(ctx, number):
        del ctx
        return number.clone()

    @staticmethod
    def backward(ctx, gradient):
        del ctx
        Watched.seen.append(torch.get_deterministic_debug_mode())
        return gradient


@pytest.mark.parametrize(("device", "mode"), [("cpu", WARN), ("cuda", ERROR)])
def test_gradients_on_a_gpu_are_deterministic_or_refused(no_gpu, device, mode):
    prepare_compute()
    number = torch.ones((), requires_grad=True)
    Watched.seen.clear()

    Compute(torch.device(device), torch.float32).backward(Watched.apply(number) * 3)

    assert Watched.seen == [mode]
    assert number.grad == 3
    assert torch.get_deterministic_debug_mode() == WARN


@pytest.mark.parametrize(
    ("capabilities", "fast"),
    [
        ({}, False),
        ({"avx2": True, "avx512_bf16": False}, False),
        ({"avx512_bf16": True}, True),
        ({"amx_bf16": True}, True),
        ({"arm_bf16": True}, True),
    ],
)
def test_bfloat16_is_known_by_the_processors_features(monkeypatch, capabilities, fast):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)

    assert cpu_has_bfloat16() == fast


def test_a_seed_decides_torchs_draws():
    compute = Compute(torch.device("cpu"), torch.float32)
    torch.manual_seed(7)
    wanted = torch.rand(3)
    torch.manual_seed(8)
    compute.seed(7)
    assert torch.equal(torch.rand(3), wanted)

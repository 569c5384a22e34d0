"""Choose the device, precision and threads of all computation."""

import ctypes
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt_core.base.errors import ConfigError, NmtError, is_out_of_memory

MALLOPT_TRIM_THRESHOLD, MALLOPT_MMAP_MAX = -1, -4
"""Numbers of these options of ``mallopt`` in ``malloc.h``."""

TRIM_THRESHOLD_BYTES = 2**31 - 1
"""Freed memory that the process may keep; the largest value that ``mallopt`` takes."""


@dataclass(frozen=True)
class Compute:
    """A device and the type of its matrix products."""

    device: torch.device
    dtype: torch.dtype

    def autocast(self) -> AbstractContextManager[object]:
        """Return a context in which matrix products have the configured type."""
        if self.dtype == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.dtype)

    def backward(self, loss: Tensor) -> None:
        """Compute the gradients of a loss, bitwise reproducibly.

        On a GPU, PyTorch's fused attention adds in a fixed order only if nondeterministic
        operations raise an error; a warning is not enough.
        """
        if self.device.type != "cuda":
            loss.backward()
            return
        previous_mode = torch.get_deterministic_debug_mode()
        torch.set_deterministic_debug_mode("error")
        try:
            loss.backward()
        finally:
            torch.set_deterministic_debug_mode(previous_mode)

    def check_layers(self, model: nn.Module) -> None:
        """Raise a ConfigError if this CPU cannot run LSTM layers of a model in bfloat16."""
        if self.device.type != "cpu" or self.dtype != torch.bfloat16:
            return
        supported = torch.ops.mkldnn._is_mkldnn_bf16_supported()  # noqa: SLF001
        if not supported and any(isinstance(module, nn.LSTM) for module in model.modules()):
            raise ConfigError(
                "this CPU cannot run LSTM layers in bfloat16, because it lacks AVX-512; set the "
                "precision to float32 (train.compute.precision=float32)"
            )

    def seed(self, seed: int) -> None:
        """Seed the random numbers of PyTorch on this device and on the CPU.

        On a CPU, ``torch.manual_seed`` would also queue the seed for missing devices, each with a
        stack trace. This takes as long as an update of a tiny model.
        """
        if self.device.type == "cpu":
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)


def prepare_compute(device: str = "auto", *, precision: str = "auto", threads: int = 0) -> Compute:
    """Set threads, memory and determinism for this process; return its device and precision.

    ``precision`` is the torch type of matrix products; ``auto`` takes bfloat16 if the hardware
    multiplies it faster than float32. 0 ``threads`` keep PyTorch's default.

    Raises:
        ConfigError: if the device is missing.
    """
    torch_device = find_device(device)
    set_threads(threads)
    keep_freed_memory()
    # not use_deterministic_algorithms, which imports torch's compiler for seconds
    torch.set_deterministic_debug_mode("warn")
    # otherwise convolutions and RNNs on a GPU compute "float32" with a mantissa of ten bits
    torch.backends.cudnn.allow_tf32 = False
    # cuDNN's attention plans again for every batch shape, ten times as long as the update
    torch.backends.cuda.enable_cudnn_sdp(False)
    # filling new memory with NaN costs time and changes no result
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    if precision == "auto":
        fast = torch.cuda.is_bf16_supported() if torch_device.type == "cuda" else cpu_has_bfloat16()
        precision = "bfloat16" if fast else "float32"
    return Compute(torch_device, getattr(torch, precision))


def find_device(name: str) -> torch.device:
    """Return a torch device by name; ``auto`` takes a GPU if there is one.

    Raises:
        ConfigError: if the device is missing.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return probe(torch.device(name))
    except (RuntimeError, AssertionError):
        raise ConfigError(f"there is no device {name!r} here; use auto or cpu") from None


def probe(device: torch.device) -> torch.device:
    """Return a device with its number; raise a RuntimeError if it cannot compute."""
    torch.zeros((), device=device).item()
    return torch.empty(0, device=device).device


def set_threads(count: int | None) -> None:
    """Set the number of CPU threads; None and 0 keep the current number."""
    if count:
        torch.set_num_threads(count)


def keep_freed_memory() -> None:
    """Make the GNU C library keep freed memory for the next tensors.

    By default, glibc returns the memory of a large tensor to the system at once. The page faults
    of the next tensor cost a tenth of the training time on a CPU.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.mallopt(MALLOPT_MMAP_MAX, 0)
        library.mallopt(MALLOPT_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES)


def cpu_has_bfloat16() -> bool:
    """Return whether this CPU multiplies bfloat16 in hardware (AVX512_BF16, AMX or SVE)."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "arm_bf16"))


@contextmanager
def explain_out_of_memory(where: str, remedy: str) -> Iterator[None]:
    """Turn an out-of-memory error in the block into a message with the settings to lower.

    Raises:
        NmtError: if memory ran out.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise NmtError(
            f"memory ran out {where}; the last checkpoint is kept: lower {remedy}"
        ) from None

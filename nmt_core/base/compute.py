"""Device, precision and threads of computation, decided here alone."""

import ctypes
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from nmt_core.base.errors import ConfigError, NmtError, is_out_of_memory

MALLOPT_TRIM_THRESHOLD, MALLOPT_MMAP_MAX = -1, -4
"""The option, by its number in ``malloc.h``."""

MOST_BYTES_KEPT = 2**31 - 1


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
        """Compute the gradients of a loss, which are the same bits each time.

        A warning is not enough on a GPU: there PyTorch's fused attention adds in a fixed order only
        where operations without a deterministic way are errors.
        """
        if self.device.type != "cuda":
            loss.backward()
            return
        before = torch.get_deterministic_debug_mode()
        torch.set_deterministic_debug_mode("error")
        try:
            loss.backward()
        finally:
            torch.set_deterministic_debug_mode(before)

    def seed(self, seed: int) -> None:
        """Seed what PyTorch draws on this device, and on the processor.

        ``torch.manual_seed`` notes the seed for devices that are not there, too, each with the
        stack of calls, which takes as long as an update of a tiny model.
        """
        if self.device.type == "cpu":
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)


def prepare_compute(device: str = "auto", *, precision: str = "auto", threads: int = 0) -> Compute:
    """Set threads, memory and determinism for this process, and return where to compute.

    The precision is that of matrix products, as torch names it; ``auto`` takes bfloat16 where the
    hardware multiplies it faster, otherwise float32.

    Raises:
        ConfigError: if the device is not there.
    """
    torch_device = find_device(device)
    set_threads(threads)
    keep_freed_memory()
    # as use_deterministic_algorithms, which also imports torch's compiler, for seconds
    torch.set_deterministic_debug_mode("warn")
    # or what a GPU convolves and recurs in "float32" would have ten bits
    torch.backends.cudnn.allow_tf32 = False
    # it plans anew for every shape of a batch, which takes ten times as long as the update
    torch.backends.cuda.enable_cudnn_sdp(False)
    # filling new memory with NaN costs time and changes no result
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    if precision == "auto":
        fast = torch.cuda.is_bf16_supported() if torch_device.type == "cuda" else cpu_has_bfloat16()
        precision = "bfloat16" if fast else "float32"
    return Compute(torch_device, getattr(torch, precision))


def find_device(name: str) -> torch.device:
    """Return the device of that name, as torch names it; ``auto`` takes a GPU if there is one.

    Raises:
        ConfigError: if it is not there.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return probe(torch.device(name))
    except (RuntimeError, AssertionError):
        raise ConfigError(f"there is no device {name!r} here; use auto or cpu") from None


def probe(device: torch.device) -> torch.device:
    """Return a device with its number, if it computes: some can be named and do not."""
    torch.zeros((), device=device).item()
    return torch.empty(0, device=device).device


def set_threads(count: int | None) -> None:
    """Set the number of processor threads; None and 0 leave it as it is."""
    if count:
        torch.set_num_threads(count)


def keep_freed_memory() -> None:
    """Make GNU's C library keep freed memory for the next tensors.

    Otherwise it gives every large tensor back to the system at once, and the next one of that size
    costs a fault for each page of 4 KiB: a tenth of the time of training on a processor.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.mallopt(MALLOPT_MMAP_MAX, 0)
        library.mallopt(MALLOPT_TRIM_THRESHOLD, MOST_BYTES_KEPT)


def cpu_has_bfloat16() -> bool:
    """Tell whether this processor multiplies bfloat16 in hardware (AVX512_BF16, AMX or SVE)."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "arm_bf16"))


@contextmanager
def explain_out_of_memory(where: str, lower: str) -> Iterator[None]:
    """Report memory that ran out in one sentence: the place, and the setting to lower.

    Raises:
        NmtError: if memory ran out.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise NmtError(
            f"memory ran out {where}; the last checkpoint is kept: lower {lower}"
        ) from None

"""Where and how precisely to compute; no model file decides it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch

from nmt_core.errors import ConfigError, TrainingError, is_out_of_memory
from nmt_core.training.settings import ComputeConfig


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


def prepare(config: ComputeConfig) -> Compute:
    """Set threads and determinism for this process, and return where to compute.

    Raises:
        ConfigError: if a GPU is asked for and there is none.
    """
    gpu = torch.cuda.is_available()
    if config.device == "cuda" and not gpu:
        raise ConfigError("device is 'cuda' but no GPU is visible here; set it to 'auto'")
    if config.threads:
        torch.set_num_threads(config.threads)
    # as use_deterministic_algorithms, which also imports torch's compiler, for seconds
    torch.set_deterministic_debug_mode("warn")
    # filling new memory with NaN costs time and changes no result
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    device = torch.device("cuda" if gpu and config.device != "cpu" else "cpu")
    if config.precision == "auto":
        fast = torch.cuda.is_bf16_supported() if device.type == "cuda" else cpu_has_bfloat16()
        return Compute(device, torch.bfloat16 if fast else torch.float32)
    return Compute(device, getattr(torch, config.precision))


def cpu_has_bfloat16() -> bool:
    """Tell whether this processor multiplies bfloat16 in hardware (AVX512_BF16, AMX or SVE)."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "arm_bf16"))


@contextmanager
def memory_told(place: str, lower: str) -> Iterator[None]:
    """Say in a sentence that memory ran out, where, and what to lower.

    Raises:
        TrainingError: if it did.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(
            f"memory ran out {place}; the last checkpoint is kept: lower {lower}"
        ) from None

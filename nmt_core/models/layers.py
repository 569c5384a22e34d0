"""Dense layers that are fast in a search, and dropout from random bytes.

A search multiplies few rows at a time by all weights of the decoder, so memory bandwidth limits it.
Weights stored as inputs by outputs are read in order, up to twice as fast as torch's outputs by
inputs. Some processors multiply the rows of a single beam much faster by large weights that oneDNN
has packed (docs/performance.md).

Dropout (Srivastava et al. 2014) takes eight decisions from one 64-bit draw. The probability is
rounded to a multiple of 1/256 between 1/256 and 255/256, and the scale uses the rounded value, so
the expectation is exact. On a CPU this costs a fifth of a draw per element.
"""

from collections.abc import Callable
from functools import partial
from typing import Generic, Self, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

T = TypeVar("T")

PACKED_ROWS, MIN_PACKED_WEIGHTS = range(3, 17), 2**18
"""Numbers of rows, and minimum number of weights, for which oneDNN is faster than BLAS."""


# Private functions of torch's compiler, the only access to oneDNN's packed weights.
PACK_WEIGHT = torch.ops.mkldnn._reorder_linear_weight  # noqa: SLF001
MULTIPLY_PACKED = torch.ops.mkldnn._linear_pointwise  # noqa: SLF001


class CachedValue(nn.Module, Generic[T]):
    """A value computed from weights, cached until a weight is replaced, written to or trained.

    Autograd counts writes to a tensor, except those of fused optimizers. So the cache is also
    cleared when its model switches between training and evaluation mode.
    """

    def __init__(self, compute: Callable[..., T]) -> None:
        super().__init__()
        self._compute = compute
        self._kept: tuple[list[int], T] | None = None

    def get(self, *weights: Tensor) -> T:
        """Return the value for these weights."""
        state = [number for weight in weights for number in (weight.data_ptr(), weight._version)]  # noqa: SLF001
        cached = self._kept  # read once, because other threads may replace it
        if cached is None or cached[0] != state:
            with torch.no_grad():
                cached = self._kept = state, self._compute(*weights)
        return cached[1]

    @override
    def train(self, mode: bool = True) -> Self:
        self._kept = None
        return super().train(mode)

    def __deepcopy__(self, _: object) -> "CachedValue[T]":
        """Return an empty cache, because a copied model has other weights."""
        return CachedValue(self._compute)


def is_search(module: nn.Module) -> bool:
    """Return whether a module is in evaluation mode and gradients are off."""
    return not (module.training or torch.is_grad_enabled())


Product = Callable[[Tensor, Tensor | None], Tensor]
"""Multiplies rows by fixed weights and adds a bias: ``product(x, bias)``."""


def build_product(weight: Float[Tensor, "O I"]) -> Product:
    """Return the product by these weights, copied into the fastest memory layout."""
    packable = weight.dtype == torch.float32 and weight.numel() >= MIN_PACKED_WEIGHTS
    packed = None
    if packable and weight.device.type == "cpu" and torch.backends.mkldnn.enabled:
        packed = PACK_WEIGHT(weight.detach(), PACKED_ROWS[-1])
    return partial(_multiply, weight.t().contiguous().t(), packed)


def _multiply(
    weight: Tensor, packed: Tensor | None, x: Float[Tensor, "*N I"], bias: Tensor | None
) -> Float[Tensor, "*N O"]:
    use_packed = packed is not None and x.numel() // x.size(-1) in PACKED_ROWS
    if use_packed and not torch.is_autocast_enabled("cpu"):
        product: Tensor = MULTIPLY_PACKED(x, packed, bias, "none", [], "")
        return product
    return F.linear(x, weight, bias)


class Dense(nn.Linear):
    """A ``torch.nn.Linear`` that is faster in a search."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self._product = CachedValue(build_product)

    @override
    def forward(self, x: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        """Return ``x @ weight.T + bias``."""
        if is_search(self):
            return self._product.get(self.weight)(x, self.bias)
        return F.linear(x, self.weight, self.bias)


_LEVELS = 256
_BYTES = 8


def dropout(
    x: Tensor,
    probability: float,
    *,
    training: bool,
    variational: bool = False,
    whole_batch: bool = False,
) -> Tensor:
    """Return ``x`` with some elements set to 0 and the others scaled up.

    Args:
        x: any tensor; if ``variational`` or ``whole_batch``, (B, T, D).
        probability: probability of dropping an element.
        training: return ``x`` unchanged if this is false.
        variational: draw one mask per sentence for all positions (Gal and Ghahramani 2016), not
            one per position.
        whole_batch: draw one mask for all positions of all sentences (van der Goten 2018).
    """
    if not training or probability == 0:
        return x
    level = min(max(round(probability * _LEVELS), 1), _LEVELS - 1)
    shape: tuple[int, ...] = x.shape
    if whole_batch or variational:
        shape = (1 if whole_batch else x.size(0), 1, x.size(2))
    keep = _keep(shape, level, x.device).to(x.dtype)
    return x * keep.mul_(_LEVELS / (_LEVELS - level))


def _keep(shape: tuple[int, ...], level: int, device: torch.device) -> Tensor:
    count = torch.Size(shape).numel()
    words = torch.empty(-(-count // _BYTES), dtype=torch.int64, device=device)
    words.random_(torch.iinfo(torch.int64).min, None)
    return (words.view(torch.uint8)[:count] >= level).view(shape)


class Dropout(nn.Module):
    """Apply ``dropout`` with fixed settings in training mode."""

    def __init__(
        self, probability: float, *, variational: bool = False, whole_batch: bool = False
    ) -> None:
        super().__init__()
        self.probability = probability
        self.variational, self.whole_batch = variational, whole_batch

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x`` after dropout."""
        return dropout(
            x,
            self.probability,
            training=self.training,
            variational=self.variational,
            whole_batch=self.whole_batch,
        )

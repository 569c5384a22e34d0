"""Dense layers that search fast, and dropout from random bytes.

A search multiplies few rows at a time by all weights of the decoder, and so mostly waits for them
from memory. Inputs by outputs, they are read in order; outputs by inputs, as torch keeps them, that
takes up to twice as long; and some processors multiply the rows of a single beam by large ones much
faster once oneDNN has laid them out (docs/performance.md).

Dropout (Srivastava et al. 2014) cuts eight decisions from one 64-bit draw. The probability is
rounded to 1/256, though never to 0 or 1, and the survivors are scaled by what was really kept,
which leaves the mean exact. On a CPU this costs a fifth of a draw per element.
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


FEW_ROWS, LARGE = range(3, 17), 2**18
"""Rows and weights that oneDNN multiplies faster than BLAS does."""


# What torch's compiler calls: there is no other way to oneDNN's products of packed weights.
PACK = torch.ops.mkldnn._reorder_linear_weight  # noqa: SLF001
MULTIPLY_PACKED = torch.ops.mkldnn._linear_pointwise  # noqa: SLF001


class Derived(nn.Module, Generic[T]):
    """Values computed from weights, kept until one of them is replaced, written to or trained.

    Autograd counts what is written to a tensor, but not what a fused optimizer writes; so all is
    forgotten, too, when the model that holds this begins to learn or to predict.
    """

    def __init__(self, compute: Callable[..., T]) -> None:
        super().__init__()
        self._compute = compute
        self._kept: tuple[list[int], T] | None = None

    def of(self, *weights: Tensor) -> T:
        """Return the value for these weights."""
        state = [number for weight in weights for number in (weight.data_ptr(), weight._version)]  # noqa: SLF001
        cached = self._kept  # read once, for other threads may replace it
        if cached is None or cached[0] != state:
            with torch.no_grad():
                cached = self._kept = state, self._compute(*weights)
        return cached[1]

    @override
    def train(self, mode: bool = True) -> Self:
        self._kept = None
        return super().train(mode)

    def __deepcopy__(self, _: object) -> "Derived[T]":
        """Return the same for a copy of the weights."""
        return Derived(self._compute)


def is_search(module: nn.Module) -> bool:
    """Tell whether a module only predicts, without gradients."""
    return not (module.training or torch.is_grad_enabled())


Product = Callable[[Tensor, Tensor | None], Tensor]
"""The product of some rows by weights that do not change, with a bias added."""


def build_product(weight: Float[Tensor, "O I"]) -> Product:
    """Return the product by these weights, laid out to be read in order."""
    packable = weight.dtype == torch.float32 and weight.numel() >= LARGE
    packed = None
    if packable and weight.device.type == "cpu" and torch.backends.mkldnn.enabled:
        packed = PACK(weight.detach(), FEW_ROWS[-1])
    return partial(_multiply, weight.t().contiguous().t(), packed)


def _multiply(
    weight: Tensor, packed: Tensor | None, x: Float[Tensor, "*N I"], bias: Tensor | None
) -> Float[Tensor, "*N O"]:
    few = packed is not None and x.numel() // x.size(-1) in FEW_ROWS
    if few and not torch.is_autocast_enabled("cpu"):
        product: Tensor = MULTIPLY_PACKED(x, packed, bias, "none", [], "")
        return product
    return F.linear(x, weight, bias)


class Dense(nn.Linear):
    """A dense layer that searches fast; it is trained as any other."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self._product = Derived(build_product)

    @override
    def forward(self, x: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        """Return the product, with the bias added."""
        if is_search(self):
            return self._product.of(self.weight)(x, self.bias)
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
    """Return ``x`` with elements dropped and the others scaled up.

    Args:
        x: any tensor; if ``variational`` or ``whole_batch``, (B, T, D).
        probability: of an element being dropped.
        training: nothing is dropped otherwise.
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
    """Applies ``dropout`` in training, with the same settings each time."""

    def __init__(
        self, probability: float, *, variational: bool = False, whole_batch: bool = False
    ) -> None:
        super().__init__()
        self.probability = probability
        self.variational, self.whole_batch = variational, whole_batch

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x`` with elements dropped."""
        return dropout(
            x,
            self.probability,
            training=self.training,
            variational=self.variational,
            whole_batch=self.whole_batch,
        )

"""Optimizers, the update of an optimizer, and moving averages of the weights."""

import inspect
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer
from typing_extensions import override

from nmt_core.base.compute import Compute
from nmt_core.base.errors import NmtError
from nmt_core.models.embedding import OutputLayer
from nmt_core.training.settings import AdamW, Muon, NesterovSgd

OptimizerT = TypeVar("OptimizerT", bound=Optimizer)

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the polynomial that Jordan et al. 2024 iterate; it is steepest at 0."""

ROOT_MEAN_SQUARE = 0.2
"""Of an update by AdamW at rate 1 (Liu et al. 2025, section 2.2)."""


def build_optimizer(model: nn.Module, config: AdamW | Muon | NesterovSgd) -> Optimizer:
    """Return an optimizer over the weights that learn; its rate is set at every step."""
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    if isinstance(config, NesterovSgd):
        return _Sgd(learning, lr=0.0, momentum=config.momentum, nesterov=True, fused=True)
    matrices = [weight for weight in learning if weight.dim() > 1]
    vectors = [weight for weight in learning if weight.dim() <= 1]
    groups: list[dict[str, Any]] = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    settings: dict[str, Any] = {
        "lr": 0.0,
        "betas": (config.beta1, config.beta2),
        "eps": config.epsilon,
        "fused": True,
    }
    if isinstance(config, Muon):
        return _MuonAdamW(groups, set(find_hidden_matrices(model)), config, **settings)
    return _AdamW(groups, **settings)


def find_hidden_matrices(model: nn.Module) -> Iterator[Tensor]:
    """Yield the matrices inside layers: of no word, for words are learnt one by one."""
    of_words = {
        id(module.weight)
        for module in model.modules()
        if isinstance(module, nn.Embedding | OutputLayer)
    }
    for weight in model.parameters():
        if weight.dim() == len("OI") and id(weight) not in of_words and weight.requires_grad:
            yield weight


def orthogonalize(matrices: Float[Tensor, "N O I"], steps: int) -> Float[Tensor, "N O I"]:
    """Return matrices with the same singular vectors, and singular values near 1.

    Newton-Schulz's iteration (Jordan et al. 2024), of several matrices at once; its products have
    the type that autocast says.
    """
    a, b, c = COEFFICIENTS
    tall = matrices.size(-2) > matrices.size(-1)
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=torch.finfo(x.dtype).tiny)
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).to(matrices.dtype)


def _without_compiler(kind: type[OptimizerT]) -> type[OptimizerT]:
    """Return a kind of optimizer that may be called without torch's compiler.

    Torch wraps what an optimizer does, for its compiler to leave that alone; to say so, it imports
    the compiler, which takes seconds. Nothing is compiled here.
    """
    names = ("add_param_group", "load_state_dict", "state_dict", "step", "zero_grad")
    plain = {name: inspect.unwrap(getattr(kind, name)) for name in names}
    plain["step"] = torch.no_grad()(plain["step"])
    made: type[OptimizerT] = type(kind.__name__, (kind,), plain)
    return made


_AdamW = _without_compiler(torch.optim.AdamW)
_Sgd = _without_compiler(torch.optim.SGD)


class _MuonAdamW(_AdamW):  # type: ignore[misc, valid-type]
    """AdamW, but Muon for some matrices."""

    def __init__(
        self,
        groups: Iterable[Mapping[str, Any]],
        hidden: set[Tensor],
        config: Muon,
        **settings: Any,
    ) -> None:
        super().__init__(groups, **settings)
        self._config = config
        self._hidden = hidden

    @override
    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Update the matrices, and let AdamW update the others, which alone still have gradients.

        Those of one shape are made orthogonal at once, which is much faster.
        """
        for group in self.param_groups:
            shapes: dict[torch.Size, list[Tensor]] = {}
            for weight in group["params"]:
                if weight in self._hidden and weight.grad is not None:
                    shapes.setdefault(weight.shape, []).append(weight)
            for shape, weights in shapes.items():
                rate = group["lr"] * self._config.matrix_rate
                updates = orthogonalize(self._follow(weights), self._config.orthogonal_steps)
                size = rate * ROOT_MEAN_SQUARE * math.sqrt(max(shape))
                torch._foreach_mul_(weights, 1 - rate * group["weight_decay"])
                torch._foreach_add_(weights, list(updates), alpha=-size)
                for weight in weights:
                    weight.grad = None
        super().step(closure)

    def _follow(self, weights: list[Tensor]) -> Float[Tensor, "N O I"]:
        """Return Nesterov's mean of the gradients of some weights, and remember it."""
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        for weight in weights:
            if not self.state[weight]:
                self.state[weight]["momentum"] = torch.zeros_like(weight)
                self.state[weight]["step"] = torch.zeros(())  # AdamW asks all weights for it
        means = [self.state[weight]["momentum"] for weight in weights]
        torch._foreach_lerp_(means, gradients, 1 - self._config.momentum)
        return torch.stack(gradients).lerp_(torch.stack(means), self._config.momentum)


def apply_gradients(
    weights: Sequence[Tensor],
    optimizer: torch.optim.Optimizer,
    *,
    compute: Compute,
    learning_rate: float,
    max_norm: float | None,
) -> None:
    """Clip the gradients to an L2 norm, if any, make the optimizer's update, forget them.

    Muon's products of matrices have the type of all others, as Jordan et al. 2024 made them in
    bfloat16; momentum, and all of AdamW, is in the type of the weights.
    """
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(weights, max_norm)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    with compute.autocast():
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def require_finite(loss: float, *, name: str = "loss", place: str, remedy: str) -> float:
    """Return a loss that is a number.

    Raises:
        NmtError: if it is infinite or not a number.
    """
    if not math.isfinite(loss):
        raise NmtError(f"the {name} is {loss} at {place}; the last checkpoint is kept: {remedy}")
    return loss


class ExponentialMovingAverage:
    """Averages weights over the updates.

    Args:
        weights: those that learn; frozen ones are their own average.
        decay: share of the average that an update leaves; 0 averages nothing.
    """

    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        self.decay = decay
        self._weights = list(weights) if decay > 0 else []
        self._averages = [weight.detach().clone() for weight in self._weights]

    def update(self, step: int) -> None:
        """Take in the weights after the update of that number, counted from 0."""
        if self._averages:
            # early averages forget faster, or they would remember the random start
            decay = min(self.decay, (1 + step) / (10 + step))
            learnt = [weight.detach() for weight in self._weights]
            torch._foreach_lerp_(self._averages, learnt, 1 - decay)

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Put the averages in the place of the weights for a while."""
        kept = [weight.detach().clone() for weight in self._weights]
        _copy(self._averages, self._weights)
        try:
            yield
        finally:
            _copy(kept, self._weights)

    def tensors(self) -> dict[str, Tensor]:
        """Return the averages under names of their own; nothing is copied."""
        return {f"average.{number}": value for number, value in enumerate(self._averages)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Bring back what ``tensors`` gave; other tensors are left alone."""
        _copy([tensors[name] for name in self.tensors()], self._averages)


@torch.no_grad()
def _copy(values: Sequence[Tensor], into: Sequence[Tensor]) -> None:
    for tensor, value in zip(into, values, strict=True):
        tensor.copy_(value)

"""Optimizers, updates, and exponential moving averages of the weights."""

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
from nmt_core.models.embedding import OutputLayer
from nmt_core.training.settings import AdamW, Muon, NesterovSgd

OptimizerT = TypeVar("OptimizerT", bound=Optimizer)

NEWTON_SCHULZ_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients of the odd polynomial of Jordan et al. 2024, chosen for a steep slope at 0."""

UPDATE_RMS = 0.2
"""Root mean square of AdamW's updates at learning rate 1 (Liu et al. 2025, section 2.2)."""


def build_optimizer(model: nn.Module, config: AdamW | Muon | NesterovSgd) -> Optimizer:
    """Return an optimizer of the trainable weights; ``apply_gradients`` sets its learning rate."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    if isinstance(config, NesterovSgd):
        return _Sgd(weights, lr=0.0, momentum=config.momentum, nesterov=True, fused=True)
    matrices = [weight for weight in weights if weight.dim() > 1]
    vectors = [weight for weight in weights if weight.dim() <= 1]
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
    """Yield the trainable matrices inside layers, without embeddings and the output layer."""
    word_weights = {
        id(module.weight)
        for module in model.modules()
        if isinstance(module, nn.Embedding | OutputLayer)
    }
    for weight in model.parameters():
        if weight.dim() == len("OI") and id(weight) not in word_weights and weight.requires_grad:
            yield weight


def orthogonalize(matrices: Float[Tensor, "N O I"], steps: int) -> Float[Tensor, "N O I"]:
    """Return matrices with the same singular vectors, and singular values near 1.

    This is the Newton-Schulz iteration of Jordan et al. 2024, for several matrices at once, with
    products of autocast's type.
    """
    a, b, c = NEWTON_SCHULZ_COEFFICIENTS
    tall = matrices.size(-2) > matrices.size(-1)
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=torch.finfo(x.dtype).tiny)
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).to(matrices.dtype)


def _without_compiler(kind: type[OptimizerT]) -> type[OptimizerT]:
    """Return a subclass of an optimizer that does not import torch's compiler.

    Torch's wrappers of optimizer methods import the compiler to disable it, which takes seconds.
    """
    names = ("add_param_group", "load_state_dict", "state_dict", "step", "zero_grad")
    methods = {name: inspect.unwrap(getattr(kind, name)) for name in names}
    methods["step"] = torch.no_grad()(methods["step"])
    subclass: type[OptimizerT] = type(kind.__name__, (kind,), methods)
    return subclass


_AdamW = _without_compiler(torch.optim.AdamW)
_Sgd = _without_compiler(torch.optim.SGD)


class _MuonAdamW(_AdamW):  # type: ignore[misc, valid-type]
    """Muon for hidden matrices, AdamW for the other weights."""

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
        """Update the hidden matrices and clear their gradients, so that AdamW skips them.

        Matrices of the same shape are orthogonalized together, which is much faster.
        """
        for group in self.param_groups:
            shapes: dict[torch.Size, list[Tensor]] = {}
            for weight in group["params"]:
                if weight in self._hidden and weight.grad is not None:
                    shapes.setdefault(weight.shape, []).append(weight)
            for shape, weights in shapes.items():
                rate = group["lr"] * self._config.matrix_rate
                updates = orthogonalize(
                    self._average_gradients(weights), self._config.orthogonal_steps
                )
                size = rate * UPDATE_RMS * math.sqrt(max(shape))
                torch._foreach_mul_(weights, 1 - rate * group["weight_decay"])
                torch._foreach_add_(weights, list(updates), alpha=-size)
                for weight in weights:
                    weight.grad = None
        super().step(closure)

    def _average_gradients(self, weights: list[Tensor]) -> Float[Tensor, "N O I"]:
        """Update the momentum of some weights; return Nesterov's average of their gradients."""
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        for weight in weights:
            if not self.state[weight]:
                self.state[weight]["momentum"] = torch.zeros_like(weight)
                self.state[weight]["step"] = torch.zeros(())  # AdamW reads it for all weights
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
) -> float:
    """Clip the gradients to an L2 norm unless it is None, update the weights, clear the gradients.

    Muon's matrix products have the type of autocast, like bfloat16 in Jordan et al. 2024. Momentum
    and AdamW use the type of the weights.

    Returns:
        The L2 norm before. If it is infinite or not a number, the weights stay as they are.
    """
    norm = float(torch.nn.utils.clip_grad_norm_(weights, max_norm or math.inf))
    if math.isfinite(norm):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate
        with compute.autocast():
            optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return norm


class ExponentialMovingAverage:
    """Exponential moving average of weights over the updates.

    Args:
        weights: the trainable weights.
        decay: decay of the average per update; 0 turns averaging off.
    """

    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        self.decay = decay
        self._weights = list(weights) if decay > 0 else []
        self._averages = [weight.detach().clone() for weight in self._weights]

    def update(self, step: int) -> None:
        """Update the average after update number ``step``, counted from 0."""
        if self._averages:
            # a smaller decay at first, to forget the random initial weights
            decay = min(self.decay, (1 + step) / (10 + step))
            weights = [weight.detach() for weight in self._weights]
            torch._foreach_lerp_(self._averages, weights, 1 - decay)

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Replace the weights by the averages within the context."""
        originals = [weight.detach().clone() for weight in self._weights]
        _copy(self._averages, self._weights)
        try:
            yield
        finally:
            _copy(originals, self._weights)

    def tensors(self) -> dict[str, Tensor]:
        """Return the averages under unique names, without copies."""
        return {f"average.{number}": value for number, value in enumerate(self._averages)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the averages that ``tensors()`` returned; ignore other tensors."""
        _copy([tensors[name] for name in self.tensors()], self._averages)


@torch.no_grad()
def _copy(values: Sequence[Tensor], into: Sequence[Tensor]) -> None:
    for tensor, value in zip(into, values, strict=True):
        tensor.copy_(value)
